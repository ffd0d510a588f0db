package seal

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// The sizes of what is said.
const (
	KeySize  = 32        // bytes of a key
	MaxPiece = 32 << 10  // bytes of one piece of output, before it is sealed
	MaxFrame = 64 << 10  // bytes of one frame of input
	maxHello = 512 << 10 // bytes of the first line

	// MaxLine is the longest sealed line, without its line feed.
	MaxLine = (counterSize + 1 + MaxPiece + 16 + 2) * 4 / 3
)

const counterSize = 8

// What a cell says, by the first byte of a piece.
const (
	Up      byte = 'u' // it has read the hello, or a ping
	Started byte = 's' // the program runs
	Failed  byte = 'f' // the program did not start: a [Failure]
	Stdout  byte = '1'
	Stderr  byte = '2'
	Ended   byte = 'x' // the program's end, after all of its output: an [End]
)

// What a supervisor says, by the first byte of a frame.
const (
	Data byte = 'd' // for the program's stdin
	EOF  byte = 'e' // its end
	Go   byte = 'g' // start the program
	Ping byte = 'p' // say Up again
	Kill byte = 'k' // end all processes of the cell
	Quit byte = 'q' // the end has arrived: exit now
)

// Hello is the first line on a cell's stdin: the key, and what the cell runs. It is never part of what describes the cell to
// others, and so may hold the cell's token.
type Hello struct {
	Key      []byte   `json:"key"`
	Args     []string `json:"args"`
	Env      []string `json:"env"`
	Dir      string   `json:"dir"`
	Runner   bool     `json:"runner"` // the first program is the runner itself, and Args are its own
	Limits   []Limit  `json:"limits,omitempty"`
	OOMScore int      `json:"oom_score,omitempty"` // at least this
}

// Limit is a resource limit that the first program sets for itself and what it starts.
type Limit struct {
	Resource int    `json:"resource"` // the kernel's number
	Soft     uint64 `json:"soft"`
	Hard     uint64 `json:"hard"`
}

// Failure says why a program did not start.
type Failure struct {
	Code    int    `json:"code"` // 126 not executable, 127 not found
	Message string `json:"message"`
}

// End is how a program ended, as the cell's first process saw it.
type End struct {
	Code     int   `json:"code"` // 128 and the signal, where one ended it
	Killed   bool  `json:"killed,omitempty"`
	OOMKills int64 `json:"oom_kills"` // counted by the kernel in the cell's own cgroup since the start; -1: unknown
}

// NewKey returns a random key.
func NewKey() []byte {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails
	return key
}

// WriteHello writes the first line.
func WriteHello(w io.Writer, h Hello) error {
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if len(line) > maxHello {
		return fmt.Errorf("arguments and environment take %d bytes, expected at most %d", len(line), maxHello)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// ReadHello reads the first line.
func ReadHello(r *bufio.Reader) (Hello, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return Hello{}, err
		}
		if len(line) > maxHello {
			return Hello{}, fmt.Errorf("the first line is longer than %d bytes", maxHello)
		}
	}
	var h Hello
	if err := json.Unmarshal(line, &h); err != nil {
		return Hello{}, errors.New("the first line is no hello")
	}
	if len(h.Key) != KeySize || len(h.Args) == 0 {
		return Hello{}, fmt.Errorf("the hello has a key of %d bytes and %d arguments", len(h.Key), len(h.Args))
	}
	return h, nil
}

// AppendFrame appends a frame to b.
func AppendFrame(b []byte, kind byte, payload []byte) []byte {
	b = append(b, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}

// ReadFrame reads a frame. Its payload is good until the next call with the same buffer.
func ReadFrame(r io.Reader, buf []byte) (kind byte, payload, grown []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, buf, err
	}
	n := int(binary.BigEndian.Uint32(head[1:]))
	if n > MaxFrame {
		return 0, nil, buf, fmt.Errorf("a frame of %d bytes, expected at most %d", n, MaxFrame)
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err := io.ReadFull(r, buf); err != nil {
		return 0, nil, buf, io.ErrUnexpectedEOF
	}
	return head[0], buf, buf, nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// nonce is the counter: a key serves one cell, in one direction.
func nonce(counter uint64) []byte {
	var n [12]byte
	binary.BigEndian.PutUint64(n[4:], counter)
	return n[:]
}

// Sealer writes sealed lines. It is safe for concurrent use.
type Sealer struct {
	mu      sync.Mutex
	w       io.Writer
	aead    cipher.AEAD
	counter uint64
	plain   []byte
	sealed  []byte
	line    []byte
	err     error
}

// NewSealer returns a Sealer on w.
func NewSealer(w io.Writer, key []byte) (*Sealer, error) {
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	return &Sealer{w: w, aead: aead}, nil
}

// Say seals a piece, or several where it is longer than [MaxPiece].
func (s *Sealer) Say(kind byte, payload []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		part := payload[:min(len(payload), MaxPiece)]
		payload = payload[len(part):]
		if s.err != nil {
			return s.err
		}
		s.err = s.say(kind, part)
		if len(payload) == 0 {
			return s.err
		}
	}
}

func (s *Sealer) say(kind byte, part []byte) error {
	s.plain = append(append(s.plain[:0], kind), part...)
	s.sealed = binary.BigEndian.AppendUint64(s.sealed[:0], s.counter)
	s.sealed = s.aead.Seal(s.sealed, nonce(s.counter), s.plain, nil)
	s.counter++
	s.line = append(base64.RawStdEncoding.AppendEncode(s.line[:0], s.sealed), '\n')
	_, err := s.w.Write(s.line)
	return err
}

// Stream is the part of a Sealer that takes the output of one kind.
func (s *Sealer) Stream(kind byte) io.Writer { return stream{s, kind} }

type stream struct {
	s    *Sealer
	kind byte
}

func (w stream) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := w.s.Say(w.kind, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Opener opens sealed lines.
type Opener struct {
	aead cipher.AEAD
	next uint64
	// Loose lets lines be missing: what was said before anybody listened.
	Loose bool
	buf   []byte
}

// NewOpener returns an Opener.
func NewOpener(key []byte) (*Opener, error) {
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	return &Opener{aead: aead}, nil
}

// Open opens a line without its line feed. The payload is good until the next call.
func (o *Opener) Open(line []byte) (kind byte, payload []byte, err error) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if o.buf, err = base64.RawStdEncoding.AppendDecode(o.buf[:0], line); err != nil || len(o.buf) < counterSize+1+o.aead.Overhead() {
		return 0, nil, errors.New("a line that is not sealed")
	}
	counter := binary.BigEndian.Uint64(o.buf)
	if counter < o.next || counter > o.next && !o.Loose {
		return 0, nil, fmt.Errorf("line %d where line %d was expected", counter, o.next)
	}
	plain, err := o.aead.Open(o.buf[counterSize:counterSize], nonce(counter), o.buf[counterSize:], nil)
	if err != nil {
		return 0, nil, errors.New("a line that was sealed by somebody else")
	}
	o.next = counter + 1
	return plain[0], plain[1:], nil
}
