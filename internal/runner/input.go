package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/hotcell/hotcell/internal/wall"
)

// takings are the files that come in before the request.
type takings struct {
	input, secrets string // directories
	lease          string // the file of what else a lease says
	admit          func() // opens the ports
	leased         bool

	root *os.Root // of input, once there is a file
	file *os.File // the file that is being written
	name string
}

func (t *takings) take(m inbound) error {
	switch m.kind {
	case wall.TypeFile:
		f, err := wall.DecodeFile(m.line)
		if err != nil {
			return fmt.Errorf("an input file's line is malformed: %w", err)
		}
		return t.add(f)
	case wall.TypeLease:
		l, err := wall.DecodeLease(m.line)
		if err != nil {
			return fmt.Errorf("the lease is malformed: %w", err)
		}
		return t.keep(l)
	}
	if t.file != nil {
		return fmt.Errorf("input file %q has no final piece", t.name)
	}
	return nil
}

// add writes one piece of an input file. Nothing outside the input directory can be reached, and no link is followed.
func (t *takings) add(f wall.File) error {
	if t.file == nil {
		if err := t.create(f); err != nil {
			return inputError(f.Path, err)
		}
	}
	if t.name != f.Path {
		return fmt.Errorf("input file %q begins before %q has ended", f.Path, t.name)
	}
	if _, err := t.file.Write(f.Data); err != nil {
		return inputError(f.Path, err)
	}
	if !f.Final {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return inputError(f.Path, err)
}

func (t *takings) create(f wall.File) (err error) {
	if t.root == nil {
		if err := os.MkdirAll(t.input, 0o700); err != nil {
			return err
		}
		if t.root, err = os.OpenRoot(t.input); err != nil {
			return err
		}
	}
	if dir := path.Dir(f.Path); dir != "." {
		if err := t.root.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	mode := fs.FileMode(f.Mode&0o755 | 0o600)
	t.file, err = t.root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, mode)
	t.name = f.Path
	return err
}

// inputError says in plain words what went wrong with an input file.
func inputError(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return errors.New("input files do not fit in /workspace: give fewer files, or raise limits.workspace")
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("input file %q is there twice, or another file has its directory's name", name)
	}
	return fmt.Errorf("input file %q: %w", name, err)
}

// keep makes files of a lease and opens the ports. There is one lease: a second one could give a call what belongs to
// another.
func (t *takings) keep(l wall.Lease) error {
	if t.leased {
		return errors.New("the cell got a second lease")
	}
	t.leased = true
	if err := t.hide(l.Secrets); err != nil {
		return err
	}
	l.Secrets = nil
	rest, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := create(t.lease, 0o400, rest); err != nil {
		return err
	}
	t.admit()
	return nil
}

// hide writes secrets.
func (t *takings) hide(secrets map[string]string) error {
	if len(secrets) == 0 {
		return nil
	}
	if err := os.MkdirAll(t.secrets, 0o700); err != nil {
		return err
	}
	for name, value := range secrets {
		if err := create(path.Join(t.secrets, name), 0o400, []byte(value)); err != nil {
			return fmt.Errorf("secret %q: %w", name, err)
		}
	}
	return nil
}

func (t *takings) close() {
	if t.file != nil {
		_ = t.file.Close()
	}
	if t.root != nil {
		_ = t.root.Close()
	}
}

// create writes a file that must not exist. It is the kernel's own calls alone: package os would first try whether such a file can be
// waited for, while the skill waits for its request.
func create(name string, mode fs.FileMode, data []byte) error {
	fd, err := syscall.Open(name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, uint32(mode.Perm()))
	for err == syscall.EINTR {
		fd, err = syscall.Open(name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, uint32(mode.Perm()))
	}
	if err != nil {
		return &fs.PathError{Op: "open", Path: name, Err: err}
	}
	for len(data) > 0 && (err == nil || err == syscall.EINTR) {
		var n int
		n, err = syscall.Write(fd, data)
		data = data[max(n, 0):]
	}
	if err != nil {
		err = &fs.PathError{Op: "write", Path: name, Err: err}
	}
	return errors.Join(err, syscall.Close(fd))
}
