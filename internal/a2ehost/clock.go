package a2ehost

import (
	"bytes"
	"errors"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// ErrSlowLine: the peer began a line and did not end it in time.
var ErrSlowLine = errors.New("line was not ended")

// lineClock is an input that gives each line a limited time from its first byte on. Only the time within Read counts, so
// that a peer does not pay for a session that rests.
type lineClock struct {
	input
	most time.Duration // for one line
	act  *activity

	begun bool          // a line has begun and not ended
	left  time.Duration // for that line
}

// Read implements [io.Reader].
func (c *lineClock) Read(p []byte) (n int, err error) {
	if c.begun {
		n, err = c.hurried(p)
	} else {
		n, err = c.input.Read(p)
	}
	if n > 0 {
		c.act.touch()
		c.follow(p[:n])
	}
	return n, err
}

func (c *lineClock) hurried(p []byte) (int, error) {
	start, late := time.Now(), time.AfterFunc(c.left, c.interrupt)
	n, err := c.input.Read(p)
	c.left -= time.Since(start)
	if !late.Stop() {
		return 0, a2e.Errorf(a2e.InvalidMessage, "%w within %s: closing, send each line in one go", ErrSlowLine, c.most)
	}
	return n, err
}

// follow notes whether b leaves a line unfinished.
func (c *lineClock) follow(b []byte) {
	end := bytes.LastIndexByte(b, '\n')
	if end >= 0 || !c.begun {
		c.left = c.most
	}
	c.begun = end < len(b)-1
}
