package skills

import (
	"bytes"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// largeBundle writes one that does not stay in memory, and returns what is in its file data.
func largeBundle(t *testing.T, dir, name, fill string) []byte {
	t.Helper()
	bundleDir(t, dir, name, "Large.")
	data := bytes.Repeat([]byte(fill), keepBundle)
	write(t, dir+"/"+name+"/data", string(data))
	return data
}

func loadSafe(t *testing.T, dir, copies string) *Library {
	t.Helper()
	l, err := LoadSafe([]Source{Dir(SourceProject, dir)}, NoTools, nil, copies)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A call of a large bundle keeps what it started with, whatever becomes of the folder. The copies have no names.
func TestCallsOfLargeBundlesKeepTheirVersion(t *testing.T) {
	dir, copies := t.TempDir(), t.TempDir()+"/copies"
	data := largeBundle(t, dir, "one", "x")
	l := loadSafe(t, dir, copies)
	held, _ := l.Find("one")
	if l.spills != 1 || l.spilled != held.Bundle.Bytes || l.kept != 0 {
		t.Errorf("%d copies of %d bytes, %d bytes in memory", l.spills, l.spilled, l.kept)
	}
	largeBundle(t, dir, "one", "y")
	if got, err := fs.ReadFile(held.Bundle.FS, "data"); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := l.Refresh(); err != nil {
		t.Fatal(err)
	}
	now, _ := l.Find("one")
	if now == held || now.Bundle.Digest == held.Bundle.Digest || l.spills != 1 {
		t.Errorf("%d copies", l.spills)
	}
	remove(t, dir+"/one")
	if again := openBundle(held.Bundle.FS, 0, &report{}); again.Digest != held.Bundle.Digest {
		t.Errorf("digest %s, want %s", again.Digest, held.Bundle.Digest)
	}
	if err := l.Refresh(); err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(copies); err != nil || len(names) > 0 || l.spills != 0 || l.spilled != 0 {
		t.Errorf("%v, %v, %d copies of %d bytes", names, err, l.spills, l.spilled)
	}
}

// A copy is closed once nobody has its bundle any more.
func TestCopiesAreClosed(t *testing.T) {
	dir := t.TempDir()
	largeBundle(t, dir, "one", "x")
	copies := t.TempDir()
	l := loadSafe(t, dir, copies)
	if n := openCopies(t, copies); n != 1 {
		t.Fatalf("%d copies are open", n)
	}
	for _, fill := range []string{"y", "z"} {
		largeBundle(t, dir, "one", fill)
		if err := l.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(30 * time.Second); openCopies(t, copies) > 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d copies are open", openCopies(t, copies))
		}
		runtime.GC()
	}
	runtime.KeepAlive(l)
}

func openCopies(t *testing.T, dir string) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(target, dir) {
			n++
		}
	}
	return n
}

// Where nothing can be copied the skill is there all the same.
func TestNoRoomForCopies(t *testing.T) {
	dir := t.TempDir()
	data := largeBundle(t, dir, "one", "x")
	write(t, dir+"/file", "x")
	l := loadSafe(t, dir, dir+"/file/copies")
	held, _ := l.Find("one")
	if got, err := fs.ReadFile(held.Bundle.FS, "data"); err != nil || !bytes.Equal(got, data) || held.Status != Published || l.spills != 0 {
		t.Errorf("%s: %d bytes, %v", held.Status, len(got), err)
	}
}
