package faults

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/testutil"
)

// A child is killed for its memory and the skill lives: the result stands, and the call knows of the child.
func TestTrap11ChildOutOfMemory(t *testing.T) {
	script := `import json, subprocess, sys
child = subprocess.call([sys.executable, "-c", "b = []\nwhile True: b.append(bytearray(1 << 20))"])
print(json.dumps({"type": "skill/result", "success": True, "data": child}))
`
	b := newBench(t, rig.PythonSkill("outlives", "limits: {memory: 64Mi}\n", script), nil)
	answer := b.call(t, "outlives", 60)
	expect(t, answer, "ok")
	if got := data(t, answer); got != float64(-9) {
		t.Errorf("the child ended with %v, want signal 9", got)
	}
	view, _, err := b.Show(t.Context(), answer.ID)
	if err != nil || view.Notes["oom_child"] != true {
		t.Errorf("notes %v, %v; want the child in them", view.Notes, err)
	}
}

// An image that brings the cell's folders along, closed to all but root, closes none of them.
func TestTrap19FoldersOfTheImage(t *testing.T) {
	testutil.Require(t, "docker")
	tag := fmt.Sprintf("hotcell-test/folders:%d", os.Getpid())
	program := testutil.GoBuild(t, "./testdata/waiter")
	importRoot(t, tag, program, "workspace", "out", "tmp", "run/hotcell", "skill", "hotcell")
	yaml := "run: {image: '" + tag + "', command: [/program, write, /workspace, /out]}\n"
	b := newBench(t, rig.PythonSkill("writes", yaml, ""), nil)
	answer := b.call(t, "writes", 60)
	expect(t, answer, "ok")
	if got := data(t, answer); got != "written" {
		t.Errorf("got %v", got)
	}
}

// importRoot makes an image of one program and folders that only root may write to. It is removed when the test ends.
func importRoot(t *testing.T, tag, program string, folders ...string) {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	headers := []tar.Header{{Name: "program", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}}
	for _, f := range folders {
		headers = append(headers, tar.Header{Name: f + "/", Typeflag: tar.TypeDir, Mode: 0o755})
	}
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write(content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "docker", "import", "-", tag)
	cmd.Stdin = &layer
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("docker import: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.Background(), "docker", "rmi", tag).CombinedOutput(); err != nil {
			t.Errorf("docker rmi: %v\n%s", err, out)
		}
	})
}

// A cell has its own empty network: one interface, no resolver, no way to anybody.
func TestTrap21NoNetwork(t *testing.T) {
	script := `import json, os, socket
def reach(family, kind, to):
    try:
        with socket.socket(family, kind) as s:
            s.settimeout(3)
            s.connect(to)
            s.send(b"x")
        return "reached"
    except OSError as e:
        return os.strerror(e.errno) if e.errno else e.__class__.__name__
def read(path):
    try:
        return open(path).read()
    except OSError:
        return ""
print(json.dumps({
    "interfaces": [n for _, n in socket.if_nameindex()],
    "space": os.readlink("/proc/self/ns/net"),
    "resolver": read("/etc/resolv.conf"),
    "routes": read("/proc/net/route").splitlines()[1:],
    "reached": [str(to) for family, kind, to in (
        (socket.AF_INET, socket.SOCK_STREAM, ("172.17.0.1", 22)), (socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80)),
        (socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53)), (socket.AF_INET6, socket.SOCK_DGRAM, ("2001:db8::1", 53)),
        (socket.AF_UNIX, socket.SOCK_STREAM, "/var/run/docker.sock"), (socket.AF_UNIX, socket.SOCK_STREAM, "\0containerd"),
    ) if reach(family, kind, to) == "reached"],
}))
`
	b := newBench(t, rig.PythonSkill("looks", "", script), nil)
	answer := b.call(t, "looks", 60)
	expect(t, answer, "ok")
	said := data(t, answer).(map[string]any)
	if fmt.Sprint(said["interfaces"]) != "[lo]" || fmt.Sprint(said["routes"]) != "[]" || fmt.Sprint(said["reached"]) != "[]" || said["resolver"] != "" {
		t.Errorf("inside: %v", said)
	}
	if host, err := os.Readlink("/proc/self/ns/net"); err == nil && said["space"] == host {
		t.Error("the cell shares this process's network")
	}
}
