package install

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

// checked is what an archive was found to hold.
type checked struct {
	names   tree
	files   int
	folders int
	bytes   int64
	most    int64 // bytes that may come of an archive of this size
}

// check reads the whole archive and writes nothing. own archives may shrink as they will.
func (a archive) check(ctx context.Context, own bool) (*checked, error) {
	c := &checked{names: tree{}, most: freeBytes + maxRatio*a.size}
	if own {
		c.most = maxBytes
	}
	if a.size > maxPacked {
		return nil, bad(CodeSize, "", "the archive has more than %d MiB", maxPacked>>20)
	}
	if err := a.sniff(); err != nil {
		return nil, err
	}
	err := a.walk(ctx, c.visit)
	return c, err
}

func (c *checked) visit(e entry, content io.Reader) error {
	at, err := cleaned(e.name)
	if err != nil {
		return err
	}
	if at == "" && !e.folder {
		return bad(CodePath, e.name, "a file without a name")
	}
	if err := c.count(e, content); err != nil || at == "" {
		return err
	}
	return c.names.add(at, e.folder)
}

// count holds an entry against the bounds. What a header says of its size is nobody's business.
func (c *checked) count(e entry, content io.Reader) error {
	if e.folder {
		c.folders++
	} else {
		c.files++
	}
	if c.files > maxFiles || c.folders > maxFiles {
		return tooMany()
	}
	n, err := io.Copy(io.Discard, io.LimitReader(content, min(maxBytes, c.most)-c.bytes+1))
	if err != nil {
		return err
	}
	switch c.bytes += n; {
	case c.bytes > maxBytes:
		return tooLarge()
	case c.bytes > c.most:
		return bad(CodeRatio, e.name, "%q: the archive becomes more than %d times as large when it is unpacked", show(e.name), maxRatio)
	}
	return nil
}

// root is the folder of the archive that is the bundle: "" or the only one at the top, which must have the skill's name where
// that is known.
func (c *checked) root(name string) (string, error) {
	if c.has(skillFile) {
		return "", nil
	}
	top, only := "", true
	for _, p := range c.names {
		if p.folder || leftOut(p.path) {
			continue
		}
		first, _, _ := strings.Cut(p.path, "/")
		only = only && (top == "" || top == first)
		top = first
	}
	if !only || !c.has(top+"/"+skillFile) {
		return "", bad(skills.CodeNoSkill, "", "no %s at the archive's root, nor in the only folder there", skillFile)
	}
	if name != "" && top != name {
		return "", bad(skills.CodeNoSkill, "", "the archive's folder is %q: expected %q, or %s at the archive's root", show(top), name, skillFile)
	}
	return top + "/", nil
}

const skillFile = "SKILL.md"

func (c *checked) has(file string) bool {
	p, ok := c.names[folded(file)]
	return ok && p.path == file && !p.folder
}

// unpack writes the files below root into the folder dir, which is new. The archive was checked.
func (a archive) unpack(ctx context.Context, root, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	err = a.walk(ctx, func(e entry, content io.Reader) error {
		at, err := cleaned(e.name)
		if err != nil {
			return err
		}
		at, below := strings.CutPrefix(at, root)
		if !below || at == "" || e.folder || leftOut(at) {
			return nil
		}
		if err := to.MkdirAll(path.Dir(at), 0o755); err != nil {
			return err
		}
		return save(to, at, e.exec, content)
	})
	if err != nil {
		return err
	}
	return syncFolders(to)
}

// save writes one file so that it survives a loss of power.
func save(to *os.Root, name string, exec bool, content io.Reader) error {
	mode := fs.FileMode(0o644)
	if exec {
		mode = 0o755
	}
	f, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()) // whatever the umask
}

func syncFolders(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// unreadable tells what is wrong with an archive from what is wrong here.
func unreadable(ctx context.Context, err error) error {
	var told *catalog.Error
	var path *fs.PathError
	var number syscall.Errno
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &told):
		return told
	case errors.As(err, &path) || errors.As(err, &number):
		return err
	}
	return broken(err)
}
