package credentials

import (
	"errors"
	"path/filepath"
	"strings"
)

// Source is where a secret is.
type Source string

// The sources.
const (
	Env    Source = "env"    // a variable of hotcell's own environment
	File   Source = "file"   // a file, read again when it changes
	Stored Source = "stored" // hotcell's own encrypted store, see `hotcell secrets`
)

// Ref is a reference: "env:OPENAI_API_KEY", "file:/run/keys/openai", "stored:openai".
type Ref struct {
	Source Source
	Name   string // of the variable or the stored secret; the file's path
}

// MaxName is how long a secret's name may be, in bytes.
const MaxName = 64

// ErrReference says what a reference looks like. It repeats nothing: what stands in its place may be a secret itself.
var ErrReference = errors.New("expected a reference and never the secret itself: env:NAME, file:/ABSOLUTE/PATH or stored:NAME")

// Parse reads a reference.
func Parse(s string) (Ref, error) {
	source, name, _ := strings.Cut(s, ":")
	r := Ref{Source(source), name}
	ok := false
	switch r.Source {
	case Env:
		ok = isVariable(name)
	case File:
		ok = filepath.IsAbs(name) && len(name) < 4096 && !strings.ContainsRune(name, 0)
	case Stored:
		ok = IsName(name)
	}
	if !ok {
		return Ref{}, ErrReference
	}
	return r, nil
}

// String writes what [Parse] reads.
func (r Ref) String() string { return string(r.Source) + ":" + r.Name }

// IsName reports whether a secret can be called so: letters, digits, "_", "-" and ".", and no dot first, since it becomes
// a file's name.
func IsName(s string) bool {
	return s != "" && len(s) <= MaxName && s[0] != '.' && strings.Trim(s, letters+digits+"_-.") == ""
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

func isVariable(s string) bool {
	return s != "" && len(s) <= 256 && strings.Trim(s, letters+digits+"_") == "" && !strings.Contains(digits, s[:1])
}
