package skills

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sort"
	"strings"
)

// The bounds of a bundle.
const (
	maxFiles       = 2000
	maxBundleBytes = 64 << 20
	maxLevels      = 16  // of folders
	maxPath        = 512 // bytes of a path inside the bundle
)

// bundleFile is one file as it was when the bundle was read.
type bundleFile struct {
	path string
	mode fs.FileMode // 0644 or 0755
	size int64
	sum  [sha256.Size]byte
	data []byte // the content, where it is kept
	at   int64  // where it begins in the copy of a large bundle
}

// errTooLarge ends a walk early.
var errTooLarge = errors.New("bundle too large")

// openBundle reads every file of a bundle once and returns a view of it that cannot change. Dot files and symbolic links
// are not part of a bundle; sockets, devices and pipes make it unusable. A bundle of at most keep bytes is kept in memory, so
// that it can be read however the disk changes; of a larger one files that have changed can no longer be opened.
func openBundle(fsys fs.FS, keep int64, r *report) Bundle {
	s := &bundleScan{fsys: fsys, report: r, keep: keep}
	err := fs.WalkDir(fsys, ".", s.visit)
	switch {
	case errors.Is(err, errTooLarge):
		return Bundle{FS: newView(fsys, nil)}
	case err != nil:
		s.bad(".", CodeUnreadableFile, "%s", clip(err.Error(), 200))
		return Bundle{FS: newView(fsys, nil)}
	}
	sort.Slice(s.files, func(i, j int) bool { return s.files[i].path < s.files[j].path })
	v := newView(fsys, s.files)
	if v.kept = s.bytes <= keep; !v.kept {
		v.forget()
	}
	return Bundle{FS: v, Digest: digest(s.files), Files: len(s.files), Bytes: s.bytes}
}

type bundleScan struct {
	*report
	fsys  fs.FS
	files []bundleFile
	bytes int64
	keep  int64
}

func (s *bundleScan) bad(name, code, format string, args ...any) {
	s.add(Finding{Code: code, Severity: SeverityError, File: clip(name, 200), Message: fmt.Sprintf(format, args...)})
}

func (s *bundleScan) visit(name string, d fs.DirEntry, err error) error {
	switch {
	case err != nil:
		s.bad(name, CodeUnreadableFile, "cannot be read: %s", clip(plainError(err), 200))
		if d != nil && d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case name == ".":
		return nil
	case strings.HasPrefix(path.Base(name), "."):
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case d.Type()&fs.ModeSymlink != 0:
		return nil
	case !goodPath(name):
		s.bad(name, CodeBadFile, "this file name cannot be used: expected at most %d bytes of printable UTF-8 without a backslash", maxPath)
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case strings.Count(name, "/") >= maxLevels:
		s.bad(name, CodeTooLarge, "more than %d levels of folders", maxLevels)
		return errTooLarge
	case d.IsDir():
		return nil
	case !d.Type().IsRegular():
		s.bad(name, CodeBadFile, "not a regular file (%s); remove it", d.Type())
		return nil
	}
	return s.file(name)
}

func (s *bundleScan) file(name string) error {
	if len(s.files) == maxFiles {
		s.bad(".", CodeTooLarge, "more than %d files; bring packages in an image instead", maxFiles)
		return errTooLarge
	}
	kept := &keeper{room: s.keep - s.bytes}
	f, err := readBundleFile(s.fsys, name, maxBundleBytes-s.bytes, kept)
	switch {
	case errors.Is(err, errTooLarge):
		s.bad(name, CodeTooLarge, "the bundle has more than %d MiB; bring data in an image instead", maxBundleBytes>>20)
		return err
	case err != nil:
		s.bad(name, CodeUnreadableFile, "cannot be read: %s", clip(plainError(err), 200))
		return nil
	}
	f.data = kept.data
	s.files = append(s.files, f)
	s.bytes += f.size
	return nil
}

// keeper keeps what is written to it as long as there is room.
type keeper struct {
	data []byte
	room int64
}

func (k *keeper) Write(p []byte) (int, error) {
	if k.room -= int64(len(p)); k.room >= 0 {
		k.data = append(k.data, p...)
	}
	return len(p), nil
}

// readBundleFile copies a file of at most limit bytes to w and returns what it was.
func readBundleFile(fsys fs.FS, name string, limit int64, w io.Writer) (bundleFile, error) {
	in, err := fsys.Open(name)
	if err != nil {
		return bundleFile{}, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return bundleFile{}, err
	}
	if !info.Mode().IsRegular() {
		return bundleFile{}, errors.New("not a regular file")
	}
	if info.Size() > limit {
		return bundleFile{}, errTooLarge
	}
	h := sha256.New()
	buf := make([]byte, min(info.Size()+1, 64<<10)) // most files are small
	n, err := io.CopyBuffer(io.MultiWriter(h, w), io.LimitReader(in, limit+1), buf)
	if err != nil {
		return bundleFile{}, err
	}
	if n > limit {
		return bundleFile{}, errTooLarge
	}
	f := bundleFile{path: name, mode: 0o644, size: n}
	if info.Mode()&0o111 != 0 {
		f.mode = 0o755
	}
	h.Sum(f.sum[:0])
	return f, nil
}

// digest covers paths, permissions and contents, and nothing that differs between two checkouts of the same bundle.
func digest(files []bundleFile) string {
	h := sha256.New()
	var num [8]byte
	number := func(n uint64) {
		binary.BigEndian.PutUint64(num[:], n)
		h.Write(num[:])
	}
	for _, f := range files {
		number(uint64(len(f.path)))
		io.WriteString(h, f.path)
		number(uint64(f.mode))
		number(uint64(f.size))
		h.Write(f.sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

func goodPath(name string) bool {
	return len(name) <= maxPath && fs.ValidPath(name) && clip(name, maxPath) == name && !strings.Contains(name, `\`)
}

// plainError drops the path that a PathError repeats.
func plainError(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// readText reads one regular file of at most limit bytes.
func readText(fsys fs.FS, name string, limit int64) (string, error) {
	info, err := fs.Lstat(fsys, name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	var b strings.Builder
	_, err = readBundleFile(fsys, name, limit, &b)
	if errors.Is(err, errTooLarge) {
		return "", fmt.Errorf("more than %d bytes", limit)
	}
	return b.String(), err
}
