package images

import (
	"context"
	"maps"
	"time"
)

// Pauses between tries to note what a ledger could not note at once, and how long one at the end may take.
const (
	owedPause = time.Second
	owedCalm  = time.Minute
	owedLast  = 2 * time.Second
)

// owe remembers an image that could not be noted, and has it tried again beside the caller: who held the file, or had filled the
// disk, is gone by then.
func (l *Ledger) owe(id string, e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.owed) >= maxEntries {
		return // then it is nobody's to collect
	}
	if l.owed == nil {
		l.owed = map[string]Entry{}
	}
	l.owed[id] = e
	if !l.paying && !l.closed {
		l.paying = true
		l.work.Go(l.payUp)
	}
}

// payUp tries until nothing is owed, or until the ledger is closed.
func (l *Ledger) payUp() {
	for pause := owedPause; ; pause = min(2*pause, owedCalm) {
		select {
		case <-time.After(pause):
		case <-l.closing:
		}
		l.mu.Lock()
		if len(l.owed) == 0 || l.closed {
			l.paying = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		l.pay(noteLimit)
	}
}

// pay notes what is owed, if that can be done within a limit.
func (l *Ledger) pay(limit time.Duration) {
	l.mu.Lock()
	owed := maps.Clone(l.owed)
	l.mu.Unlock()
	if len(owed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if l.write(ctx, owed) != nil {
		return // it stays owed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, e := range owed {
		if l.owed[id] == e {
			delete(l.owed, id)
		}
	}
}

// write puts entries into the file. What the file says later than they do counts.
func (l *Ledger) write(ctx context.Context, some map[string]Entry) error {
	return l.file.change(ctx, func(all *entries) (bool, error) {
		if all.Images == nil {
			all.Images = map[string]Entry{}
		}
		changed := false
		for id, e := range some {
			old, known := all.Images[id]
			if known && old.On == e.On && old.Pulled.After(e.Pulled) || !known && len(all.Images) >= maxEntries {
				continue // in a full ledger it is nobody's to collect
			}
			if known && old.On == e.On && old.Used.After(e.Used) {
				e.Used = old.Used
			}
			all.Images[id], changed = e, true
		}
		return changed, nil
	})
}
