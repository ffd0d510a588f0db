package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/host"
)

// maxArtifacts bounds how many artifacts of one call are kept track of; the others are only counted.
const maxArtifacts = 1000

// artifacts follows the artifact events of one call, and saves them where a folder is given.
type artifacts struct {
	root  *os.Root // nil: nothing is saved
	dir   string   // root's name, for people
	force bool

	order   []*artifact
	byName  map[string]*artifact
	dropped int
}

// artifact is one file that a skill made. Name is the skill's own word and hostile.
type artifact struct {
	name  string
	size  int64
	final bool
	path  string // within root; "" when not saved
	err   error  // why it is not saved
}

// newArtifacts makes dir, if it is not there, and saves into it; "" saves nothing.
func newArtifacts(dir string, force bool) (*artifacts, error) {
	a := &artifacts{dir: dir, force: force, byName: map[string]*artifact{}}
	if dir == "" {
		return a, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, usagef("--out: %w", plainPathError(err))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, usagef("--out: %w", plainPathError(err))
	}
	a.root = root
	// Better now than after the run.
	if err := host.Writable(dir); err != nil {
		return nil, errors.Join(usagef("--out %s: can't be written: %w", oneLine(dir, 200), plainError(err)), root.Close())
	}
	return a, nil
}

// add takes an artifact event's data.
func (a *artifacts) add(data map[string]any) {
	piece, err := a2e.PieceOf(&a2e.Event{Data: data})
	f := a.byName[piece.Name]
	switch {
	case f == nil && len(a.order) >= maxArtifacts:
		a.dropped++
		return
	case f == nil:
		f = &artifact{name: piece.Name}
		a.byName[piece.Name] = f
		a.order = append(a.order, f)
		f.path, f.err = a.reserve(piece.Name)
	case f.final:
		return
	}
	if err != nil {
		f.err = errors.Join(f.err, errors.New("a chunk is not base64"))
	}
	f.size += int64(len(piece.Content))
	if f.err == nil && f.path != "" {
		f.err = a.write(f.path, piece.Content)
	}
	f.final = piece.Final
}

// reserve makes an empty file for an artifact, never in the place of one that is there, unless by force.
func (a *artifacts) reserve(name string) (string, error) {
	if a.root == nil {
		return "", nil
	}
	safe := safeName(name)
	if dir := path.Dir(safe); dir != "." {
		if err := a.root.MkdirAll(dir, 0o755); err != nil {
			return "", plainError(err)
		}
	}
	for _, f := range a.order {
		if f.path == safe {
			return "", fmt.Errorf("another artifact is named %s too", safe)
		}
	}
	if a.force {
		if err := a.root.Remove(safe); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", plainError(err)
		}
	}
	f, err := a.root.OpenFile(safe, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return "", errors.New("a file of that name is there already: --force replaces it")
	}
	if err != nil {
		return "", plainError(err)
	}
	return safe, f.Close()
}

// write appends to a file that reserve made. Files are opened for one chunk at a time, so that a skill can't use up our
// descriptors.
func (a *artifacts) write(name string, chunk []byte) error {
	f, err := a.root.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return plainError(err)
	}
	_, err = f.Write(chunk)
	if err := errors.Join(err, f.Close()); err != nil {
		return plainError(err)
	}
	return nil
}

// close deletes what was not completed. Its error names every artifact that was not saved, by reason.
func (a *artifacts) close() error {
	if a.root == nil {
		return nil
	}
	lost := map[string][]string{} // by reason
	var reasons []string
	for _, f := range a.order {
		if f.err == nil && !f.final {
			f.err = errors.New("incomplete")
		}
		if f.err == nil {
			continue
		}
		if f.path != "" {
			_ = a.root.Remove(f.path)
		}
		reason := f.err.Error()
		if lost[reason] == nil {
			reasons = append(reasons, reason)
		}
		lost[reason] = append(lost[reason], oneLine(f.name, 80))
	}
	var errs []error
	for _, reason := range reasons {
		names := lost[reason]
		text := strings.Join(names[:min(len(names), maxNamed)], ", ")
		if more := len(names) - maxNamed; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		errs = append(errs, fmt.Errorf("%s not saved: %s: %s", plural(len(names), "an artifact is", "artifacts are"), text, reason))
	}
	return errors.Join(append(errs, a.root.Close())...)
}

// where is the path of a saved artifact, for people.
func (a *artifacts) where(f *artifact) string {
	return filepath.Join(a.dir, filepath.FromSlash(f.path))
}

const (
	maxNamed = 20 // artifacts that one message names
	maxDepth = 8
	maxName  = 120 // bytes of one element
)

// safeName makes a relative path below the output folder from a name that a skill chose. Elements that lead elsewhere
// vanish; characters that no file name needs become "_", a leading dot or dash too, so that nothing is hidden, taken
// for an option or read by a shell at its start.
func safeName(name string) string {
	var elems []string
	for elem := range strings.FieldsFuncSeq(strings.ToValidUTF8(name, "_"), func(r rune) bool { return r == '/' || r == '\\' }) {
		if elem == "." || elem == ".." || len(elems) == maxDepth {
			continue
		}
		elem = strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-+@= ", r) {
				return r
			}
			return '_'
		}, elem)
		for len(elem) > maxName {
			_, n := utf8.DecodeLastRuneInString(elem)
			elem = elem[:len(elem)-n]
		}
		if elem = strings.TrimRight(elem, " ."); elem == "" {
			continue
		}
		if strings.ContainsRune(".- ", rune(elem[0])) {
			elem = "_" + elem[1:]
		}
		elems = append(elems, elem)
	}
	if len(elems) == 0 {
		return "artifact"
	}
	return strings.Join(elems, "/")
}
