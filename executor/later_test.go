package executor

import (
	"context"
	"testing"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/sandbox"
)

// putOff is a store that has three things to do in the background.
type putOff struct {
	store
	begun *[3]int
	first func()
	then  func()
}

func (s putOff) Resolve(ctx context.Context, ref string, pull images.PullPolicy) (images.Image, error) {
	images.Later(ctx, func() { s.begun[0]++; s.first() })
	images.Later(ctx, func() { s.begun[1]++ })
	images.Later(ctx, func() { s.begun[2]++ })
	s.then()
	return s.store.Resolve(ctx, ref, pull)
}

// made is a driver that tells when it is to make a cell.
type made struct {
	sandbox.Driver
	tell func()
}

func (m made) Create(ctx context.Context, spec *sandbox.Spec) (sandbox.Sandbox, error) {
	m.tell()
	return m.Driver.Create(ctx, spec)
}

// fallen is a journal that panics.
type fallen struct{ Journal }

func (fallen) Accept(context.Context, control.Record, time.Time) (*control.Record, error) {
	panic("boom")
}

// What a store would begin in the background is begun once, however the call ends, and before an engine makes a cell, which takes long.
func TestWhatIsPutOffIsBegunOnce(t *testing.T) {
	nothing := func() {}
	boom := func() { panic("boom") }
	for name, tt := range map[string]struct {
		store       store
		first, then func()
		journal     Journal
		want        string
	}{
		"it succeeds":            {store{}, nothing, nothing, Forgetful, "ok"},
		"there is no image":      {store{err: &images.UnavailableError{Ref: "img", Why: "gone"}}, nothing, nothing, Forgetful, "runtime_error/image_unavailable"},
		"the store panics":       {store{}, nothing, boom, Forgetful, "runtime_error/internal"},
		"one that begins panics": {store{}, boom, nothing, Forgetful, "runtime_error/internal"},
		"the journal is full":    {store{}, nothing, nothing, full{Forgetful}, "runtime_error/internal"},
		"the journal panics":     {store{}, nothing, nothing, fallen{Forgetful}, "runtime_error/internal"},
	} {
		t.Run(name, func(t *testing.T) {
			var begun, before [3]int
			want := [3]int{1, 1, 1}
			created := false
			b := setUp(t, well, func(c *Config) {
				c.Images, c.Journal = putOff{tt.store, &begun, tt.first, tt.then}, tt.journal
				c.Driver = made{c.Driver, func() { created, before = true, begun }}
			})
			if answer, _ := b.ask(t.Context(), req("free")); verdict(answer) != tt.want {
				t.Errorf("got %s, want %s", verdict(answer), tt.want)
			}
			if begun != want || created && before != want {
				t.Errorf("begun %v, %v before the cell was made", begun, before)
			}
		})
	}
}
