package executor

import (
	"context"
	"testing"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// silent is a plugin that does not say which skills it has, until it is let go.
type silent struct {
	guest
	free chan struct{}
}

func (p silent) ListSkills(ctx context.Context, who a2e.Caller) ([]a2e.Definition, error) {
	<-p.free
	return p.guest.ListSkills(ctx, who)
}

// asking is a store whose engine does not answer, until it is let go.
type asking struct {
	store
	free chan struct{}
}

func (s asking) Resolve(ctx context.Context, ref string, pull images.PullPolicy) (images.Image, error) {
	images.Waits(ctx)
	<-s.free
	return s.store.Resolve(ctx, ref, pull)
}

// mute is a store whose pulls say nothing.
type mute struct {
	store
	pulls *images.Pulls
	free  chan struct{}
}

func (s mute) Resolve(ctx context.Context, ref string, pull images.PullPolicy) (images.Image, error) {
	err := s.pulls.Do(ctx, ref, func(context.Context, func(images.Progress)) error { <-s.free; return nil })
	if err != nil {
		return images.Image{}, err
	}
	return s.store.Resolve(ctx, ref, pull)
}

// A call that waits, whatever for, is known to all who use the journal.
func TestACallThatWaitsIsJournalled(t *testing.T) {
	pulls := images.NewPulls(time.Hour)
	defer pulls.Close()
	for name, wait := range map[string]func(c *Config, free chan struct{}){
		"for a plugin's list":      func(c *Config, free chan struct{}) { c.Plugins = []a2e.Plugin{silent{guest{"x": gives(1)}, free}} },
		"for an engine's answer":   func(c *Config, free chan struct{}) { c.Images = asking{free: free} },
		"for a pull that is quiet": func(c *Config, free chan struct{}) { c.Images = mute{pulls: pulls, free: free} },
	} {
		t.Run(name, func(t *testing.T) {
			path, free := dbPath(t), make(chan struct{})
			b := journalled(t, path, "one", well, func(c *Config) { wait(c, free) })
			other := journalAt(t, path)
			skill := "free"
			if len(b.hosts) > 0 {
				skill = "x"
			}
			answers := make(chan *a2e.CallResponse, 1)
			go func() { answers <- b.Call(t.Context(), a2e.Caller{}, sent(skill, "r1"), nil) }()
			testutil.Poll(t, 30*time.Second, func() bool {
				rs, err := other.InFlight(t.Context())
				return err == nil && len(rs) == 1 && rs[0].ReqID == "r1"
			})
			close(free)
			if got := <-answers; verdict(got) != "ok" {
				t.Errorf("got %s: %v", verdict(got), got.Error)
			}
		})
	}
}
