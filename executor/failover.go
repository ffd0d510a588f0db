package executor

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/hotcell/hotcell/executor/relay"
	"github.com/hotcell/hotcell/internal/cleanup"
)

// errUntouched: a cell took nothing of what was handed in.
var errUntouched = errors.New("the cell took nothing of the request")

// errShut is what writers get once a mouth is shut.
var errShut = errors.New("the cell is given up")

// shutTime is how long a write that is under way may take to fail, when its cell is dead.
const shutTime = time.Second

// mouth is a cell's stdin, which knows whether anything went in. Its writers take turns.
type mouth struct {
	w     io.Writer
	turn  chan struct{} // holds one while somebody writes
	first time.Time     // when the first write began
	taken bool          // a byte was accepted, by the cell or by an engine for it
	shut  bool
}

func newMouth(w io.Writer) *mouth { return &mouth{w: w, turn: make(chan struct{}, 1)} }

// Write waits for its turn and writes.
func (m *mouth) Write(p []byte) (int, error) {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	if m.shut {
		return 0, errShut
	}
	if m.first.IsZero() {
		m.first = time.Now()
	}
	n, err := m.w.Write(p)
	m.taken = m.taken || n > 0
	return n, err
}

// untouched reports whether nothing went in so far, and sees to it that nothing ever will. It is false where a write is
// under way for long.
func (m *mouth) untouched() bool {
	select {
	case m.turn <- struct{}{}:
	case <-time.After(shutTime):
		return false
	}
	defer func() { <-m.turn }()
	m.shut = m.shut || !m.taken
	return m.shut
}

// stillborn reports whether a cell that had waited was dead before it took anything of its call, and said nothing. Then
// nobody has heard of the call, and another cell may have it. A request is never handed to two cells, and no call hears two.
func (f *facts) stillborn(ctx context.Context, cl *cell, r *relay.Relay) bool {
	const itsReadyLine = 1
	switch {
	case !cl.waited || ctx.Err() != nil || r.Lines() > itsReadyLine:
		return false
	case f.Deadline || f.Cancelled || f.Result != nil || f.Exit != nil || f.Output != "":
		return false
	case f.Input != nil && !errors.Is(f.Input, errUntouched):
		return false
	}
	return (cl.mouth.untouched() || cl.deadBefore()) && r.Hush(itsReadyLine)
}

// deadBefore reports whether the cell's end was known before anything was written to it: engines accept writes for cells that
// have ended.
func (cl *cell) deadBefore() bool {
	select {
	case <-cl.exited:
	default:
		return false
	}
	select {
	case cl.mouth.turn <- struct{}{}:
	case <-time.After(shutTime):
		return false
	}
	defer func() { <-cl.mouth.turn }()
	return cl.lost == nil && !cl.exit.At.IsZero() && cl.exit.At.Before(cl.mouth.first)
}

// unsaid takes back that a cell took nothing, where it turned out to have said something: then it is a cell that was cut off.
func (f *facts) unsaid() {
	if errors.Is(f.Input, errUntouched) {
		f.Input, f.Cut = nil, true
	}
}

// passOn takes a call's share back from a cell that is given up, for the next one.
func (s *Supervisor) passOn(c *call, cl *cell, undo *cleanup.Stack) {
	s.logOf(c).Warn("a cell that had waited was dead when its call came: the call gets another one", "cell", cl.name)
	undo.Add("share", cl.undo)
	cl.undo = func(context.Context) error { return nil }
}
