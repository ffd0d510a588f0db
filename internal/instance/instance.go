package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// maxPoisoned bounds how many names a file holds.
const maxPoisoned = 1000

// Instance is this process among the supervisors of a folder. Its methods are safe for concurrent use.
type Instance struct {
	dir, id string

	mu     sync.Mutex
	file   *os.File // nil once closed
	record record
}

// Open makes and locks the file of the supervisor id, which is 1 to 64 of a-z, 0-9 and '-', in dir. It fails where another
// process holds it. Its owner closes it.
func Open(dir, id string) (*Instance, error) {
	if !valid(id) {
		return nil, fmt.Errorf("instance id %.80q: expected 1 to %d of a-z, 0-9 and -", id, maxID)
	}
	if err := folder(dir); err != nil {
		return nil, err
	}
	f, err := occupy(filepath.Join(dir, id))
	if err != nil {
		return nil, fmt.Errorf("instance %s: %w", id, err)
	}
	i := &Instance{dir: dir, id: id, file: f, record: record{Instance: id, Inode: inode(f), PID: os.Getpid(), Started: time.Now().UTC()}}
	if err := errors.Join(holds(f.Name()), i.record.write(f)); err != nil {
		return nil, errors.Join(fmt.Errorf("instance %s: %w", id, err), os.Remove(f.Name()), f.Close())
	}
	return i, nil
}

// ID returns the supervisor's id.
func (i *Instance) ID() string { return i.id }

// folder makes dir, for its owner alone, or makes sure that nobody else can write there.
func folder(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fmt.Errorf("folder of instances: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("folder of instances: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("folder of instances: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("folder of instances: %s is not a folder: remove it", dir)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("folder of instances: others can use %s: make it its owner's alone: %w", dir, err)
	}
	return nil
}

// Alive reports whether the supervisor id lives: whether its file is locked. It is not known for one whose file is not
// there, or is none that this process can judge by.
func (i *Instance) Alive(id string) (alive, known bool) {
	if id == i.id {
		return true, true
	}
	if !valid(id) {
		return false, false
	}
	f, err := look(filepath.Join(i.dir, id), os.O_RDONLY)
	if err != nil {
		return false, false
	}
	defer f.Close()
	free, err := tryLock(f, shared)
	if err != nil || free && !original(f) {
		return false, false
	}
	return !free, true
}

// Poisoned replaces the names of the cells of this supervisor that will not die. Once some are set, [Instance.Close]
// leaves the file, so that another supervisor knows whose they were and that they are garbage.
func (i *Instance) Poisoned(cells []string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.file == nil {
		return fmt.Errorf("instance %s: %w", i.id, os.ErrClosed)
	}
	cells = slices.Clone(cells[:min(len(cells), maxPoisoned)])
	slices.Sort(cells)
	i.record.Poisoned = cells
	if err := i.record.write(i.file); err != nil {
		return fmt.Errorf("instance %s: %w", i.id, err)
	}
	return nil
}

// Close gives the lock back, and removes the file unless something is poisoned. It is idempotent.
func (i *Instance) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.file == nil {
		return nil
	}
	f := i.file
	i.file = nil
	var err error
	if len(i.record.Poisoned) == 0 {
		if err = os.Remove(f.Name()); errors.Is(err, fs.ErrNotExist) { // somebody has cleaned up the folder
			err = nil
		}
	}
	return errors.Join(err, f.Close())
}
