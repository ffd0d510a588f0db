package executor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
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

// What others put into the folder costs user ids and no call.
func TestStrangeThingsInTheFolderOfUserIDs(t *testing.T) {
	dir := t.TempDir()
	u := newUIDs(dir)
	var names []string // of those that would be next
	for i := range uint32(3) {
		names = append(names, filepath.Join(dir, fmt.Sprint(uidFirst+(u.next+i)%uidCount)))
	}
	if err := errors.Join(os.Mkdir(names[0], 0o700), os.Symlink("/etc/passwd", names[1]), syscall.Mkfifo(names[2], 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		uid, release, err := u.acquire()
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		if id := filepath.Join(dir, fmt.Sprint(uid)); id == names[0] || id == names[1] {
			t.Errorf("uid %d was handed out", uid)
		}
	}
}
