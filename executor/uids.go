package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/hotcell/hotcell/policies/compile"
)

const (
	uidFirst = compile.MinUID
	uidCount = compile.MaxUID - compile.MinUID + 1
)

var errNoUID = errors.New("all 1000 user ids for cells are in use")

// mostCells is how many cells of calls a supervisor has at once whose users are of the range: the rest of it is for cells
// that wait, and for calls within calls.
const mostCells = uidCount / 10 * 9

// user returns a user id for a cell, and the function that gives it back. Where the engine gives each cell a user of its own,
// all specs have the same one.
func (s *Supervisor) user() (uint32, func(), error) {
	if s.gate.ownUsers() {
		return uidFirst, func() {}, nil
	}
	return s.uids.acquire()
}

// uids hands out user ids. Supervisors on one host share the range through locks on files in dir; the kernel gives a
// lock back when its process dies.
type uids struct {
	dir string // "": not shared

	mu   sync.Mutex
	next uint32
	used map[uint32]*os.File // nil files where dir is ""
}

func newUIDs(dir string) *uids {
	return &uids{dir: dir, next: rand.Uint32N(uidCount), used: map[uint32]*os.File{}}
}

// acquire returns a uid that no live cell has, and the function that gives it back.
func (u *uids) acquire() (uint32, func(), error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for range uint32(uidCount) {
		uid := uidFirst + u.next
		u.next = (u.next + 1) % uidCount
		if _, taken := u.used[uid]; taken {
			continue
		}
		lock, ok, err := u.lock(uid)
		if err != nil {
			return 0, nil, err
		}
		if ok {
			u.used[uid] = lock
			return uid, func() { u.release(uid) }, nil
		}
	}
	return 0, nil, errNoUID
}

func (u *uids) lock(uid uint32) (*os.File, bool, error) {
	if u.dir == "" {
		return nil, true, nil
	}
	if err := os.MkdirAll(u.dir, 0o700); err != nil {
		return nil, false, fmt.Errorf("lock folder for user ids: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(u.dir, strconv.FormatUint(uint64(uid), 10)), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EISDIR) {
		return nil, false, nil // another user's, who may be using it, or has put something else there
	}
	if err != nil {
		return nil, false, fmt.Errorf("lock user id %d: %w", uid, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, false, f.Close() // another supervisor's
	}
	return f, true, nil
}

func (u *uids) release(uid uint32) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if f := u.used[uid]; f != nil {
		_ = f.Close() // closing gives the lock back; the file stays, or a racing opener would lock one without a name
	}
	delete(u.used, uid)
}
