package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/wall"
)

const (
	maxArtifacts = 1000   // files that are sent
	maxEntries   = 10_000 // directory entries that are looked at
	maxArtifact  = 255    // bytes of an artifact's name
)

type artifactData struct {
	Name  string `json:"name"`
	Mime  string `json:"mime"`
	Chunk []byte `json:"chunk"`
	Final bool   `json:"final"`
}

// artifacts sends the regular files below a directory that a hostile program has filled.
type artifacts struct {
	say     *voice
	root    *os.Root // no link leads out of it
	left    int64    // bytes of the budget
	entries int      // directory entries that may still be looked at
	over    bool
	buf     []byte
	skipped []skip
}

// skip counts what is not sent for one reason.
type skip struct {
	why, first string
	n          int
}

// sendArtifacts sends what lies in /out, in the order of names, until the supervisor is gone. It reports whether the
// budget was exceeded.
func (l *life) sendArtifacts(ctx context.Context) (over bool) {
	root, err := os.OpenRoot(l.cfg.path(wall.DirOut))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.say.log(levelWarn, "artifacts: "+err.Error())
		}
		return false
	}
	defer root.Close()
	a := &artifacts{say: l.say, root: root, left: l.cfg.Args.Out, entries: maxEntries}
	names := a.find()
	slices.Sort(names)
	if n := len(names) - maxArtifacts; n > 0 {
		a.skip(fmt.Sprintf("more than %d files", maxArtifacts), names[maxArtifacts], n)
		names = names[:maxArtifacts]
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return a.over
		}
		a.send(ctx, name)
	}
	a.tell()
	return a.over
}

// find returns the names of all regular files, relative to the root.
func (a *artifacts) find() []string {
	var files []string
	for dirs := []string{"."}; len(dirs) > 0; {
		dir := dirs[0]
		dirs = dirs[1:]
		f, err := a.root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			a.skip("directory cannot be read", dir, 1)
			continue
		}
		files, dirs = a.list(f, dir, files, dirs)
		_ = f.Close()
	}
	return files
}

// list sorts a directory's entries into files and directories, in pieces: a directory may have millions.
func (a *artifacts) list(f *os.File, dir string, files, dirs []string) ([]string, []string) {
	const piece = 256
	for {
		entries, err := f.ReadDir(piece)
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if a.entries--; a.entries < 0 {
				a.skip("too many directory entries", name, 1)
				return files, nil
			}
			switch why := badName(name); {
			case why != "":
				a.skip(why, name, 1)
			case e.IsDir():
				dirs = append(dirs, name)
			case e.Type().IsRegular():
				files = append(files, name)
			default:
				a.skip("not a regular file", name, 1)
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				a.skip("directory cannot be read", dir, 1)
			}
			return files, dirs
		}
	}
}

// badName says why a path cannot be an artifact's name.
func badName(name string) string {
	switch {
	case len(name) > maxArtifact:
		return fmt.Sprintf("name longer than %d bytes", maxArtifact)
	case !utf8.ValidString(name):
		return "name is not UTF-8"
	case strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "control character in the name"
	}
	return ""
}

// send sends one file in chunks, the last of them marked final. A file that doesn't fit in the budget is not begun:
// half an artifact would pass for a whole one.
func (a *artifacts) send(ctx context.Context, name string) {
	f, err := a.root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		a.skip("file cannot be read", name, 1)
		return
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		a.skip("file cannot be read", name, 1)
		return
	case !fi.Mode().IsRegular():
		a.skip("not a regular file", name, 1)
		return
	case fi.Size() > a.left:
		a.over = true
		a.skip("over the budget of limits.out", name, 1)
		return
	}
	a.left -= fi.Size()
	if !a.chunks(ctx, f, name, fi.Size()) {
		a.skip("file changed or broke while it was read", name, 1)
	}
}

// chunks sends size bytes of a file, and reports whether they were there.
func (a *artifacts) chunks(ctx context.Context, f io.Reader, name string, size int64) bool {
	if a.buf == nil {
		a.buf = make([]byte, wall.FileChunk)
	}
	mime := mimeOf(name)
	for ctx.Err() == nil {
		n, err := io.ReadFull(f, a.buf[:min(size, wall.FileChunk)])
		size -= int64(n)
		final := size == 0 || err != nil
		a.say.encode(event{wall.TypeEvent, "artifact", artifactData{name, mime, a.buf[:n], final}})
		if final {
			return err == nil
		}
	}
	return true
}

// skip notes that something is not sent.
func (a *artifacts) skip(why, name string, n int) {
	for i := range a.skipped {
		if a.skipped[i].why == why {
			a.skipped[i].n += n
			return
		}
	}
	a.skipped = append(a.skipped, skip{why, name, n})
}

// tell makes one log event of each reason for which something was not sent.
func (a *artifacts) tell() {
	for _, s := range a.skipped {
		text := "artifacts: " + s.why + ": " + strconv.QuoteToASCII(clip(s.first, maxArtifact))
		if s.n > 1 {
			text += fmt.Sprintf(" and %d more", s.n-1)
		}
		a.say.log(levelWarn, text)
	}
}
