package images

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hotcell/hotcell/internal/durable"
)

const (
	maxRecord   = 8 << 20               // bytes of a file of records
	recordPause = 20 * time.Millisecond // how often a file that another process changes is looked at again
)

// record is a JSON file that several processes read and change. It is replaced at one stroke, so that readers need no lock;
// who changes it holds one on a file beside it.
type record[T any] struct{ path string }

// read returns what the file says: the zero value where it is not there.
func (r record[T]) read() (value T, state os.FileInfo, err error) {
	f, err := os.OpenFile(r.path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe waits for nobody
	if errors.Is(err, fs.ErrNotExist) {
		return value, nil, nil
	}
	if err != nil {
		return value, nil, err
	}
	defer func() { _ = f.Close() }() // read only
	if state, err = f.Stat(); err != nil {
		return value, nil, err
	}
	if !state.Mode().IsRegular() {
		return value, nil, fmt.Errorf("%s: expected a regular file", r.path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err != nil {
		return value, nil, err
	}
	if len(data) > maxRecord {
		return value, nil, fmt.Errorf("%s is longer than %d bytes", r.path, maxRecord)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&value); err != nil {
		return value, nil, fmt.Errorf("%s can't be read (%w): mend it or remove it", r.path, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return value, nil, fmt.Errorf("%s can't be read (there is something behind its end): mend it or remove it", r.path)
	}
	return value, state, nil
}

// change reads the file, has it edited and writes it, while nobody else changes it. Nothing is written where edit returns
// false or an error.
func (r record[T]) change(ctx context.Context, edit func(*T) (bool, error)) error {
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		return err
	}
	unlock, err := LockFile(ctx, r.path+".held", r.path)
	if err != nil {
		return err
	}
	defer unlock()
	value, _, err := r.read()
	if err != nil {
		return err
	}
	if changed, err := edit(&value); err != nil || !changed {
		return err
	}
	return r.write(value)
}

// LockFile waits until nobody else, in this process or another, holds the lock of a file that stands for what is to be changed.
func LockFile(ctx context.Context, path, what string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(recordPause)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // which unlocks
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("%s is being changed by another process: %w", what, context.Cause(ctx))
		}
	}
}

func (r record[T]) write(value T) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(r.path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = durable.Rename(f.Name(), r.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// same reports whether a file is the one that was read.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
