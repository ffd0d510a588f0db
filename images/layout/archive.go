package layout

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// maxFiles is how many files an archive of images may have: a few for each layer.
const maxFiles = 20_000

// archive is a folder with the files of an image archive in it.
type archive struct {
	root    *os.Root
	dir     string
	aliases map[string]string // links within the archive, by name
}

// spool writes an archive's files into a new folder. Old engines save a layer that two images share as a link.
func spool(ctx context.Context, dir string, r io.Reader, budget *budget) (*archive, error) {
	if err := os.Mkdir(dir, dirPerm); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	a := &archive{root: root, dir: dir, aliases: make(map[string]string)}
	plain, err := decompress(r)
	if err == nil {
		err = a.fill(ctx, tar.NewReader(plain), budget)
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return a, nil
}

func (a *archive) fill(ctx context.Context, tr *tar.Reader, budget *budget) error {
	for n := 0; ; n++ {
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF) && n > 0:
			return nil
		case err != nil:
			return fmt.Errorf("not an image archive (%w): expected the output of docker save, or an OCI archive", noEOF(err))
		case n >= maxFiles:
			return fmt.Errorf("archive has more than %d files", maxFiles)
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := a.put(h, tr, budget); err != nil {
			return fmt.Errorf("archive: %.200q: %w", h.Name, err)
		}
	}
}

// noEOF keeps an end of input from being taken for an orderly one.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (a *archive) put(h *tar.Header, r io.Reader, budget *budget) error {
	name := inside(h.Name)
	switch h.Typeflag {
	case tar.TypeDir:
		return nil
	case tar.TypeSymlink:
		a.aliases[name] = inside(path.Join(path.Dir(name), h.Linkname))
		return nil
	case tar.TypeLink:
		a.aliases[name] = inside(h.Linkname)
		return nil
	case tar.TypeReg:
	default:
		return nil // of no use here
	}
	if err := a.root.MkdirAll(path.Dir(name), dirPerm); err != nil {
		return err
	}
	f, err := a.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, budget.reader(r))
	return errors.Join(noEOFOrNil(err), f.Close())
}

func noEOFOrNil(err error) error {
	if err == nil {
		return nil
	}
	return noEOF(err)
}

// inside is a name of an archive as a path below its root, wherever it points.
func inside(name string) string {
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

// open opens a file of the archive, whatever links lead to it.
func (a *archive) open(name string) (*os.File, error) {
	name = inside(name)
	for range 8 {
		target, linked := a.aliases[name]
		if !linked {
			return a.root.Open(name)
		}
		name = target
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("too many links")}
}

// small reads a file of the archive that must be small.
func (a *archive) small(name string) ([]byte, error) {
	f, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	data, err := io.ReadAll(io.LimitReader(f, maxMeta+1))
	if err == nil && len(data) > maxMeta {
		err = fmt.Errorf("%s is longer than %d bytes", name, maxMeta)
	}
	return data, err
}

func (a *archive) close() { _ = a.root.Close() }

// decompress takes gzip off, if there is any.
func decompress(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	magic, err := b.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return b, nil
	}
	return gzip.NewReader(b)
}

// budget bounds bytes over several readers.
type budget struct{ left, all int64 }

func newBudget(n int64) *budget { return &budget{n, n} }

func (b *budget) reader(r io.Reader) io.Reader { return &metered{b, r} }

type metered struct {
	b *budget
	r io.Reader
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if m.b.left -= int64(n); m.b.left < 0 {
		return n, fmt.Errorf("image is larger than %d bytes", m.b.all)
	}
	return n, err
}
