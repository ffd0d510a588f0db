package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
)

// privateEngine is a dockerd of a test's own: its data, its containerd, its sockets and its containers are in one folder,
// and it makes no network. The machine's own engine is not touched.
type privateEngine struct {
	dir    string
	log    *os.File
	cmd    *exec.Cmd
	exited chan struct{}
}

// newPrivateEngine starts one, which ends with the test and leaves nothing.
func newPrivateEngine(t *testing.T) *privateEngine {
	t.Helper()
	for _, part := range []string{"linux", "root", "docker", "dockerd"} {
		testutil.Require(t, part)
	}
	dir, err := os.MkdirTemp("", "hcd") // short: sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	e := &privateEngine{dir: dir}
	t.Cleanup(func() { e.remove(t) })
	if e.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "daemon.json"), []byte("{}"), 0o600); err != nil { // not the machine's own
		t.Fatal(err)
	}
	e.start(t)
	return e
}

func (e *privateEngine) socket() string { return filepath.Join(e.dir, "sock") }
func (e *privateEngine) host() string   { return "unix://" + e.socket() }

// start starts the engine and waits until it answers.
func (e *privateEngine) start(t *testing.T) {
	t.Helper()
	pidfile := filepath.Join(e.dir, "pid")
	e.clear(t, pidfile)
	e.cmd = exec.Command("dockerd", "--config-file="+filepath.Join(e.dir, "daemon.json"), "--data-root="+filepath.Join(e.dir, "data"), "--exec-root="+filepath.Join(e.dir, "run"),
		"--pidfile="+pidfile, "--host="+e.host(), "--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false",
		"--containerd-namespace=hcd", "--containerd-plugins-namespace=hcd-plugins")
	e.cmd.Stdout, e.cmd.Stderr = e.log, e.log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	e.exited = exited
	cmd := e.cmd
	go func() { _ = cmd.Wait(); close(exited) }()
	testutil.Poll(t, hang, func() bool {
		select {
		case <-exited:
			t.Fatalf("dockerd ended:\n%s", e.tail())
		default:
		}
		return e.answers()
	})
}

// clear takes away what an engine that was killed leaves in its successor's way: a containerd that ends with it, and files
// with process numbers that may be another's by now, or a corpse's.
func (e *privateEngine) clear(t *testing.T, pidfile string) {
	t.Helper()
	testutil.Poll(t, hang, func() bool {
		left := 0
		for _, pid := range processesOf(e.dir) {
			comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			if strings.TrimSpace(string(comm)) == "containerd" {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				left++
			}
		}
		return left == 0
	})
	_ = os.Remove(pidfile)
	_ = os.Remove(filepath.Join(e.dir, "run", "containerd", "containerd.pid"))
}

func (e *privateEngine) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, "docker", "--host="+e.host(), "version").Run() == nil
}

// tail is the end of the engine's log.
func (e *privateEngine) tail() string {
	b, err := os.ReadFile(e.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-3000):])
}

// end sends a signal and waits for the engine's end.
func (e *privateEngine) end(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := e.cmd.Process.Signal(sig); err != nil {
		t.Errorf("signal to dockerd: %v", err)
	}
	select {
	case <-e.exited:
	case <-time.After(hang):
		t.Errorf("dockerd did not end by signal %d:\n%s", sig, e.tail())
	}
}

// importImage makes an image of one static program.
func (e *privateEngine) importImage(t *testing.T, tag, program string) {
	t.Helper()
	tar := exec.CommandContext(t.Context(), "tar", "-C", filepath.Dir(program), "-c", filepath.Base(program))
	layer, err := tar.Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "docker", "--host="+e.host(), "import", "-", tag)
	cmd.Stdin = bytes.NewReader(layer)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("docker import: %v\n%s", err, out)
	}
}

// remove ends the engine and all that it started, and takes its mounts and files away.
func (e *privateEngine) remove(t *testing.T) {
	if e.cmd != nil && e.cmd.Process != nil {
		_ = e.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-e.exited:
		case <-time.After(30 * time.Second):
			_ = e.cmd.Process.Kill()
			<-e.exited
		}
	}
	if e.log != nil {
		_ = e.log.Close()
	}
	testutil.Poll(t, hang, func() bool {
		pids := processesOf(e.dir)
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(pids) == 0
	})
	for _, mount := range mountsBelow(e.dir) {
		_ = syscall.Unmount(mount, syscall.MNT_DETACH)
	}
	if err := os.RemoveAll(e.dir); err != nil {
		t.Errorf("the engine's folder: %v", err)
	}
	if left := mountsBelow(e.dir); len(left) > 0 {
		t.Errorf("mounts left behind: %v", left)
	}
}

// processesOf finds the containerd and the shims that an engine which was killed left: they name its folder.
func processesOf(dir string) []int {
	var pids []int
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range procs {
		args, err := os.ReadFile(p)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
		if err == nil && pid != os.Getpid() && bytes.Contains(args, []byte(dir+"/")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// mountsBelow lists the mount points in a folder, the innermost first.
func mountsBelow(dir string) []string {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var mounts []string
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], dir+"/") {
			mounts = append(mounts, f[4])
		}
	}
	slices.Reverse(mounts)
	return mounts
}

// refuses reports whether nobody listens at the engine's socket.
func (e *privateEngine) refuses() bool {
	conn, err := net.Dial("unix", e.socket())
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist)
}
