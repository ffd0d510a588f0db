package watch

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/hotcell/hotcell/internal/skills"
)

// The usual times.
const (
	gather  = 5 * time.Millisecond  // changes that come so soon after each other are looked at together
	quiet   = 40 * time.Millisecond // a bundle that stays as it is for so long is no longer being written
	seldom  = 30 * time.Second      // between looks at everything, since not every file system tells
	instead = 2 * time.Second       // the same where the system does not tell at all
	share   = 20                    // at most a 20th of the time goes into looking at everything
	restive = 25                    // looks at a bundle that is always being written, after which it is looked at now and then
	retry   = time.Second           // between those
)

// Options are what a [Run] may be given. The zero value is the usual one.
type Options struct {
	Poll bool // never ask the system to tell
	Log  *slog.Logger
}

// Run keeps a library up to date until ctx ends. The library looks at the disk for nobody else meanwhile.
func Run(ctx context.Context, lib *skills.Library, o Options) {
	w := newWatcher(lib, o)
	if !o.Poll {
		w.open()
		defer w.close()
	}
	lib.Watched(true)
	defer lib.Watched(false)
	w.loop(ctx)
}

func newWatcher(lib *skills.Library, o Options) *watcher {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w := &watcher{
		lib: lib, log: o.Log, all: true, most: maxFolders,
		dirty: map[skills.Place]bool{}, tries: map[skills.Place]int{}, later: map[skills.Place]bool{},
	}
	for i, src := range lib.Sources() {
		if src.FS != nil {
			continue
		}
		dir, err := filepath.Abs(src.Path)
		if err != nil {
			o.Log.Warn("skills are looked at from time to time", "folder", src.Path, "error", err)
			continue
		}
		w.roots = append(w.roots, root{source: i, dir: dir})
	}
	return w
}

// root is the folder of a source.
type root struct {
	source int
	dir    string // absolute
}

type watcher struct {
	lib   *skills.Library
	log   *slog.Logger
	roots []root

	notify   *fsnotify.Watcher // nil: the system does not tell
	partial  bool              // it does not tell of everything
	listened int               // about how many folders it tells of
	most     int               // of them

	dirty map[skills.Place]bool
	all   bool                  // dirty: everything
	tries map[skills.Place]int  // looks since a bundle began to be written
	later map[skills.Place]bool // those that never come to rest
	cost  time.Duration         // of the last look at everything
	said  string
}

func (w *watcher) open() {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		w.log.Warn("skills are looked at from time to time: the system does not tell of changes", "error", err)
		return
	}
	w.notify = notify
}

func (w *watcher) close() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
}

func (w *watcher) loop(ctx context.Context) {
	var events chan fsnotify.Event
	var errs chan error
	if w.notify != nil {
		events, errs = w.notify.Events, w.notify.Errors
	}
	next := time.NewTimer(0) // for what changed since the library was loaded
	defer next.Stop()
	full := time.NewTimer(seldom)
	defer full.Stop()
	again := time.NewTicker(retry)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			if w.note(e.Name) {
				next.Reset(gather)
			}
		case err := <-errs: // most likely too many events at once
			w.log.Debug("changes of skills were missed", "error", err)
			w.all = true
			next.Reset(gather)
		case <-full.C:
			w.all = true
			next.Reset(0)
		case <-again.C:
			if w.recall() {
				next.Reset(0)
			}
		case <-next.C:
			everything := w.all
			if w.look() {
				next.Reset(quiet)
			}
			if everything {
				full.Reset(w.pause())
			}
		}
	}
}

// pause is how long nobody looks at everything.
func (w *watcher) pause() time.Duration {
	if w.notify == nil || w.partial {
		return max(instead, share*w.cost)
	}
	return max(seldom, share*w.cost)
}

// recall looks again at what never comes to rest.
func (w *watcher) recall() bool {
	if len(w.later) == 0 {
		return false
	}
	for at := range w.later {
		w.dirty[at] = true
	}
	return true
}

// note enters what a changed path belongs to, and reports whether that is the first since the last look.
func (w *watcher) note(path string) bool {
	first := !w.all && len(w.dirty) == 0
	known := false
	for _, r := range w.roots {
		folder, in := r.folder(path)
		switch {
		case !in:
			continue
		case folder == "":
			w.all = true
		case w.later[skills.Place{Source: r.source, Folder: folder}]:
			continue
		default:
			w.dirty[skills.Place{Source: r.source, Folder: folder}] = true
		}
		known = true
	}
	return known && first
}

// look brings the library up to date, and reports whether something is still being written.
func (w *watcher) look() (again bool) {
	var places []skills.Place
	if !w.all {
		for at := range w.dirty {
			places = append(places, at)
		}
		if len(places) == 0 {
			return false
		}
	}
	began := time.Now()
	w.listen(places) // first, so that nothing falls between
	everything := w.all
	w.all, w.dirty = false, map[skills.Place]bool{}
	unsettled, err := w.lib.Settle(quiet, places...)
	if everything {
		w.cost = time.Since(began)
		clear(w.later)
	}
	switch {
	case err == nil:
		w.said = ""
	case err.Error() != w.said: // once, not every time
		w.said = err.Error()
		w.log.Warn("skills not read again", "error", err)
	}
	w.settled(places, unsettled)
	return len(w.dirty) > 0
}

// settled notes what came to rest of the places that were looked at, and when the others are looked at again.
func (w *watcher) settled(looked, unsettled []skills.Place) {
	tries := w.tries
	w.tries = map[skills.Place]int{}
	for at := range w.later {
		w.tries[at] = tries[at] // unless it was looked at
	}
	for _, at := range looked {
		delete(w.tries, at)
		delete(w.later, at)
	}
	for _, at := range unsettled {
		w.tries[at] = tries[at] + 1
		if w.tries[at] > restive {
			w.later[at] = true
		} else {
			w.dirty[at] = true
		}
	}
}
