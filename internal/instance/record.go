package instance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

const (
	maxID     = 64
	maxRecord = 256 << 10 // bytes of a file that are read
)

// record is what a file holds.
type record struct {
	Instance string     `json:"instance"`
	Inode    uint64     `json:"inode"` // of the file itself: a copy of it is nobody's
	PID      int        `json:"pid"`
	Started  time.Time  `json:"started"`
	Poisoned []string   `json:"poisoned,omitempty"`
	Ended    *time.Time `json:"ended,omitempty"` // when another supervisor first saw that this one is dead and left nothing
}

// write replaces the content of f, which keeps its inode, for that carries the lock. It is one write over the old content,
// filled up with blanks to the old length: a reader who comes in between sees the old text or the new.
func (r record) write(f *os.File) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	n := len(b)
	info, err := f.Stat()
	if err != nil {
		return err
	}
	for int64(len(b)) < min(info.Size(), maxRecord) {
		b = append(b, ' ')
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	return f.Truncate(int64(n))
}

// read returns what f holds. A file that is being written may be unreadable for a moment.
func read(f *os.File) (record, error) {
	var r record
	b, err := io.ReadAll(io.NewSectionReader(f, 0, maxRecord+1))
	switch {
	case err != nil:
		return r, err
	case len(b) > maxRecord:
		return r, fmt.Errorf("%s: larger than %d bytes", f.Name(), maxRecord)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return record{}, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if len(r.Poisoned) > maxPoisoned {
		return record{}, errors.New(f.Name() + ": too many names")
	}
	return r, nil
}

// inode returns the number of an open file, 0 where it is not known.
func inode(f *os.File) uint64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return st.Ino
}

// original reports whether f is the file that its supervisor made. One that was restored from a backup or put in its place
// is not: its supervisor may live, and hold the lock on the other.
func original(f *os.File) bool {
	r, err := read(f)
	return err == nil && r.Inode != 0 && r.Inode == inode(f)
}

// valid reports whether id can be a supervisor's, and so is fit to be the name of a file.
func valid(id string) bool {
	if id == "" || len(id) > maxID || id[0] == '-' {
		return false
	}
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
