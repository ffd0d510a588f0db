package doctor

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes a file below root, with its folders.
func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestLookAround(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/sys/kernel/osrelease", "6.18.44\n")
	write(t, root, "proc/sys/kernel/hostname", "vm\n")
	write(t, root, "proc/sys/kernel/core_pattern", "|/bin/dump %p\n")
	write(t, root, "proc/self/status", "Name:\tx\nCapBnd:\t000001fffeffffff\n")
	write(t, root, "etc/passwd", "root:x:0:0::/:/bin/sh\nbroken\neve:x:65700:1::/:/bin/sh\nmax:x:66600:1::/:/bin/sh\n")
	set := Settings{MinUID: 65600, MaxUID: 66599, DataDir: filepath.Join(root, "not/there/yet"), Socket: filepath.Join(root, "run/s")}
	h := LookAround(t.Context(), root, set, root)
	want := Host{
		Name: "vm", Kernel: "6.18.44", UID: os.Geteuid(), CorePattern: "|/bin/dump %p", Users: []string{"eve (65700)"},
		Data: Folder{Writable: true}, Socket: Socket{Usable: true},
	}
	if h.Engine.Total == 0 || h.Data.Space.Total == 0 {
		t.Errorf("no word of free space: %+v", h)
	}
	h.Engine, h.Data.Space = Space{}, Space{}
	if d := cmp.Diff(want, h); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if left, _ := os.ReadDir(filepath.Join(root, "not")); left != nil {
		t.Error("looking made a folder")
	}
}

func TestSockets(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	if s := lookAtSocket(t.Context(), path); s != (Socket{Usable: true}) {
		t.Errorf("nothing there: %+v", s)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if s := lookAtSocket(t.Context(), path); s != (Socket{Exists: true, IsSocket: true, Answers: true, Usable: true, OpenToAll: true}) {
		t.Errorf("somebody listens: %+v", s)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if s := lookAtSocket(t.Context(), path); s.Answers || !s.Exists {
		t.Errorf("left behind: %+v", s)
	}
	write(t, dir, "file", "")
	if s := lookAtSocket(t.Context(), filepath.Join(dir, "file")); s != (Socket{Exists: true, Usable: true}) {
		t.Errorf("a file: %+v", s)
	}
	if s := lookAtSocket(t.Context(), filepath.Join(dir, "file", "s")); s.Usable || s.Why == "" {
		t.Errorf("below a file: %+v", s)
	}
}

func TestFolders(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "file", "")
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	f := lookAtFolder(dir)
	if !f.Exists || f.Mode != 0o777 || !f.Writable || f.UID != os.Geteuid() || f.Space.Total == 0 {
		t.Errorf("%+v", f)
	}
	if f := lookAtFolder(filepath.Join(dir, "file")); f.Writable || f.Why != "it is not a folder" {
		t.Errorf("a file: %+v", f)
	}
	if f := lookAtFolder(filepath.Join(dir, "file", "sub")); f.Writable || f.Why == "" {
		t.Errorf("below a file: %+v", f)
	}
	if f := lookAtFolder("/proc/none"); f.Writable && os.Geteuid() != 0 {
		t.Errorf("in /proc: %+v", f)
	}
}
