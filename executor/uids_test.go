package executor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestNoTwoLiveCellsShareAUser(t *testing.T) {
	dir := t.TempDir()
	one, two := newUIDs(dir), newUIDs(dir) // as two processes: flock is per open file
	seen := map[uint32]bool{}
	var releases []func()
	for i := range uidCount {
		u := one
		if i%2 == 1 {
			u = two
		}
		uid, release, err := u.acquire()
		if err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
		if uid < uidFirst || uid >= uidFirst+uidCount || seen[uid] {
			t.Fatalf("uid %d is out of range or taken", uid)
		}
		seen[uid] = true
		releases = append(releases, release)
	}
	if _, _, err := one.acquire(); !errors.Is(err, errNoUID) {
		t.Errorf("error = %v, want errNoUID", err)
	}
	releases[7]()
	if uid, release, err := two.acquire(); err != nil {
		t.Errorf("after a release: %v", err)
	} else if !seen[uid] {
		t.Errorf("uid %d was never handed out", uid)
	} else {
		release()
	}
	for _, release := range releases {
		release()
	}
}

// What others put where a lock should be costs that user id, and no call.
func TestLocksThatAreNone(t *testing.T) {
	dir := t.TempDir()
	for i := range uidCount - 1 {
		path, err := filepath.Join(dir, fmt.Sprint(uidFirst+i)), error(nil)
		if i%2 == 0 {
			err = os.Symlink("/nowhere", path)
		} else {
			err = os.Mkdir(path, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	uid, release, err := newUIDs(dir).acquire()
	if err != nil || uid != uidFirst+uidCount-1 {
		t.Fatalf("uid %d, %v", uid, err)
	}
	release()
}
