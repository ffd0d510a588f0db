package instance

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// mourning is how long the file of a dead supervisor stays once nothing of it is left: an engine may still be working on
// what the dead one asked for last.
const mourning = 10 * time.Minute

// Forget removes the files of dead supervisors of whom nothing is left. left reports whether something is; it is asked for
// the dead alone. A file goes only when nothing was left for ten minutes, which the file itself remembers, so that it does
// not matter who looks.
func (i *Instance) Forget(left func(id string) bool) error {
	found, err := ids(i.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range found {
		if id != i.id {
			errs = append(errs, i.forget(id, left))
		}
	}
	return errors.Join(errs...)
}

func (i *Instance) forget(id string, left func(id string) bool) error {
	path := filepath.Join(i.dir, id)
	f, err := look(path, os.O_RDWR)
	if err != nil {
		return nil // not there any more, or nothing of ours: it stays
	}
	defer f.Close()
	// An opener of the same name waits for this lock, and then finds out whether the file is still there.
	if free, err := tryLock(f, exclusive); err != nil || !free || !names(path, f) {
		return err
	}
	r, _ := read(f) // garbage is as good as nothing
	now := time.Now().UTC()
	switch {
	case left(id):
		if r.Ended == nil {
			return nil
		}
		r.Ended = nil
	case r.Ended == nil || r.Ended.After(now):
		r.Ended, r.Poisoned = &now, nil
	case now.Sub(*r.Ended) > mourning:
		return os.Remove(path)
	default:
		return nil
	}
	r.Instance = id
	return r.write(f)
}
