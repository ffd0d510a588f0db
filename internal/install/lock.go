package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	lockFile  = ".lock"
	lockPause = 10 * time.Millisecond // between looks at a lock that another process holds
	lockLimit = time.Minute           // for which it is waited
)

// lock makes the folder this caller's to change, until unlock.
func (in *Installer) lock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockLimit, errors.New("it is locked by another process"))
	defer cancel()
	f, err := in.openLock()
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockPause)
	defer tick.Stop()
	for {
		if ok, err := tryLock(f); err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		} else if ok {
			return func() { _ = f.Close() }, nil // which unlocks
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("folder %s can't be changed: %w", in.dir, context.Cause(ctx)), f.Close())
		}
	}
}

func (in *Installer) openLock() (*os.File, error) {
	return os.OpenFile(filepath.Join(in.dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
}

func tryLock(f *os.File) (ok bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}
