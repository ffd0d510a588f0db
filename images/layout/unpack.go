package layout

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// tree is a file tree on its way from layers. All changes go through root, which nothing leaves.
type tree struct {
	root    *os.Root
	entries int // that may still come
	budget  *budget
	written *budget         // what files hold: more than was read, where they have holes
	made    map[string]bool // by the layer at hand, which its own whiteouts spare
}

// layer applies a layer and compares its digest.
func (t *tree) layer(ctx context.Context, open func() (io.ReadCloser, error), want v1.Hash) error {
	r, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // read only
	sum := sha256.New()
	all := io.TeeReader(t.budget.reader(r), sum)
	t.made = make(map[string]bool)
	if err := t.apply(ctx, tar.NewReader(all)); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, all); err != nil { // past the archive's end
		return noEOF(err)
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != want.String() {
		return fmt.Errorf("its digest is %s, and the configuration says %s: the archive is damaged", got, want)
	}
	return nil
}

func (t *tree) apply(ctx context.Context, tr *tar.Reader) error {
	for {
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		if t.entries--; t.entries < 0 {
			return errors.New("image has too many files")
		}
		if err := t.entry(h, tr); err != nil {
			return fmt.Errorf("%.200q: %w", h.Name, err)
		}
	}
}

// whiteout starts the name of an entry that removes what lies below it in lower layers; the opaque one, all of a folder.
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

func (t *tree) entry(h *tar.Header, r io.Reader) error {
	name := inside(h.Name)
	if name == "" {
		return nil // the root: its mode is ours
	}
	if len(name) > 4096 || strings.ContainsRune(name, 0) {
		return errors.New("name is too long, or has a NUL in it")
	}
	dir, err := t.folder(path.Dir(name))
	if err != nil {
		return err
	}
	base := path.Base(name)
	switch {
	case base == opaque:
		return t.uncover(dir)
	case strings.HasPrefix(base, whiteout+whiteout):
		return nil // a note of the file system that the layer comes from
	case strings.HasPrefix(base, whiteout):
		base = strings.TrimPrefix(base, whiteout)
		if base == "" || base == "." || base == ".." {
			return errors.New("a whiteout of nothing")
		}
		return t.remove(path.Join(dir, base))
	}
	return t.put(path.Join(dir, base), h, r)
}

// put makes one entry in the place of what was there. Devices, pipes and sockets are left out: a cell has its own few.
func (t *tree) put(name string, h *tar.Header, r io.Reader) error {
	mode := perm(h.FileInfo().Mode())
	if h.Typeflag == tar.TypeDir {
		t.made[name] = true
		return t.directory(name, mode)
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeSymlink, tar.TypeLink:
	default:
		return nil
	}
	target := ""
	if h.Typeflag == tar.TypeLink { // looked up before its own place is cleared
		var err error
		if target, err = t.linked(h.Linkname); err != nil {
			return err
		}
		if target == name {
			return nil
		}
	}
	if err := t.root.RemoveAll(name); err != nil {
		return err
	}
	t.made[name] = true
	switch h.Typeflag {
	case tar.TypeSymlink:
		return t.root.Symlink(h.Linkname, name) // followed within the cell alone
	case tar.TypeLink:
		return t.root.Link(target, name)
	}
	return t.file(name, mode, r)
}

// perm keeps what anybody may do with a file. Nobody but root changes it, and nothing in it raises privileges.
func perm(m fs.FileMode) fs.FileMode { return m.Perm() &^ 0o022 }

func (t *tree) directory(name string, mode fs.FileMode) error {
	info, err := t.root.Lstat(name)
	if err == nil && !info.IsDir() {
		if err := t.root.Remove(name); err != nil {
			return err
		}
	}
	if err != nil || !info.IsDir() {
		if err := t.root.Mkdir(name, 0o700); err != nil {
			return err
		}
	}
	return t.root.Chmod(name, mode)
}

func (t *tree) file(name string, mode fs.FileMode, r io.Reader) error {
	f, err := t.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, t.written.reader(r))
	return errors.Join(noEOFOrNil(err), f.Chmod(mode), f.Close())
}

// linked finds what a hard link names: a file of the image, never a folder.
func (t *tree) linked(name string) (string, error) {
	name = inside(name)
	if name == "" {
		return "", errors.New("a hard link to the root")
	}
	dir, err := t.real(path.Dir(name))
	if err != nil {
		return "", err
	}
	target := path.Join(dir, path.Base(name))
	info, err := t.root.Lstat(target)
	switch {
	case err != nil:
		return "", fmt.Errorf("hard link to %.200q: %w", name, err)
	case !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSymlink:
		return "", fmt.Errorf("hard link to %.200q, which is no file", name)
	}
	return target, nil
}

// remove takes away what lower layers put there.
func (t *tree) remove(name string) error {
	if !t.made[name] {
		return t.root.RemoveAll(name)
	}
	if info, err := t.root.Lstat(name); err != nil || !info.IsDir() {
		return err
	}
	return t.uncover(name)
}

// uncover takes away all that lower layers put into a folder.
func (t *tree) uncover(dir string) error {
	f, err := t.root.Open(dir)
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case !t.made[name]:
			err = t.root.RemoveAll(name)
		case e.IsDir():
			err = t.uncover(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
