package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// busyLimit is how long a write waits for another process that writes.
const busyLimit = 5 * time.Second

// walLimit is what the write-ahead log is cut to once it has been copied into the file.
const walLimit = 16 << 20 // bytes

// longestPath is what SQLite takes, less what it adds to names.
const longestPath = 500

// prepare makes the file if it is missing, so that nobody else can ever read it, and tells early why it cannot be used.
func prepare(path string) error {
	if abs, err := filepath.Abs(path); err != nil || len(abs) > longestPath {
		return errors.Join(errLongPath, err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errNotRegular
	default: // not opened: closing a descriptor would drop the locks that this process has on the file
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return errDangling
		}
		return nil // another process was faster
	case err != nil:
		return err
	}
	return f.Close()
}

// seal takes a journal that others can read from them. It comes after the opening: what is no journal is not touched.
func seal(path string) {
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o077 != 0 {
			_ = os.Chmod(name, 0o600) // another user's file is that user's to decide about
		}
	}
}

// present makes sure that the file is the one that was opened. Once it was removed or replaced, what is written goes
// nowhere, and nobody would notice before the next start.
func (s *Store) present() error { return s.engine.present() }

// Ready makes sure, without waiting for long, that calls can still be journalled: not whether the disk has room.
func (s *Store) Ready() error {
	if err := s.engine.ready(); err != nil {
		return fmt.Errorf("journal %s: %w", s.engine.name(), err)
	}
	return nil
}

// connect opens a pool of connections. Nothing is read or written yet.
func connect(path, sync string, readOnly bool) (*sql.DB, error) {
	q := url.Values{
		"_busy_timeout": {fmt.Sprint(busyLimit.Milliseconds())},
		"_auto_vacuum":  {"INCREMENTAL"}, // counts only for a file that is new
		"_journal_mode": {"WAL"},
		"_synchronous":  {sync},
		"_pragma":       {fmt.Sprintf("journal_size_limit(%d)", walLimit)},
		"_txlock":       {"immediate"},
	}
	if readOnly {
		q.Set("_query_only", "true")
		q.Del("_txlock")
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	return sql.Open("sqlite", u.String())
}

// lockLimit is how long an opening waits for that of another process, which may migrate a large file.
const lockLimit = time.Minute

// lock lets one process at a time open the file, which may mean to make or to migrate it. The lock is a file of its own:
// one on the database itself would be lost with the first descriptor of it that is closed.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockLimit)
	defer cancel()
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s.lock: %w", path, err), f.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(errOpening, f.Close())
		}
	}
}

// Size returns the bytes that the journal takes.
func (s *Store) Size() int64 { return s.engine.bytes() }
