package credentials

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// MaxValue is how long a value may be, in bytes.
const MaxValue = 64 << 10

// The kinds of references.
const (
	kindEnv    = "env"
	kindFile   = "file"
	kindStored = "stored"
)

// Resolver reads values. The zero Resolver reads the environment and files and knows no store. It is safe for concurrent
// use if its functions are.
type Resolver struct {
	Lookup func(name string) (string, bool)  // of the environment; nil is [os.LookupEnv]
	Stored func(name string) ([]byte, error) // of the store; its errors hold no value; nil: there is none
}

// Check says what is wrong with the form of a reference, without reading what it refers to. The error does not repeat the
// text: somebody may have written the secret itself.
func Check(ref string) error {
	_, _, err := split(ref)
	return err
}

// Resolve returns the value that a reference stands for, without the line feed at a file's end. It must not be empty. The
// caller may change what it gets.
func (r Resolver) Resolve(ref string) ([]byte, error) {
	kind, name, err := split(ref)
	if err != nil {
		return nil, err
	}
	var value []byte
	switch kind {
	case kindEnv:
		value, err = r.environment(name)
	case kindFile:
		value, err = file(name)
	default:
		value, err = r.stored(name)
	}
	switch {
	case err != nil:
	case len(value) == 0:
		err = fmt.Errorf("%s:%s is empty", kind, name)
	case len(value) > MaxValue:
		err = fmt.Errorf("%s:%s is longer than %d bytes", kind, name, MaxValue)
	default:
		return value, nil
	}
	return nil, &fault{kind, err}
}

// fault is why a reference has no value, in words for the operator.
type fault struct {
	kind string
	err  error
}

func (f *fault) Error() string { return f.err.Error() }

func (f *fault) Unwrap() error { return f.err }

// Public is why a reference has no value, in words for callers: names of variables help who runs hotcell himself, and paths on
// the host are nobody else's business.
func Public(err error) string {
	var f *fault
	switch {
	case !errors.As(err, &f), f.kind == kindEnv:
		return err.Error()
	case f.kind == kindFile:
		return "the file that it is kept in can't be used: hotcell's log says why"
	}
	return "the store of secrets does not have it: hotcell's log says why"
}

// Kind names a reference for callers: a variable or a stored value by its name, a file as one.
func Kind(ref string) string {
	if kind, _, err := split(ref); err != nil || kind == kindFile {
		return "its file"
	}
	return ref
}

func (r Resolver) environment(name string) ([]byte, error) {
	lookup := r.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	value, ok := lookup(name)
	if !ok {
		return nil, fmt.Errorf("env:%s: there is no such variable in hotcell's environment", name)
	}
	return []byte(value), nil
}

func (r Resolver) stored(name string) ([]byte, error) {
	if r.Stored == nil {
		return nil, fmt.Errorf("stored:%s: there is no store of credentials here", name)
	}
	return r.Stored(name)
}

// file reads a regular file, or what a link to one leads to; a pipe or a device could keep the reader for ever.
func file(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, plain(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, plain(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("file:%s: expected a regular file", name)
	}
	value, err := io.ReadAll(io.LimitReader(f, MaxValue+3)) // a longest value, its line's end, and one more
	if err != nil {
		return nil, plain(name, err)
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(value, []byte("\n")), []byte("\r")), nil
}

// plain is an error of the file system without the name twice.
func plain(name string, err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("file:%s: %w", name, err)
}

var errForm = errors.New("expected a reference: env:NAME, file:PATH with an absolute path, or stored:NAME")

func split(ref string) (kind, name string, err error) {
	kind, name, _ = strings.Cut(ref, ":")
	ok := false
	switch kind {
	case kindEnv:
		ok = variable(name)
	case kindFile:
		ok = strings.HasPrefix(name, "/") && !strings.Contains(name, "\x00")
	case kindStored:
		ok = Name(name)
	}
	if !ok {
		return "", "", errForm
	}
	return kind, name, nil
}

// Name reports whether s can be the name of a stored value or of a secret: 1 to 64 letters, digits, _, - and ., not with a
// dot at its beginning.
func Name(s string) bool {
	return s != "" && len(s) <= 64 && s[0] != '.' && !strings.ContainsFunc(s, func(c rune) bool { return !letter(c) && c != '-' && c != '.' })
}

func variable(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && !strings.ContainsFunc(s, func(c rune) bool { return !letter(c) })
}

func letter(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
