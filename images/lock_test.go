package images

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
)

func sum(c string) string { return "sha256:" + strings.Repeat(c, 64) }

// Many processes pin at once: nothing is lost, and of one tag the first pin stands for all.
func TestLockIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", LockName)
	var all sync.WaitGroup
	stands := make([]Pin, 8)
	for i := range stands {
		l := OpenLock(path) // another process, as far as the file goes
		all.Go(func() {
			defer l.Close()
			p := Pin{Digest: sum(fmt.Sprint(i)), By: ByCall}
			var err error
			if stands[i], err = l.add(t.Context(), "docker.io/team/same:1", p); err != nil {
				t.Error(err)
			}
			if _, err := l.add(t.Context(), fmt.Sprintf("docker.io/team/own:%d", i), p); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	l := OpenLock(path)
	defer l.Close()
	pins, err := l.Pins()
	if err != nil || len(pins) != len(stands)+1 {
		t.Fatalf("%d pins, %v", len(pins), err)
	}
	for _, p := range stands {
		if p.Digest != pins["docker.io/team/same:1"].Digest {
			t.Errorf("pinned to %s, and %s stands", p.Digest, pins["docker.io/team/same:1"].Digest)
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 2 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// What another process pins is seen without a restart, and costs whoever asks no wait.
func TestLockIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), LockName)
	l, other := OpenLock(path), OpenLock(path)
	defer l.Close()
	defer other.Close()
	const tag = "docker.io/team/x:1"
	if _, ok, err := l.find(tag); ok || err != nil {
		t.Fatalf("in no file: %t, %v", ok, err)
	}
	for _, c := range []string{"a", "b"} {
		if err := other.Set(t.Context(), tag, Pin{Digest: sum(c), By: ByPin}); err != nil {
			t.Fatal(err)
		}
		testutil.Poll(t, time.Minute, func() bool {
			p, ok, err := l.find(tag)
			return ok && err == nil && p.target == "docker.io/team/x@"+sum(c)
		})
	}
	if was, err := other.Unset(t.Context(), tag); !was || err != nil {
		t.Errorf("%t, %v", was, err)
	}
	if was, err := other.Unset(t.Context(), tag); was || err != nil {
		t.Errorf("once more: %t, %v", was, err)
	}
	testutil.Poll(t, time.Minute, func() bool { _, ok, err := l.find(tag); return !ok && err == nil })
}

// A file that can't be used pins nothing anew and is told of: what it pins would be another image otherwise.
func TestLockThatCannotBeUsed(t *testing.T) {
	for name, text := range map[string]string{
		"noise": "<<<<<<< ours", "a list": "[]", "an unknown key": `{"version":1,"pictures":{}}`, "a later version": `{"version":2,"images":{}}`,
		"no content":   `{"version":1,"images":{"docker.io/team/x:1":{"by":"pin","since":"2026-01-01T00:00:00Z"}}}`,
		"a bad digest": `{"version":1,"images":{"docker.io/team/x:1":{"digest":"sha256:12","by":"pin","since":"2026-01-01T00:00:00Z"}}}`,
		"a bad name":   `{"version":1,"images":{"x":{"digest":"` + sum("a") + `","by":"pin","since":"2026-01-01T00:00:00Z"}}}`,
		"two files":    `{"version":1,"images":{}}` + "\n" + `{"version":1,"images":{"docker.io/team/x:1":{"digest":"` + sum("a") + `","by":"pin","since":"2026-01-01T00:00:00Z"}}}`,
		"long":         `{"version":1,"images":{}` + strings.Repeat(" ", maxRecord) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), LockName)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			l := OpenLock(path)
			defer l.Close()
			_, _, found := l.find("docker.io/team/x:1")
			_, read := l.Pins()
			for _, err := range []error{found, read, l.Set(t.Context(), "docker.io/team/y:1", Pin{Digest: sum("a")})} {
				if err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("got %v", err)
				}
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != text {
				t.Errorf("it was written: %.100q, %v", got, err)
			}
			if err := os.WriteFile(path, []byte(`{"version":1,"images":{}}`), 0o600); err != nil {
				t.Fatal(err)
			}
			testutil.Poll(t, time.Minute, func() bool { _, _, err := l.find("docker.io/team/x:1"); return err == nil })
		})
	}
}

// A pipe in the place of the file keeps no call waiting.
func TestLockThatIsAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), LockName)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	l := OpenLock(path)
	defer l.Close()
	done := make(chan error, 1)
	go func() { _, _, err := l.find("docker.io/team/x:1"); done <- err }()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "expected a regular file") {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		_, _ = os.OpenFile(path, os.O_RDWR, 0) // which lets it go
		t.Fatal("it waits for the other end")
	}
}

// What is no tag is not pinned: it would make the file one that can't be used.
func TestLockTakesTagsAlone(t *testing.T) {
	l := OpenLock(filepath.Join(t.TempDir(), LockName))
	defer l.Close()
	for _, tag := range []string{"", "x", "team/x:1", "docker.io/team/x", sum("a"), "docker.io/x@" + sum("a"), "r.example/" + strings.Repeat("x", maxTag) + ":1"} {
		if err := l.Set(t.Context(), tag, Pin{Digest: sum("a")}); err == nil {
			t.Errorf("%.80q was pinned", tag)
		}
	}
	if _, err := l.Pins(); err != nil {
		t.Error(err)
	}
}

// Whoever waits for a file that another process changes can leave.
func TestLockThatIsHeld(t *testing.T) {
	l := OpenLock(filepath.Join(t.TempDir(), LockName))
	defer l.Close()
	unlock, err := LockFile(t.Context(), l.file.path+".held", "it")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.Set(ctx, "docker.io/team/x:1", Pin{Digest: sum("a")}); err == nil || !strings.Contains(err.Error(), "being changed by another process") {
		t.Errorf("got %v", err)
	}
}
