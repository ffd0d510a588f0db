package watch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hotcell/hotcell/internal/skills"
)

// How far folders are listened to. Beyond, they are looked at from time to time.
const (
	maxFolders = 50_000
	maxLevels  = 16
)

// folder returns the bundle's folder that a path is in, "" for the root itself.
func (r root) folder(path string) (folder string, in bool) {
	if path == r.dir {
		return "", true
	}
	below, in := strings.CutPrefix(path, strings.TrimSuffix(r.dir, "/")+"/")
	if !in {
		return "", false
	}
	folder, _, _ = strings.Cut(below, "/")
	return folder, !strings.HasPrefix(folder, ".")
}

// listen asks the system to tell of the places, of all of them when places is empty.
func (w *watcher) listen(places []skills.Place) {
	if w.notify == nil {
		return
	}
	w.listened = len(w.notify.WatchList())
	if len(places) == 0 {
		w.partial, w.listened = false, 0
		for _, r := range w.roots {
			w.listenToRoot(r)
		}
		return
	}
	for _, at := range places {
		for _, r := range w.roots {
			if r.source == at.Source {
				w.listenToBundle(filepath.Join(r.dir, at.Folder))
			}
		}
	}
}

// listenToRoot listens to a source's folder and its bundles; where it is not there, to the folder in which it will be.
func (w *watcher) listenToRoot(r root) {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		w.add(filepath.Dir(r.dir))
		return
	}
	w.add(r.dir)
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			w.listenToBundle(filepath.Join(r.dir, e.Name()))
		}
	}
}

// listenToBundle listens to all folders of a bundle. Of a folder that is none it is enough to know when it becomes one.
func (w *watcher) listenToBundle(dir string) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return
	}
	if _, err := os.Lstat(filepath.Join(dir, "SKILL.md")); err != nil {
		w.add(dir)
		return
	}
	above := strings.Count(dir, "/")
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return nil // what can't be read is looked at when the folder above changes
		case path != dir && strings.HasPrefix(d.Name(), "."), strings.Count(path, "/")-above > maxLevels:
			return fs.SkipDir
		case !w.add(path):
			return fs.SkipAll
		}
		return nil
	})
}

// add listens to one folder. It may be known already.
func (w *watcher) add(dir string) bool {
	if w.partial {
		return false
	}
	err := errTooMany
	if w.listened < w.most {
		w.listened++
		err = w.notify.Add(dir)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return true
	}
	w.partial = true
	w.log.Warn("skills are looked at from time to time: the system does not tell of all changes", "folder", dir, "error", err)
	return false
}

var errTooMany = errors.New("too many folders")
