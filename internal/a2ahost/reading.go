package a2ahost

import (
	"context"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// Tasks with all that their skills made, on their way at once to clients that take them as slowly as they like; half of them
// one principal's.
const (
	mostReads = 32
	readWait  = 10 * time.Second // for a place
)

// reading is the place of a request that puts a task together. It has none before.
type reading struct{ leave func() }

type readingKey struct{}

// reads waits for a place for the request, if it has none. It is given back when the request has been answered, or by
// [reading.end].
func (h *Host) reads(ctx context.Context, who a2e.Caller) error {
	place, ok := ctx.Value(readingKey{}).(*reading)
	if !ok || place.leave != nil {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	leave, ok := h.places.Wait(wait, who.Principal, 1)
	switch {
	case ok:
		place.leave = leave
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &fault{kind: errBusy, message: "too many tasks are on their way to clients that do not take them: try again later"}
}

func (p *reading) end() {
	if p != nil && p.leave != nil {
		p.leave()
		p.leave = nil
	}
}

// endReading gives the place of a request back that goes on as a stream.
func endReading(ctx context.Context) {
	place, _ := ctx.Value(readingKey{}).(*reading)
	place.end()
}
