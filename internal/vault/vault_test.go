package vault

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/internal/credentials"
)

const secret = "sk-live-0123456789abcdef"

func TestASecretIsKeptEncrypted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	v := At(dir)
	if names, err := v.Names(); err != nil || names != nil {
		t.Errorf("an empty vault has %v, %v", names, err)
	}
	for name, value := range map[string]string{"openai": secret, "b.pem": "two\nlines\x00\n"} {
		if err := v.Set(name, []byte(value)); err != nil {
			t.Fatal(err)
		}
		if got, err := At(dir).Get(name); err != nil || string(got) != value {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if names, err := v.Names(); err != nil || !slices.Equal(names, []string{"b.pem", "openai"}) {
		t.Errorf("%v, %v", names, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		info, err := f.Info()
		data, rerr := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil || rerr != nil || info.Mode().Perm() != 0o600 || bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s: mode %v, %v, %v, or the secret is in it", f.Name(), info.Mode(), err, rerr)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestAChangedSecretIsReadAnew(t *testing.T) {
	v := At(t.TempDir())
	for _, value := range []string{"first-value", "second-value"} {
		if err := v.Set("a", []byte(value)); err != nil {
			t.Fatal(err)
		}
		got, err := credentials.Resolver{Stored: v.Get}.Resolve("stored:a")
		if err != nil || string(got) != value {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := v.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Get("a"); err == nil || !strings.Contains(err.Error(), "hotcell secrets set a") {
		t.Errorf("got %v", err)
	}
	if err := v.Remove("a"); err == nil || !strings.Contains(err.Error(), "there is no secret a") {
		t.Errorf("got %v", err)
	}
}

func TestWhatCannotBeKeptOrRead(t *testing.T) {
	dir := t.TempDir()
	v := At(dir)
	for name, value := range map[string]string{
		"../x": secret, "": secret, ".x": secret, "a/b": secret, "empty": "", "long": strings.Repeat(secret, 3000),
	} {
		if err := v.Set(name, []byte(value)); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := v.Get("../x"); err == nil {
			t.Error("a path was read")
		}
	}
	if err := v.Set("a", []byte(secret)); err != nil {
		t.Fatal(err)
	}
	identity := filepath.Join(dir, "identity")
	if err := os.Chmod(identity, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Get("a"); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v", err)
	}
	for content, want := range map[string]string{
		"AGE-SECRET-KEY-1BROKEN": "this is no identity of age's",
		"AGE-SECRET-KEY-184JMZMVQH3E6U0PSL869004Y3U2NYV7R30EU99CSEDNPH02YUVFSZW44VU": "cannot be decrypted",
	} {
		if err := os.Chmod(identity, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(identity, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Get("a"); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET-KEY") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A lost identity is not replaced under what was kept for it.
func TestALostIdentityIsMissed(t *testing.T) {
	dir := t.TempDir()
	v := At(dir)
	if err := v.Set("a", []byte(secret)); err != nil {
		t.Fatal(err)
	}
	identity := filepath.Join(dir, "identity")
	if err := os.Remove(identity); err != nil {
		t.Fatal(err)
	}
	if err := v.Set("b", []byte(secret)); err == nil || !strings.Contains(err.Error(), "identity is gone, and what was kept for it cannot be read without it (1 secrets)") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(identity); err == nil {
		t.Error("a new identity was made")
	}
	if err := v.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if err := v.Set("b", []byte(secret)); err != nil {
		t.Error(err)
	}
}

func TestSeveralAtOnceShareOneIdentity(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		all.Go(func() {
			if err := At(dir).Set(name, []byte(secret)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	names, err := At(dir).Names()
	if err != nil || len(names) != 6 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		if got, err := At(dir).Get(name); err != nil || string(got) != secret {
			t.Errorf("%s: %v", name, err)
		}
	}
}
