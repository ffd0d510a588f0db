package credentials_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hotcell/hotcell/internal/credentials"
)

const secret = "sk-0123456789abcdef"

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestResolve(t *testing.T) {
	t.Setenv("HOTCELL_TEST_KEY", secret)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(write(t, secret), link); err != nil {
		t.Fatal(err)
	}
	longest := strings.Repeat("x", credentials.MaxValue)
	r := credentials.Resolver{Stored: func(name string) ([]byte, error) { return []byte("stored " + name), nil }}
	for ref, want := range map[string]string{
		"env:HOTCELL_TEST_KEY":            secret,
		"file:" + write(t, secret):        secret,
		"file:" + write(t, secret+"\n"):   secret,
		"file:" + write(t, secret+"\r\n"): secret,
		"file:" + write(t, secret+"\n\n"): secret + "\n",
		"file:" + write(t, longest+"\n"):  longest,
		"file:" + link:                    secret,
		"stored:openai":                   "stored openai",
	} {
		got, err := r.Resolve(ref)
		if err != nil || string(got) != want {
			t.Errorf("%s: %.40q, %v", ref, got, err)
		}
	}
}

func TestResolveAgain(t *testing.T) {
	name := write(t, "one")
	for _, want := range []string{"one", "two"} {
		if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := (credentials.Resolver{}).Resolve("file:" + name); err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOTCELL_TEST_EMPTY", "")
	for ref, says := range map[string]string{
		"":                        "expected a reference",
		secret:                    "expected a reference",
		"env:" + secret:           "expected a reference",
		"env:":                    "expected a reference",
		"env:1A":                  "expected a reference",
		"file:key":                "absolute path",
		"file:":                   "absolute path",
		"stored:../" + secret:     "expected a reference",
		"vault:x":                 "expected a reference",
		"env:HOTCELL_TEST_ABSENT": "env:HOTCELL_TEST_ABSENT: there is no such variable",
		"env:HOTCELL_TEST_EMPTY":  "env:HOTCELL_TEST_EMPTY is empty",
		"file:/does/not/exist":    "file:/does/not/exist: no such file",
		"file:" + t.TempDir():     "expected a regular file",
		"file:" + pipe:            "expected a regular file",
		"file:/dev/zero":          "expected a regular file",
		"file:" + write(t, "\n"):  "is empty",
		"file:" + write(t, strings.Repeat(secret, credentials.MaxValue)): "is longer than",
		"stored:openai": "no store of credentials",
	} {
		_, err := credentials.Resolver{}.Resolve(ref)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60q: %v; want an error with %q", ref, err, says)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the error of %.60q holds the secret: %v", ref, err)
		}
	}
	_, err := credentials.Resolver{}.Resolve("file:/does/not/exist")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v is not os.ErrNotExist", err)
	}
}

// Callers hear what helps them and nothing of the host's files.
func TestPublic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing")
	stored := credentials.Resolver{Stored: func(name string) ([]byte, error) { return nil, errors.New("stored:" + name + ": " + path) }}
	for ref, want := range map[string]string{
		"env:HOTCELL_TEST_ABSENT": "env:HOTCELL_TEST_ABSENT: there is no such variable in hotcell's environment",
		"file:" + path:            "the file that it is kept in can't be used: hotcell's log says why",
		"stored:openai":           "the store of secrets does not have it: hotcell's log says why",
	} {
		_, err := stored.Resolve(ref)
		if got := credentials.Public(err); got != want {
			t.Errorf("%s: %q, want %q", ref, got, want)
		}
		if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(strings.TrimPrefix(ref, "env:"), "file:")) {
			t.Errorf("the operator is not told of %s: %v", ref, err)
		}
	}
	for ref, want := range map[string]string{"env:KEY": "env:KEY", "stored:k": "stored:k", "file:" + path: "its file", secret: "its file"} {
		if got := credentials.Kind(ref); got != want {
			t.Errorf("%s: %q, want %q", ref, got, want)
		}
	}
}
