package images

import (
	"context"
	"maps"
	"sync"
	"time"
)

const (
	// Grace is how long an image that was used is kept, whatever else is said: a call that has found it may not have its cell
	// yet.
	Grace      = time.Hour
	noteAfter  = Grace / 4
	noteLimit  = 5 * time.Second
	maxEntries = 4096
)

// Entry is an image that hotcell brought.
type Entry struct {
	Ref    string    `json:"ref"`
	On     string    `json:"on"` // the store that has it: an engine's address, a folder
	Pulled time.Time `json:"pulled"`
	Used   time.Time `json:"used"`
}

// entries is the file, by content id.
type entries struct {
	Images map[string]Entry `json:"images"`
}

// Ledger knows which images hotcell pulled and when each was used last: those alone may be collected. Processes share its
// file. Who uses an image of it notes that before it counts on the image being there; who removes one holds the ledger
// meanwhile. It is safe for concurrent use.
type Ledger struct {
	on   string
	file record[entries]

	mu      sync.Mutex
	known   map[string]time.Time // when this process has noted each
	looked  time.Time            // when the file was read
	noting  bool
	loading bool
	owed    map[string]Entry // that could not be noted yet
	paying  bool
	closed  bool
	closing chan struct{} // is closed with it
	work    sync.WaitGroup
}

// OpenLedger returns the ledger of a file, which need not be there yet, for one store.
func OpenLedger(path, on string) *Ledger {
	return &Ledger{on: on, file: record[entries]{path}, closing: make(chan struct{})}
}

// Add notes an image that was pulled. Where that can't be done now, it is tried again beside the caller, with the next
// [Ledger.Entries] and when the ledger is closed.
func (l *Ledger) Add(ctx context.Context, id, ref string) error {
	now := time.Now().UTC()
	e := Entry{Ref: ref, On: l.on, Pulled: now, Used: now}
	l.set(id, now)
	ctx, cancel := context.WithTimeout(ctx, noteLimit)
	defer cancel()
	err := l.write(ctx, map[string]Entry{id: e})
	if err != nil {
		l.owe(id, e)
	}
	return err
}

// Entries returns all of this store, by content id.
func (l *Ledger) Entries() (map[string]Entry, error) {
	l.pay(owedPause)
	all, _, err := l.file.read()
	mine := maps.Clone(all.Images)
	maps.DeleteFunc(mine, func(_ string, e Entry) bool { return e.On != l.on })
	return mine, err
}

// refresh reads the file where that is too long ago, before an image is looked for: of one that is found, and then removed with its entry,
// a file that is read later says nothing.
func (l *Ledger) refresh() {
	l.mu.Lock()
	old := time.Since(l.looked) > 2*noteAfter
	l.mu.Unlock()
	if old {
		l.load()
	}
}

// use says that an image is used, after [Ledger.refresh]. stale: it has to be noted, and looked for again, before anybody counts on it; what was noted
// a while ago is noted again beside the caller. The file is read now and then alone: what another process pulled since is safe
// for longer than that.
func (l *Ledger) use(id string) (stale bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.looked) > noteAfter && !l.loading {
		l.loading = true
		l.work.Go(l.load)
	}
	at, ours := l.known[id]
	age := time.Since(at)
	switch {
	case !ours || age < noteAfter:
		return false
	case age > 2*noteAfter:
		return true
	}
	if !l.noting {
		l.noting = true
		l.work.Go(func() {
			_ = l.note(context.Background(), id) // where it fails the next caller waits for it
			l.mu.Lock()
			defer l.mu.Unlock()
			l.noting = false
		})
	}
	return false
}

// load reads the file. Where that fails nothing is collected either.
func (l *Ledger) load() {
	all, _, err := l.file.read()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looked, l.loading = time.Now(), false
	if err != nil {
		return
	}
	known := make(map[string]time.Time, len(all.Images))
	for id, e := range all.Images {
		if e.On == l.on {
			known[id] = l.known[id]
		}
	}
	for id := range l.owed {
		known[id] = l.known[id]
	}
	l.known = known
}

// Close waits for what goes on beside callers, and tries a last time to note what could not be noted.
func (l *Ledger) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.closing)
	}
	l.mu.Unlock()
	l.work.Wait()
	l.pay(owedLast)
}

// has reports whether an image is in the ledger.
func (l *Ledger) has(id string) bool {
	l.mu.Lock()
	_, known := l.known[id]
	l.mu.Unlock()
	if known {
		return true
	}
	all, err := l.Entries()
	_, known = all[id]
	return err == nil && known
}

func (l *Ledger) set(id string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]time.Time{}
	}
	l.known[id] = at
}

// note notes that an image is used.
func (l *Ledger) note(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, noteLimit)
	defer cancel()
	now := time.Now().UTC()
	err := l.file.change(ctx, func(all *entries) (bool, error) {
		e, ok := all.Images[id]
		if ok {
			e.Used = now
			all.Images[id] = e
		}
		return ok, nil
	})
	l.mu.Lock()
	if e, ok := l.owed[id]; ok { // it is used, though the file does not have it yet
		e.Used = now
		l.owed[id] = e
	}
	l.mu.Unlock()
	if err == nil {
		l.set(id, now)
	}
	return err
}

// Collect asks remove about an image that is in the ledger, while nobody can note that it is used, and forgets it where the
// answer is true.
func (l *Ledger) Collect(ctx context.Context, id string, remove func(Entry) (bool, error)) error {
	return l.file.change(ctx, func(all *entries) (bool, error) {
		e, ok := all.Images[id]
		if !ok || e.On != l.on {
			return false, nil
		}
		gone, err := remove(e)
		if gone {
			delete(all.Images, id)
		}
		return gone, err
	})
}
