package store

import (
	"context"
	"errors"
	"os"
	"slices"
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
// It begins with the place up to which it was taken over. Its entries follow. What follows the last whole one is what somebody was killed
// over: it is cut off by who writes next, and never read.
type intake struct {
	path   string
	synced bool   // what is in it is on the disk
	came   func() // is told when somebody else used it

	turn    chan struct{} // has room for the one who uses what follows
	f       *os.File      // nil: it is to be opened
	info    os.FileInfo
	closed  bool
	file    int   // counts the files that there were
	head    int64 // up to here all was taken over, as the file said last
	read    int64 // up to here all is known
	size    int64 // of the file then
	waiting []entry
	keys    map[requestKey]bool // of those

	n      atomic.Int64 // how many wait
	oldest atomic.Int64 // when the first of them was seen, in nanoseconds since the Unix epoch
}

const (
	intakeMost = 256 << 10 // bytes of a file that is not replaced by an empty one once nothing waits in it
	intakeFull = 4 << 20   // bytes of one in which no more may wait: where calls always come, something always does
)

var (
	errWaits      = errors.New("what waits in the intake is to be taken over first")
	errIntakeBusy = errors.New("another process keeps the journal's intake locked")
)

// openIntake opens the file and reads what was left in it.
func openIntake(ctx context.Context, path string, synced bool, came func()) (*intake, error) {
	in := &intake{path: path, synced: synced, came: came, turn: make(chan struct{}, 1), keys: map[requestKey]bool{}}
	if err := in.locked(ctx, busyLimit, in.look); err != nil {
		return nil, errors.Join(err, in.close())
	}
	return in, nil
}

func (in *intake) close() error {
	in.turn <- struct{}{}
	defer in.release()
	in.closed = true
	return in.let()
}

// let lets the file go.
func (in *intake) let() error {
	if in.f == nil {
		return nil
	}
	f := in.f
	in.f = nil
	return f.Close()
}

// locked does something while no other goroutine and no other process uses the file.
func (in *intake) locked(ctx context.Context, patience time.Duration, do func() error) error {
	limit := time.Now().Add(patience)
	if err := in.hold(ctx, patience); err != nil {
		return err
	}
	defer in.release()
	if err := in.lock(ctx, limit); err != nil {
		return err
	}
	defer in.unlock()
	return do()
}

// hold waits for the turn of this goroutine.
func (in *intake) hold(ctx context.Context, patience time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case in.turn <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case in.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return errIntakeBusy
	}
}

func (in *intake) release() { <-in.turn }

// lock waits until no other process uses the file. One that is no longer at its path is left for the one that is.
func (in *intake) lock(ctx context.Context, limit time.Time) error {
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		if in.closed {
			return ErrClosed
		}
		if err := in.open(); err != nil {
			return err
		}
		err := syscall.Flock(int(in.f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			current, err := in.current()
			if current {
				return nil
			}
			in.came()
			if err := errors.Join(err, in.let()); err != nil {
				return err
			}
		} else if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(limit) {
			return errIntakeBusy
		}
		if err != nil {
			time.Sleep(pause)
		}
	}
}

func (in *intake) unlock() {
	if in.f != nil {
		_ = syscall.Flock(int(in.f.Fd()), syscall.LOCK_UN) // which closing does as well
	}
}

// take writes a call, unless before tells of an earlier one of the same request. It is [errWaits] where such a one waits here, or the file has
// to be replaced first. wrote is called while nobody else can know of it.
func (in *intake) take(ctx context.Context, e entry, before func() (*control.Record, error), wrote func()) (earlier *control.Record, err error) {
	err = in.locked(ctx, busyLimit, func() error {
		if err := in.look(); err != nil {
			return err
		}
		if in.keys[e.key()] || in.read >= intakeFull && len(in.waiting) > 0 {
			return errWaits
		}
		if earlier, err = before(); err != nil || earlier != nil {
			return err
		}
		if ctx.Err() != nil { // nobody waits for it any more
			return ctx.Err()
		}
		if err := in.write(e); err != nil {
			return err
		}
		wrote()
		return nil
	})
	return earlier, err
}

// write appends an entry, where the last whole one ends.
func (in *intake) write(e entry) error {
	b, err := e.pack()
	if err != nil {
		return err
	}
	if in.size > in.read { // what somebody was killed over
		if err := in.f.Truncate(in.read); err != nil {
			return err
		}
	}
	_, err = in.f.WriteAt(b, in.read)
	if err == nil && in.synced {
		err = in.f.Sync()
	}
	if err != nil {
		return errors.Join(err, in.f.Truncate(in.read)) // or it would be half there
	}
	in.read += int64(len(b))
	in.size = in.read
	in.add(e)
	return nil
}

// add notes a call that waits up to where all is known.
func (in *intake) add(e entry) {
	if len(in.waiting) == 0 {
		in.oldest.Store(time.Now().UnixNano())
	}
	e.end = in.read
	in.waiting = append(in.waiting, e)
	in.keys[e.key()] = true
	in.n.Store(int64(len(in.waiting)))
}

// forget drops what was taken over.
func (in *intake) forget(taken func(e *entry) bool) {
	var left []entry // never in place: who takes over reads the old list
	for i := range in.waiting {
		if e := &in.waiting[i]; taken(e) {
			delete(in.keys, e.key())
		} else {
			left = append(left, *e)
		}
	}
	if len(left) == len(in.waiting) {
		return
	}
	in.waiting = left
	in.oldest.Store(time.Now().UnixNano())
	in.n.Store(int64(len(left)))
}

// load is what waited at a moment.
type load struct {
	calls []entry
	file  int   // in which
	end   int64 // up to here
}

// pourLimit is how long a transaction waits for the intake's lock. It goes on without what others wrote there just now.
const pourLimit = 250 * time.Millisecond

// all returns what waits. It is to be told when that was taken over.
func (in *intake) all() (load, error) {
	ctx := context.Background()
	if err := in.hold(ctx, pourLimit); err != nil {
		return load{}, err
	}
	defer in.release()
	err := in.lock(ctx, time.Now().Add(pourLimit))
	if err == nil {
		err = in.look()
		in.unlock()
	}
	if errors.Is(err, ErrClosed) {
		return load{}, err
	}
	return load{slices.Clone(in.waiting), in.file, in.read}, err
}

// over notes that calls were taken over, and begins a new file where the old one has become long and nothing waits in it.
func (in *intake) over(l load) error {
	ctx := context.Background()
	if err := in.hold(ctx, busyLimit); err != nil {
		return err
	}
	defer in.release()
	taken := make(map[string]bool, len(l.calls))
	for i := range l.calls {
		taken[l.calls[i].id] = true
	}
	in.forget(func(e *entry) bool { return taken[e.id] })
	if err := in.lock(ctx, time.Now().Add(pourLimit)); err != nil {
		return err
	}
	defer in.unlock()
	if err := in.look(); err != nil || l.file != in.file { // what was said of another file says nothing of this one
		return err
	}
	if l.end > in.head {
		if err := in.mark(l.end); err != nil {
			return err
		}
	}
	if in.read < intakeMost || len(in.waiting) > 0 {
		return nil
	}
	return errors.Join(os.Remove(in.path), in.let(), in.open())
}
