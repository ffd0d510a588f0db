package docker

import (
	"testing"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/testutil"
)

// Who has something else to do first decides when the engine is asked again: once, however many ask meanwhile, for as long as the answer
// is good, and not after the store was closed.
func TestTheEngineIsAskedAgainLater(t *testing.T) {
	e := newEngine(t)
	e.add("acme/x", amd64)
	s := open(t, Options{Host: e.host, Remember: time.Minute})
	var later []func()
	hurries := images.WithLater(t.Context(), func(begin func()) { later = append(later, begin) })
	ask := func() images.Image {
		t.Helper()
		img, err := s.Resolve(hurries, "acme/x", images.PullNever)
		if err != nil {
			t.Fatal(err)
		}
		return img
	}
	first := ask()
	s.age(2 * recheck)
	for range 3 {
		if again := ask(); again.ID != first.ID {
			t.Errorf("got %s, want %s", again.ID, first.ID)
		}
	}
	if len(later) != 1 {
		t.Fatalf("%d would ask, want 1", len(later))
	}
	newer := `{"Id":"sha256:2222","Os":"linux","Architecture":"amd64"}`
	e.add("acme/x", newer)
	later[0]()
	testutil.Poll(t, time.Minute, func() bool { return ask().ID == "sha256:2222" })

	s.age(2 * recheck)
	ask()
	s.age(time.Minute) // whoever was to ask never did
	e.add("acme/x", amd64)
	if img := ask(); img.ID != first.ID {
		t.Errorf("an answer that is too old: %s", img.ID)
	}
	s.age(2 * recheck)
	ask()
	if len(later) != 3 {
		t.Fatalf("%d would ask, want 3", len(later))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, begin := range later[1:] {
		begin()
	}
}
