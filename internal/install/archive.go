package install

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
)

// The kinds of archives.
const (
	Zip   = "zip"
	TarGz = "tar.gz"
)

// The bounds of an archive.
const (
	maxFiles   = 2000     // and as many folders
	maxBytes   = 64 << 20 // of all files unpacked
	maxPacked  = 68 << 20 // of the archive itself
	maxRatio   = 200      // by which it may grow when it is unpacked
	freeBytes  = 1 << 20  // which may come of any ratio
	maxListing = 4 << 20  // bytes that say what is in a zip file
	maxHeaders = 16 << 20 // bytes of a tar file that are no file's
)

// entry is a file or a folder of an archive.
type entry struct {
	name   string // as it is written
	folder bool
	exec   bool
}

// archive is an upload that lies on disk.
type archive struct {
	io.ReaderAt
	kind string
	size int64
}

// Sniff returns the kind of archive that begins so, "" where it is none.
func Sniff(first []byte) string {
	switch {
	case len(first) >= 4 && first[0] == 'P' && first[1] == 'K' && (first[2] == 3 && first[3] == 4 || first[2] == 5 && first[3] == 6):
		return Zip
	case len(first) >= 2 && first[0] == 0x1f && first[1] == 0x8b:
		return TarGz
	}
	return ""
}

// sniff makes sure that the archive is of the kind that it is said to be.
func (a archive) sniff() error {
	first := make([]byte, 4)
	n, err := a.ReadAt(first, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if got := Sniff(first[:n]); got == "" {
		return bad(CodeKind, "", "this is neither a zip nor a tar.gz archive")
	} else if got != a.kind {
		return bad(CodeKind, "", "this is a %s archive, not the %s that it is said to be", got, a.kind)
	}
	return nil
}

// walk visits each entry, with the content of files. What the visitor returns ends it.
func (a archive) walk(ctx context.Context, visit func(e entry, content io.Reader) error) error {
	if a.kind == Zip {
		return a.walkZip(ctx, visit)
	}
	return a.walkTar(ctx, visit)
}

func (a archive) walkTar(ctx context.Context, visit func(entry, io.Reader) error) error {
	packed, err := gzip.NewReader(stoppable{ctx, io.NewSectionReader(a, 0, a.size)})
	if err != nil {
		return unreadable(ctx, err)
	}
	bounded := &bounded{r: packed, left: maxBytes + maxHeaders}
	files := tar.NewReader(bounded)
	for {
		h, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			_, err := io.Copy(io.Discard, bounded) // what follows the last entry belongs to the checksum
			return unreadable(ctx, err)
		case err != nil && !errors.Is(err, tar.ErrInsecurePath): // names are looked at here
			return unreadable(ctx, err)
		case h.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		e := entry{name: h.Name, folder: h.Typeflag == tar.TypeDir, exec: h.Mode&0o111 != 0}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeDir:
		case tar.TypeSymlink, tar.TypeLink:
			return link(h.Name)
		default:
			return special(h.Name)
		}
		if err := visit(e, files); err != nil {
			return unreadable(ctx, err)
		}
	}
}

func (a archive) walkZip(ctx context.Context, visit func(entry, io.Reader) error) error {
	listing := &listing{ReaderAt: a, left: maxListing}
	files, err := zip.NewReader(listing, a.size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return unreadable(ctx, err)
	}
	listing.left = -1
	for _, f := range files.File {
		mode := f.Mode()
		switch {
		case mode&fs.ModeSymlink != 0:
			return link(f.Name)
		case !mode.IsRegular() && !mode.IsDir():
			return special(f.Name)
		case f.Flags&1 != 0:
			return bad(CodeEncrypted, f.Name, "%q is encrypted", show(f.Name))
		case f.Method != zip.Store && f.Method != zip.Deflate:
			return bad(CodeBroken, f.Name, "%q is compressed in a way that is not known here; expected deflate", show(f.Name))
		}
		if err := a.zipped(ctx, f, visit); err != nil {
			return unreadable(ctx, err)
		}
	}
	return nil
}

func (a archive) zipped(ctx context.Context, f *zip.File, visit func(entry, io.Reader) error) error {
	e := entry{name: f.Name, folder: f.Mode().IsDir(), exec: f.Mode()&0o111 != 0}
	content, err := f.Open()
	if err != nil {
		return err
	}
	return errors.Join(visit(e, stoppable{ctx, content}), content.Close())
}

func link(name string) error {
	return bad(CodeLink, name, "%q is a link; put the file itself there", show(name))
}

func special(name string) error {
	return bad(CodeSpecial, name, "%q is neither a file nor a folder", show(name))
}

// stoppable ends with the context.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// bounded fails when there is more than is left.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, tooLarge()
	}
	return n, err
}

// listing lets the list of a zip file be read, which is kept in memory, and no more of it than is left; -1 is no bound.
type listing struct {
	io.ReaderAt
	left int64
}

func (l *listing) ReadAt(p []byte, at int64) (int, error) {
	if l.left >= 0 {
		if l.left -= int64(len(p)); l.left < 0 {
			return 0, tooMany()
		}
	}
	return l.ReaderAt.ReadAt(p, at)
}

func tooLarge() error {
	return bad(CodeSize, "", "more than %d MiB of files; bring data in an image instead", maxBytes>>20)
}

func tooMany() error {
	return bad(CodeEntries, "", "more than %d files or folders; bring packages in an image instead", maxFiles)
}
