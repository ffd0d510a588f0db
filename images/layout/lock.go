package layout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockPause is how often a folder that another process changes is looked at again.
const lockPause = 50 * time.Millisecond

// lock makes the folder this caller's to change, until unlock.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	for _, dir := range []string{"", "rootfs", "meta", "tmp", "pulls"} {
		if err := os.MkdirAll(s.path(dir), dirPerm); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(s.path("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockPause)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // which unlocks
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("%s is being changed by another process: %w", s.dir, context.Cause(ctx))
		}
	}
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
