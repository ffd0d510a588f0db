package instance

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// maxListed bounds how many files of a folder are looked at.
const maxListed = 10_000

// Info is what is known of a supervisor. Of one that is just writing its file for the first time only Instance and Alive are
// known.
type Info struct {
	Instance string    `json:"instance"`
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	Alive    bool      `json:"alive"`
	Poisoned []string  `json:"poisoned"` // names of cells that would not die
}

// List returns the supervisors that have a file in dir, by id. It opens each file just to look, and may be called by any
// process. A file that is not locked and not a supervisor's own says nothing, and is left out. A folder that is not there
// holds none.
func List(dir string) ([]Info, error) {
	ids, err := ids(dir)
	if err != nil {
		return nil, err
	}
	all := []Info{}
	for _, id := range ids {
		if info, err := describe(dir, id); err == nil {
			all = append(all, info)
		}
	}
	return all, nil
}

// Living returns how many supervisors of the folder live, this one included.
func (i *Instance) Living() int {
	all, err := ids(i.dir)
	if err != nil {
		return 1
	}
	n := 0
	for _, id := range all {
		if alive, _ := i.Alive(id); alive {
			n++
		}
	}
	return n
}

// ids returns the names in dir that may be supervisors', sorted.
func ids(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("folder of instances: %w", err)
	}
	defer d.Close()
	found, err := d.Readdirnames(maxListed)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("folder of instances: %w", err)
	}
	found = slices.DeleteFunc(found, func(name string) bool { return !valid(name) })
	slices.Sort(found)
	return found, nil
}

func describe(dir, id string) (Info, error) {
	f, err := look(filepath.Join(dir, id), os.O_RDONLY)
	if err != nil {
		return Info{}, err
	}
	defer f.Close()
	info := Info{Instance: id, Poisoned: []string{}}
	free, err := tryLock(f, shared)
	if err != nil {
		return Info{}, err
	}
	info.Alive = !free
	if free && !original(f) {
		return Info{}, fmt.Errorf("%s is no supervisor's own", f.Name())
	}
	r, err := read(f)
	for try := 0; err != nil && info.Alive && try < 3; try++ { // it is being written
		r, err = read(f)
	}
	if err == nil && r.Instance == id {
		info.PID, info.Started = r.PID, r.Started
		info.Poisoned = append(info.Poisoned, r.Poisoned...)
	}
	return info, nil
}
