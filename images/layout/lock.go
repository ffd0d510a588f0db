package layout

import (
	"context"
	"errors"
	"os"

	"github.com/hotcell/hotcell/images"
)

// lock makes the folder this caller's to change, until unlock.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	for _, dir := range []string{"", "rootfs", "meta", "tmp", "pulls"} {
		if err := os.MkdirAll(s.path(dir), dirPerm); err != nil {
			return nil, err
		}
	}
	return images.LockFile(ctx, s.path("lock"), s.dir)
}

// clear removes what an import that did not end left in tmp.
func (s *Store) clear() error {
	entries, err := os.ReadDir(s.path("tmp"))
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		errs = append(errs, os.RemoveAll(s.path("tmp", e.Name())))
	}
	return errors.Join(append(errs, s.clearPulls())...)
}
