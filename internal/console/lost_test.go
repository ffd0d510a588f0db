package console

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// sick is a clerk whose books can't be read, as long as ill is set.
type sick struct {
	*clerk
	ill   atomic.Bool
	asked atomic.Int32 // for numbers
}

var errDisk = errors.New("disk I/O error at /var/lib/secret")

func (s *sick) err() error {
	if s.ill.Load() {
		return errDisk
	}
	return nil
}

func (s *sick) Search(ctx context.Context, whose control.Whose, q control.CallQuery) (control.CallPage, error) {
	if s.ill.Load() {
		return control.CallPage{}, errDisk
	}
	return s.clerk.Search(ctx, whose, q)
}

func (s *sick) Stats(ctx context.Context, whose control.Whose, q control.StatsQuery) (*control.Stats, error) {
	s.asked.Add(1)
	if s.ill.Load() {
		return nil, errDisk
	}
	return s.clerk.Stats(ctx, whose, q)
}

func (s *sick) Request(ctx context.Context, whose control.Whose, id string) (*control.Request, error) {
	if s.ill.Load() {
		return nil, errDisk
	}
	return s.clerk.Request(ctx, whose, id)
}

func (s *sick) Policy(context.Context, control.Whose, string) (*control.Ran, error) {
	return nil, s.err()
}

func (s *sick) Events(ctx context.Context, id string, from int) ([]a2e.Event, error) {
	if s.ill.Load() {
		return nil, errDisk
	}
	return s.clerk.Events(ctx, id, from)
}

func (s *sick) options() Options { return Options{Control: s, Book: s, Pulse: s} }

func TestPagesOutliveTheirParts(t *testing.T) {
	s := &sick{clerk: newClerk()}
	s.ill.Store(true)
	b := open(t, s.options())
	has(t, pageOf(t, b.get("/console/"), 200), "running, of 12 cells", "There are no numbers at the moment. Something failed inside hotcell", "They could not be looked up.")
	w := b.get("/console/calls/F2")
	page := pageOf(t, w, 200)
	has(t, page, "Call of skill-of-F2", "at the moment: its events: Something failed", "its files: Something", "its policy: Something", "what it was asked: Something")
	hides(t, w.Body.String(), "secret")
	o := s.options()
	o.Auth = doorman{"tok": {Principal: "alice", Scopes: []auth.Scope{auth.Calls}}}
	b = open(t, o)
	b.get("/console/login")
	b.post("/console/login", "token", "tok")
	has(t, pageOf(t, b.get("/console/"), 200), "Your calls could not be counted.")
	if w = b.get("/console/calls"); w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("the list has nothing to show: %d %s", w.Code, w.Body)
	}
	shelf := newShelf(t, "one/SKILL.md", skillMD("one", "does it", "# One"))
	shelf.options.Book = s
	has(t, pageOf(t, shelf.as(t, "alice").get("/console/skills/one"), 200), "does it", "its calls: Something failed")
}

func TestALivePageComesBackAfterAFault(t *testing.T) {
	s := &sick{clerk: newClerk()}
	messages := listen(t, s.options(), "/console/live/overview?window=15m")
	await(t, messages, "sums", "last 15 minutes")
	s.ill.Store(true)
	await(t, messages, "sums", "There are no numbers at the moment")
	s.ill.Store(false)
	await(t, messages, "sums", "ended within")

	s.ill.Store(true)
	o := s.options()
	if w := open(t, o).get("/console/live/calls"); w.Code != 200 || strings.Contains(w.Body.String(), "event: end") {
		t.Errorf("a fault of a moment ends the list for good: %d %s", w.Code, w.Body)
	}
}

func TestNumbersAreShared(t *testing.T) {
	s := &sick{clerk: newClerk()}
	b := open(t, s.options())
	b.get("/console/")
	for range 3 {
		before := s.asked.Load()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				c := *b
				if w := c.get("/console/"); w.Code != 200 {
					t.Errorf("%d", w.Code)
				}
			})
		}
		all.Wait()
		if n := s.asked.Load() - before; n <= 25 {
			return // it took longer than numbers are kept where it is more
		}
	}
	t.Errorf("each of 50 pages counts for itself")
}
