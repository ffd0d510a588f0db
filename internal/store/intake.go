package store

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// intake is a file beside the journal's, into which a call is written before anything else is: a few bytes at its end, where a
// transaction writes ten times as much to five places. All who use the journal share it, by a lock, and each of them takes over into the
// journal what waits in it, with whatever it writes there next. What was in it when its process was killed is taken over by the next
// one to open the journal.
//
// It begins with the place up to which it was taken over, as 8 bytes, little endian. Its entries follow.
type intake struct {
	path string
	came func() // is told when somebody else used it

	mu      sync.Mutex
	f       *os.File
	closed  bool
	head    int64   // up to here all was taken over, as the file said last
	read    int64   // up to here all is known
	size    int64   // of the file then
	waiting []entry // known, and not taken over
	keys    map[requestKey]bool

	n      atomic.Int64 // how many wait
	oldest atomic.Int64 // when the first of them was seen, in nanoseconds since the Unix epoch
}

// entry is a call in the intake, and where it ends there.
type entry struct {
	control.Record
	end int64
}

// requestKey is what tells apart requests.
type requestKey struct{ reqID, principal, agent string }

func keyOfRequest(r *control.Record) requestKey { return requestKey{r.ReqID, r.Principal, r.Agent} }

const (
	intakeHead = 8         // bytes before the first entry
	intakeMost = 256 << 10 // bytes of a file that is not replaced by an empty one once nothing waits in it
)

var (
	errWaits      = errors.New("the same request waits in the intake")
	errIntakeBusy = errors.New("another process keeps the journal's intake locked")
)

// openIntake opens the file and reads what was left in it.
func openIntake(path string, came func()) (*intake, error) {
	in := &intake{path: path, came: came, keys: map[requestKey]bool{}}
	if err := in.open(); err != nil {
		return nil, err
	}
	err := in.locked(context.Background(), in.look)
	if err != nil {
		return nil, errors.Join(err, in.close())
	}
	return in, nil
}

func (in *intake) open() (err error) {
	in.f, err = os.OpenFile(in.path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	in.head, in.read, in.size = 0, 0, 0
	for i := range in.waiting { // of another file: if they were not taken over there, they are here
		in.waiting[i].end = 0
	}
	return err
}

func (in *intake) close() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed || in.f == nil {
		return nil
	}
	in.closed = true
	return in.f.Close()
}

// locked does something while no other process and no other goroutine uses the file.
func (in *intake) locked(ctx context.Context, do func() error) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	limit := time.Now().Add(busyLimit)
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		if err := in.there(); err != nil {
			return err
		}
		err := syscall.Flock(int(in.f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			if current, err := in.current(); err != nil {
				return err
			} else if current {
				defer in.unlock()
				return do()
			}
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(limit):
			return errIntakeBusy
		}
		time.Sleep(pause)
	}
}

// there opens the file again where that failed when it was replaced.
func (in *intake) there() error {
	switch {
	case in.closed:
		return ErrClosed
	case in.f == nil:
		return in.open()
	}
	return nil
}

func (in *intake) unlock() {
	if in.f != nil {
		_ = syscall.Flock(int(in.f.Fd()), syscall.LOCK_UN) // which closing does as well
	}
}

// current reports whether the locked file is still the one at its path. One that was replaced is left for the new one.
func (in *intake) current() (bool, error) {
	info, err := in.f.Stat()
	if err != nil || info.Sys().(*syscall.Stat_t).Nlink > 0 {
		return true, err
	}
	in.came()
	_ = in.f.Close() // nothing is lost by an error
	return false, in.open()
}

// look reads what others wrote, and how far all was taken over. The caller has the lock.
func (in *intake) look() error {
	var head [intakeHead]byte
	if _, err := in.f.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	info, err := in.f.Stat()
	if err != nil {
		return err
	}
	in.size = info.Size()
	in.head = min(max(intakeHead, int64(binary.LittleEndian.Uint64(head[:]))), max(intakeHead, in.size))
	in.forget(in.head)
	if in.read > 0 && in.read < in.head {
		in.came()
	}
	if in.read = max(in.read, in.head); in.size <= in.read {
		return nil
	}
	news := make([]byte, in.size-in.read)
	if _, err := in.f.ReadAt(news, in.read); err != nil {
		return err
	}
	for {
		r, n := unpackEntry(news)
		if n == 0 {
			return nil // the end, or what somebody was killed over
		}
		in.came()
		news = news[n:]
		in.read += int64(n)
		in.add(r)
	}
}

// add notes a call that waits up to where all is known.
func (in *intake) add(r control.Record) {
	if len(in.waiting) == 0 {
		in.oldest.Store(time.Now().UnixNano())
	}
	in.waiting = append(in.waiting, entry{r, in.read})
	in.keys[keyOfRequest(&r)] = true
	in.n.Store(int64(len(in.waiting)))
}

// forget drops what was taken over, up to a place.
func (in *intake) forget(done int64) {
	n := 0
	for n < len(in.waiting) && in.waiting[n].end <= done {
		delete(in.keys, keyOfRequest(&in.waiting[n].Record))
		n++
	}
	if n == 0 {
		return
	}
	in.waiting = append([]entry(nil), in.waiting[n:]...)
	in.oldest.Store(time.Now().UnixNano())
	in.n.Store(int64(len(in.waiting)))
}

// take writes a call, unless before tells of an earlier one of the same request, or such a one waits here, which is [errWaits]. A file
// that is synced has it on the disk.
func (in *intake) take(ctx context.Context, r control.Record, synced bool, before func() (*control.Record, error)) (earlier *control.Record, err error) {
	err = in.locked(ctx, func() error {
		if err := in.look(); err != nil {
			return err
		}
		if in.keys[keyOfRequest(&r)] {
			return errWaits
		}
		if earlier, err = before(); err != nil || earlier != nil {
			return err
		}
		return in.write(r, synced)
	})
	return earlier, err
}

// write appends an entry, where the last whole one ends.
func (in *intake) write(r control.Record, synced bool) error {
	if in.size > in.read { // what somebody was killed over
		if err := in.f.Truncate(in.read); err != nil {
			return err
		}
	}
	b := packEntry(&r)
	_, err := in.f.WriteAt(b, in.read)
	if err == nil && synced {
		err = in.f.Sync()
	}
	if err != nil {
		return errors.Join(err, in.f.Truncate(in.read)) // or it would be half there
	}
	in.read += int64(len(b))
	in.add(r)
	return nil
}

// all returns what waits, and up to where that is. It is to be told when that is taken over.
func (in *intake) all() (waiting []entry, err error) {
	err = in.locked(context.Background(), func() error {
		err := in.look()
		waiting = in.waiting
		return err
	})
	return waiting, err
}

// over notes that calls were taken over, and begins a new file where the old one has become long and nothing waits in it.
func (in *intake) over(calls []entry) error {
	done := calls[len(calls)-1].end
	return in.locked(context.Background(), func() error {
		if err := in.look(); err != nil {
			return err
		}
		in.forget(done)
		if done > in.head {
			var head [intakeHead]byte
			binary.LittleEndian.PutUint64(head[:], uint64(done))
			if _, err := in.f.WriteAt(head[:], 0); err != nil {
				return err
			}
		}
		if in.read < intakeMost || len(in.waiting) > 0 {
			return nil
		}
		return errors.Join(os.Remove(in.path), in.f.Close(), in.open())
	})
}
