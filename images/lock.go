package images

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// LockName is the usual name of the file that a [Lock] is kept in.
const LockName = "hotcell.lock"

const (
	lockVersion = 1
	maxPins     = 4096 // of the longest names they fit the file
	maxTag      = 1024
	lockFresh   = time.Second // what is known of the file is looked at again after that, beside the caller
)

// By says how a pin came about.
const (
	ByCall = "call" // a call was the first to use the tag
	ByPin  = "pin"
	ByPull = "pull"
)

// Pin is which content a tag stands for.
type Pin struct {
	Digest   string    `json:"digest,omitempty"` // of the manifest, as registries know it; "" for an image that was built or loaded here
	ID       string    `json:"id,omitempty"`     // the content id
	Platform string    `json:"platform,omitempty"`
	By       string    `json:"by"`
	Since    time.Time `json:"since"`
}

// Target returns the reference by content that a pinned tag stands for.
func (p Pin) Target(tag string) string {
	if p.Digest == "" {
		return p.ID
	}
	_, repository := Repository(tag)
	return repository + "@" + p.Digest
}

// check says what is wrong with a pin that somebody wrote.
func (p Pin) check() error {
	if p.Digest == "" && p.ID == "" {
		return fmt.Errorf("neither digest nor id")
	}
	for _, d := range []string{p.Digest, p.ID} {
		if d != "" && (Digest(d) != d) {
			return fmt.Errorf("%.80q: expected sha256: and 64 hex digits", d)
		}
	}
	return nil
}

// pins is the file.
type pins struct {
	Version int            `json:"version"`
	Images  map[string]Pin `json:"images"`
}

// Lock is the pins of a lock file, which several processes share. What this process has read is looked at again once a
// second, while it is used, and beside whoever uses it. It is safe for concurrent use.
type Lock struct {
	file record[pins]

	mu     sync.Mutex
	known  map[string]located
	own    map[string]Pin // made here, where the file can't be written
	state  os.FileInfo    // of the file when it was read
	read   bool
	failed error // why the file can't be used
	looked time.Time
	asking bool
	work   sync.WaitGroup
}

// located is a pin and the reference by content that it stands for.
type located struct {
	Pin
	target string
}

// OpenLock returns the pins of a file, which need not be there yet.
func OpenLock(path string) *Lock { return &Lock{file: record[pins]{path}} }

// Path returns the file's name.
func (l *Lock) Path() string { return l.file.path }

// Close waits for what goes on beside callers.
func (l *Lock) Close() { l.work.Wait() }

// find returns the pin of a tag, as [Tag] writes it. It reads the file the first time alone. A file that can't be read is an
// error: a tag that is pinned could be taken for one that is not.
func (l *Lock) find(tag string) (located, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.read:
		l.mu.Unlock()
		l.load()
		l.mu.Lock()
	case !l.asking && time.Since(l.looked) > lockFresh:
		l.asking = true
		l.work.Go(l.refresh)
	}
	if l.failed != nil {
		return located{}, false, l.failed
	}
	if p, ok := l.known[tag]; ok {
		return p, true, nil
	}
	p, ok := l.own[tag]
	return located{p, p.Target(tag)}, ok, nil
}

// refresh reads the file again if it has changed.
func (l *Lock) refresh() {
	state, _ := os.Stat(l.file.path)
	l.mu.Lock()
	changed := !same(state, l.state) || l.failed != nil
	if !changed {
		l.asking, l.looked = false, time.Now()
	}
	l.mu.Unlock()
	if changed {
		l.load()
	}
}

// load reads the file.
func (l *Lock) load() {
	all, state, err := l.file.read()
	if err == nil {
		err = all.check(l.file.path)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asking, l.looked, l.failed = false, time.Now(), err
	if err != nil {
		return
	}
	l.known, l.state, l.read = make(map[string]located, len(all.Images)), state, true
	for tag, p := range all.Images {
		l.known[tag] = located{p, p.Target(tag)}
	}
}

func (p pins) check(path string) error {
	if p.Version > lockVersion {
		return fmt.Errorf("%s is of version %d, this hotcell knows version %d: use a newer one", path, p.Version, lockVersion)
	}
	for _, tag := range slices.Sorted(maps.Keys(p.Images)) {
		if err := p.Images[tag].check(); err != nil {
			return fmt.Errorf("%s: %.200q: %w", path, tag, err)
		}
		if Tag(tag) != tag {
			return fmt.Errorf("%s: %.200q: expected registry/name:tag", path, tag)
		}
	}
	return nil
}

// Pins returns all pins by tag, as the file has them now.
func (l *Lock) Pins() (map[string]Pin, error) {
	all, _, err := l.file.read()
	if err == nil {
		err = all.check(l.file.path)
	}
	if all.Images == nil {
		all.Images = map[string]Pin{}
	}
	return all.Images, err
}

// Set pins a tag, whatever it was pinned to.
func (l *Lock) Set(ctx context.Context, tag string, p Pin) error {
	_, err := l.put(ctx, tag, p, true)
	return err
}

// add pins a tag unless it is pinned already, perhaps by another process at the same time, and returns the pin that stands.
func (l *Lock) add(ctx context.Context, tag string, p Pin) (Pin, error) {
	return l.put(ctx, tag, p, false)
}

func (l *Lock) put(ctx context.Context, tag string, p Pin, replace bool) (Pin, error) {
	if err := p.check(); err != nil {
		return p, err
	}
	if Tag(tag) != tag || len(tag) > maxTag {
		return p, fmt.Errorf("%.80q: expected registry/name:tag of at most %d bytes", tag, maxTag)
	}
	err := l.change(ctx, func(all *pins) (bool, error) {
		if old, ok := all.Images[tag]; ok && !replace {
			p = old
			return false, nil
		}
		if len(all.Images) >= maxPins {
			return false, fmt.Errorf("%s has %d pins, and takes no more: take some away with hotcell images unpin", l.file.path, len(all.Images))
		}
		all.Images[tag] = p
		return true, nil
	})
	return p, err
}

// hold pins a tag for as long as this process lives.
func (l *Lock) hold(tag string, p Pin) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own == nil || len(l.own) >= maxPins {
		l.own = map[string]Pin{}
	}
	l.own[tag] = p
}

// Unset takes a pin away, and reports whether there was one.
func (l *Lock) Unset(ctx context.Context, tag string) (was bool, err error) {
	err = l.change(ctx, func(all *pins) (bool, error) {
		_, was = all.Images[tag]
		delete(all.Images, tag)
		return was, nil
	})
	return was, err
}

func (l *Lock) change(ctx context.Context, edit func(*pins) (bool, error)) error {
	err := l.file.change(ctx, func(all *pins) (bool, error) {
		if err := all.check(l.file.path); err != nil {
			return false, err
		}
		all.Version = lockVersion
		if all.Images == nil {
			all.Images = map[string]Pin{}
		}
		return edit(all)
	})
	l.load()
	return err
}

// Short is a digest cut for people.
func Short(digest string) string {
	sum := strings.TrimPrefix(digest, "sha256:")
	return sum[:min(len(sum), 12)]
}
