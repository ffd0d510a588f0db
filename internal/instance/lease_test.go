package instance

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// table is the rows of a database that answers, or does not.
type table struct {
	mu    sync.Mutex
	beats map[string]time.Time
	dead  map[string]bool
	down  bool
	asked int // declarations
}

func newTable() *table { return &table{beats: map[string]time.Time{}, dead: map[string]bool{}} }

var errDown = errors.New("down")

func (b *table) Enroll(_ context.Context, id, _ string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.beats[id] = time.Now()
	return nil
}

func (b *table) Beat(_ context.Context, id string, tell func(string, time.Duration, bool)) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return false, errDown
	}
	if b.dead[id] {
		return false, nil
	}
	b.beats[id] = time.Now()
	for peer, at := range b.beats {
		tell(peer, time.Since(at), b.dead[peer])
	}
	return true, nil
}

func (b *table) Declare(_ context.Context, id string, silent time.Duration) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if b.dead[id] || time.Since(b.beats[id]) < silent {
		return false, nil
	}
	b.dead[id] = true
	return true, nil
}

func (b *table) Leave(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.beats, id)
	return nil
}

func (b *table) set(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

func joined(t *testing.T, b Leases, dir, id string) *Member {
	t.Helper()
	i, err := Open(dir, id)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Join(t.Context(), i, b, "host", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func closed(t *testing.T, m *Member) {
	t.Helper()
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func told(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A supervisor that falls silent is dead within ten seconds for all others, and no one who leaves is.
func TestTheSilentAreDeclaredDead(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := newTable()
		one, two, left := joined(t, b, filepath.Join(dir, "1"), "one"), joined(t, b, filepath.Join(dir, "2"), "two"), joined(t, b, filepath.Join(dir, "3"), "left")
		defer closed(t, one)
		time.Sleep(20 * time.Second)
		if told(one.Deaths()) || one.Living() != 3 || b.asked != 0 {
			t.Errorf("%d live, %d declarations", one.Living(), b.asked)
		}
		closed(t, left)
		two.stop() // it beats no more
		two.loop.Wait()
		time.Sleep(DeadAfter - beatEvery)
		if alive, known := one.Alive("two"); !alive || !known || told(one.Deaths()) {
			t.Errorf("too early: %v, %v", alive, known)
		}
		time.Sleep(3 * beatEvery)
		if alive, known := one.Alive("two"); alive || !known || !told(one.Deaths()) || one.Living() != 1 {
			t.Errorf("ten seconds later: %v, %v", alive, known)
		}
		if _, known := one.Alive("left"); known {
			t.Error("who left is known")
		}
		two.Instance.Close()
	})
}

// One that was declared dead learns it, and an outage of the database kills nobody.
func TestAnOutageKillsNobody(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := newTable()
		one, two := joined(t, b, filepath.Join(dir, "1"), "one"), joined(t, b, filepath.Join(dir, "2"), "two")
		defer closed(t, one)
		defer closed(t, two)
		time.Sleep(20 * time.Second)
		b.set(true)
		time.Sleep(time.Minute)
		b.set(false)
		time.Sleep(20 * time.Second)
		if b.asked != 0 || told(one.Lost()) || told(two.Lost()) {
			t.Errorf("%d declarations", b.asked)
		}
		b.mu.Lock()
		b.dead["two"] = true
		b.mu.Unlock()
		time.Sleep(2 * beatEvery)
		if !told(two.Lost()) || told(one.Lost()) || !told(one.Deaths()) {
			t.Error("the dead one does not know, or the other doesn't")
		}
	})
}

// The rows of the dead go once nothing was left of them for a while.
func TestTheDeadAreForgotten(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := newTable()
		one := joined(t, b, filepath.Join(dir, "1"), "one")
		defer closed(t, one)
		b.mu.Lock()
		b.beats["old"], b.dead["old"] = time.Now(), true
		b.mu.Unlock()
		time.Sleep(2 * beatEvery)
		remains := true
		forget := func() {
			t.Helper()
			if err := one.Forget(func(string) bool { return remains }); err != nil {
				t.Error(err)
			}
			time.Sleep(mourning + time.Minute)
		}
		forget()
		forget()
		if _, known := one.Alive("old"); !known {
			t.Error("it was forgotten while something of it was left")
		}
		remains = false
		forget()
		forget()
		if _, known := one.Alive("old"); known {
			t.Error("it is still known")
		}
	})
}
