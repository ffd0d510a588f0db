package a2e

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine is the longest line that a [Decoder] takes by default, in bytes: 8 MiB of content and some room for the
// message around it.
const MaxLine = 8<<20 + 64<<10

// OwnMemory is what a Decoder may always hold, in bytes: its read buffer and the beginning of a line.
const OwnMemory = 256 << 10

const (
	readBuffer = 64 << 10
	ownLine    = OwnMemory - readBuffer
)

// Memory lends a [Decoder] the bytes that a line needs beyond [OwnMemory]. Take may wait; when it fails nothing was
// taken. Give returns what Take lent, in other portions perhaps.
type Memory struct {
	Take func(bytes int) error
	Give func(bytes int)
}

// Decoder reads messages from a stream of lines. It is not safe for concurrent use.
type Decoder struct {
	r    *bufio.Reader
	max  int
	mem  *Memory // nil: no bounds but max
	line line
	size int
}

// NewDecoder returns a Decoder for r whose lines have at most maxLine bytes; 0 means [MaxLine].
func NewDecoder(r io.Reader, maxLine int) *Decoder {
	if maxLine <= 0 {
		maxLine = MaxLine
	}
	return &Decoder{r: bufio.NewReaderSize(r, readBuffer), max: maxLine}
}

// Within makes d borrow what long lines need from m, and returns d. All of it is given back when Decode returns.
func (d *Decoder) Within(m Memory) *Decoder {
	d.mem = &m
	return d
}

// Decode returns the next message. Empty lines are skipped and a line may end with CR LF. A line that is no good message
// gives a *[DecodeError] and, unless that is Final, the next Decode goes on behind it; any other error is the reader's
// own ([io.EOF] at the end) and final. A last line without a line feed counts.
func (d *Decoder) Decode() (Message, error) {
	defer d.drop()
	for {
		text, err := d.next()
		if err != nil {
			return nil, err
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			d.size = len(text)
			return Parse(text)
		}
	}
}

// Size returns the length in bytes of the last line that was parsed: a measure of what its message keeps in memory.
func (d *Decoder) Size() int { return d.size }

// next returns the next line, which stays valid until the next call. What is too long is skipped to its end without
// being kept.
func (d *Decoder) next() ([]byte, error) {
	d.drop()
	for {
		part, err := d.r.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !more && !errors.Is(err, io.EOF) {
			return nil, d.abandon(part, err)
		}
		if !d.line.tooLong && d.line.size+len(bytes.TrimRight(part, "\r\n")) > d.max {
			head := d.line.start(part)
			d.drop()
			d.line.tooLong, d.line.head = true, head
		}
		switch {
		case d.line.tooLong && more:
		case d.line.tooLong:
			return nil, addressed(d.line.head, Errorf(ParseError, "line is longer than %d bytes", d.max).With("limit", d.max))
		case more:
			if err := d.keep(part); err != nil {
				return nil, d.abandon(part, err)
			}
		case err != nil && d.line.size+len(part) == 0:
			return nil, io.EOF
		default:
			return d.line.join(part), nil
		}
	}
}

// keep adds a piece to the line.
func (d *Decoder) keep(part []byte) error {
	if lack := d.line.size + len(part) - ownLine - d.line.lent; lack > 0 && d.mem != nil {
		if err := d.mem.Take(lack); err != nil {
			return err
		}
		d.line.lent += lack
	}
	d.line.add(part)
	return nil
}

// drop forgets the line.
func (d *Decoder) drop() {
	if d.line.lent > 0 {
		d.mem.Give(d.line.lent)
	}
	d.line = line{}
}

// abandon ends the stream within a line. An *[Error] is told to whoever sent it.
func (d *Decoder) abandon(part []byte, err error) error {
	var fault *Error
	if !errors.As(err, &fault) {
		return err
	}
	head := d.line.head
	if !d.line.tooLong {
		head = d.line.start(part)
	}
	bad := addressed(head, fault)
	bad.Final = true
	return bad
}

// DecodeError says what is wrong with a message, and as much of the message as is needed to answer it. ReqID, Type and
// Name are empty where they could not be read.
type DecodeError struct {
	Err   *Error
	ReqID string
	Type  string
	Name  string // of a call
	Final bool   // the line was not read to its end and none can be read any more
}

// Error returns the [Error]'s text.
func (e *DecodeError) Error() string { return e.Err.Error() }

// Unwrap returns the [Error].
func (e *DecodeError) Unwrap() error { return e.Err }

func refuse(err *Error) *DecodeError { return &DecodeError{Err: err} }

// addressed is err with as much of the line as head, its beginning, tells.
func addressed(head []byte, err *Error) *DecodeError {
	o := &object{raw: headOf(head)}
	return o.refusal(err)
}
