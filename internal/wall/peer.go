package wall

import (
	"encoding/base64"
	"errors"
	"fmt"
)

// lose ends a stream whose tunnel has ended.
func (c *Conn) lose(err error) {
	if c.err == nil {
		c.err = err
	}
	c.over, c.sayOpen, c.sayHalf, c.sayClose = true, false, false, false
	c.quiet()
}

// violate ends a stream whose rules the other end has broken.
func (c *Conn) violate(reason string) {
	c.err = errors.New("the other end broke the rules of the stream: " + reason)
	c.over, c.sayClose, c.reason = true, true, reason
	c.quiet()
	c.t.queue(c)
}

// receive takes the bytes of a data line, in base64.
func (c *Conn) receive(data []byte) error {
	n := rawLen(data)
	switch {
	case c.over:
		return nil
	case n > DataChunk:
		return fmt.Errorf("malformed %s: %d bytes, at most %d are allowed", TypeData, n, DataChunk)
	case c.in.ended:
		c.violate("data after its end")
		return nil
	case int64(n) > c.in.credit:
		c.violate("data beyond its credit")
		return nil
	}
	c.in.credit -= int64(n)
	got, err := base64.StdEncoding.Decode(c.in.room(n), data)
	if err != nil || got != n {
		return malformed(TypeData, errBase64)
	}
	c.in.w += n
	c.readers.Broadcast()
	return nil
}

// credited takes a credit line.
func (c *Conn) credited(n int64) {
	switch {
	case c.over:
	case c.credit+n > Window:
		c.violate("credit beyond the window")
	default:
		c.credit += n
		c.t.queue(c)
	}
}

// closed takes a close line.
func (c *Conn) closed(o Close) {
	if c.over {
		return
	}
	c.in.ended = true
	if !o.Half {
		c.over, c.sayOpen, c.sayHalf = true, false, false
		if o.Error != "" {
			c.err = &ClosedError{Reason: o.Error}
		}
		c.writers.Broadcast()
	}
	c.readers.Broadcast()
}
