package mcphost

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// mostFaults is how many lines in a row may be no message.
const mostFaults = 100

// lines reads what a client says, a message a line, and lets only messages through to the SDK. What is none is answered here.
type lines struct {
	src    io.Reader
	in     *bufio.Reader
	out    *answers
	left   []byte // of a line that is being read
	faults int
	batch  bool // the client's protocol revision has lists of messages
}

func newLines(r io.Reader, w io.Writer) *lines {
	return &lines{src: r, in: bufio.NewReaderSize(r, 64<<10), out: &answers{w: w, stalled: make(chan struct{})}}
}

// Read implements [io.Reader].
func (l *lines) Read(p []byte) (int, error) {
	for len(l.left) == 0 {
		line, long, err := l.next()
		if err != nil {
			return 0, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 && !long {
			continue
		}
		code, why := l.check(line)
		if long {
			code, why = jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d bytes", MaxBody)
		}
		if why == "" {
			l.left, l.faults = append(line, '\n'), 0
			break
		}
		l.out.refuse(code, why)
		if l.faults++; l.faults >= mostFaults {
			return 0, ErrFaults
		}
	}
	n := copy(p, l.left)
	l.left = l.left[n:]
	return n, nil
}

// next reads a line, or reports that it is too long and skips it.
func (l *lines) next() (line []byte, long bool, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line)+len(part) > MaxBody {
			long = true
		}
		if long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (len(line) == 0 && !long || !errors.Is(err, io.EOF)):
			return nil, false, err
		}
		return line, long, nil // the last line may have no end
	}
}

// check says what is wrong with a line, if it is no message.
func (l *lines) check(line []byte) (code int64, why string) {
	if !json.Valid(line) {
		return jsonrpc.CodeParseError, "the message is not JSON"
	}
	if list, is := split(line); is {
		return l.checkBatch(list)
	}
	msg, why := checkMessage(line)
	if why != "" {
		return jsonrpc.CodeInvalidRequest, why
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.Method == "initialize" {
		var params struct {
			Revision string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(req.Params, &params) // the SDK says what is wrong with them
		l.batch = params.Revision == "2025-03-26" || params.Revision == "2024-11-05"
	}
	return 0, ""
}

// checkBatch takes lists of messages from clients whose revision has them. The SDK wants no id twice in one, and takes two
// notifications for that.
func (l *lines) checkBatch(list []json.RawMessage) (code int64, why string) {
	if !l.batch {
		return jsonrpc.CodeInvalidRequest, "this protocol revision has no lists of messages"
	}
	if len(list) == 0 || len(list) > maxBatch {
		return jsonrpc.CodeInvalidRequest, fmt.Sprintf("expected 1 to %d messages", maxBatch)
	}
	seen := map[jsonrpc.ID]bool{}
	for _, raw := range list {
		msg, why := checkMessage(raw)
		if why != "" {
			return jsonrpc.CodeInvalidRequest, why
		}
		req, ok := msg.(*jsonrpc.Request)
		if !ok || !req.IsCall() || seen[req.ID] {
			return jsonrpc.CodeInvalidRequest, "expected requests in a list, each with an id of its own"
		}
		seen[req.ID] = true
	}
	return 0, ""
}

// Close implements [io.Closer].
func (l *lines) Close() error {
	if c, ok := l.src.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// answers is where messages go, one a Write.
type answers struct {
	mu      sync.Mutex
	w       io.Writer
	once    sync.Once
	stalled chan struct{} // closed when nobody takes them
}

// Write implements [io.Writer].
func (a *answers) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer time.AfterFunc(stallsAfter, func() { a.once.Do(func() { close(a.stalled) }) }).Stop()
	return a.w.Write(p)
}

// refuse answers a line for which no request can be given.
func (a *answers) refuse(code int64, message string) {
	_, _ = a.Write(append(nullError(code, message), '\n'))
}

// Close implements [io.Closer]. The writer stays the caller's.
func (a *answers) Close() error { return nil }
