package oci

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hotcell/hotcell/internal/testutil"
	"golang.org/x/sys/unix"
)

// stateFolder is the folder of the cell c of the instance i, with a runc's state in it.
func stateFolder(t *testing.T, state string) folder {
	t.Helper()
	f := folder(filepath.Join(t.TempDir(), "i", "c"))
	if err := os.MkdirAll(filepath.Join(f.state(), "i.c"), 0o700); err != nil {
		t.Fatal(err)
	}
	if state != "" {
		if err := os.WriteFile(filepath.Join(f.state(), "i.c", "state.json"), []byte(state), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestTheProcessOfAState(t *testing.T) {
	for name, tt := range map[string]struct {
		state string
		want  process
		fails bool
	}{
		"as runc writes it": {`{"id":"i.c","init_process_pid":42,"init_process_start":1234567,"created":"x","config":{"a":[1]}} junk`, process{42, "1234567"}, false},
		"in another order":  {`{"config":{"init_process_pid":7},"init_process_start":9,"x":null,"init_process_pid":8}`, process{8, "9"}, false},
		"without it":        {`{"id":"i.c"}`, process{}, true},
		"of another type":   {`{"init_process_pid":"42","init_process_start":1}`, process{}, true},
		"cut off":           {`{"init_process_pid":42,`, process{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := stateFolder(t, tt.state).process()
			if got != tt.want || (err != nil) != tt.fails || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %v %v, want %v", got, err, tt.want)
			}
		})
	}
	if _, err := stateFolder(t, "").process(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no state: got %v, want %v", err, fs.ErrNotExist)
	}
}

// A runc that is killed while it mounts itself, to be a copy that no cell can write to, leaves that.
func TestAFolderWithAMountInIt(t *testing.T) {
	testutil.Require(t, "linux")
	testutil.Require(t, "root")
	f := stateFolder(t, "{}")
	point := filepath.Join(f.state(), "i.c", "runc.abc123")
	if err := os.WriteFile(point, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("/proc/self/exe", point, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_DETACH) }) // what is left of a failure
	if err := f.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(string(f)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	if _, err := os.Stat("/proc/self/exe"); err != nil {
		t.Error(err)
	}
}
