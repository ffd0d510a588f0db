package integration

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	supervisors "github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/internal/testutil"
)

// binary is the product as people run it: built here, with the runner that `make build` embedded.
func binary(t *testing.T) string {
	t.Helper()
	testutil.Require(t, "docker")
	testutil.Require(t, "image-python")
	if built, _ := filepath.Glob("../cmd/hotcell/embed/hotcell-runner-*"); len(built) == 0 {
		t.Fatal("no runner is built: run 'make build' first")
	}
	return testutil.GoBuild(t, "github.com/hotcell/hotcell/cmd/hotcell")
}

// ran is what a command said and how it ended.
type ran struct {
	stdout, stderr string
	exit           int
}

// command runs the binary in an empty folder with a data folder of its own.
func command(t *testing.T, bin, stdin string, args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOTCELL__DATA_DIR="+filepath.Join(dir, "data"), "HOTCELL__SOCKET="+filepath.Join(dir, "s"))
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", args, err)
	}
	return ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// daemon is a running `hotcell serve`.
type daemon struct {
	cmd    *exec.Cmd
	dir    string
	socket string
	url    string
	stderr *bytes.Buffer
	read   chan struct{} // closed once stderr has ended
}

// serve starts the daemon and waits until it says that it is ready. It is stopped at the test's end.
func serve(t *testing.T, bin string, env ...string) *daemon {
	t.Helper()
	return serveIn(t, t.TempDir(), bin, env...)
}

// serveIn is serve with the data folder and the socket of the daemon that was in dir before.
func serveIn(t *testing.T, dir, bin string, env ...string) *daemon {
	t.Helper()
	d := &daemon{dir: dir, socket: filepath.Join(dir, "s"), stderr: &bytes.Buffer{}, read: make(chan struct{})}
	d.cmd = exec.Command(bin, "serve", "--socket", d.socket, "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"))
	d.cmd.Dir = dir
	d.cmd.Env = append(append(os.Environ(), "HOTCELL__READINESS__CANARY=0"), env...)
	pipe, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	go func() {
		defer close(d.read)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			d.stderr.WriteString(lines.Text() + "\n")
			if _, rest, ok := strings.Cut(lines.Text(), "ready: "); ok {
				url, _, _ := strings.Cut(rest, " ")
				ready <- url
			}
		}
	}()
	t.Cleanup(func() { d.stop(t) })
	select {
	case d.url = <-ready:
	case <-d.read:
		t.Fatalf("the daemon did not start: %s", d.stderr)
	case <-time.After(30 * time.Second):
		t.Fatal("the daemon is not ready after 30 s")
	}
	return d
}

// kill is kill -9. What the daemon left is there when it returns.
func (d *daemon) kill(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	<-d.read
	_ = d.cmd.Wait() // killed
}

// instances returns the ids of the supervisors that have a file in the daemon's data folder, by whether they live.
func (d *daemon) instances(t *testing.T) map[string]bool {
	t.Helper()
	all, err := supervisors.List(filepath.Join(d.dir, "data", "instances"))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, info := range all {
		ids[info.Instance] = info.Alive
	}
	return ids
}

// id returns the id of the running daemon.
func (d *daemon) id(t *testing.T) string {
	t.Helper()
	for id, alive := range d.instances(t) {
		if alive {
			return id
		}
	}
	t.Fatal("no instance lives")
	return ""
}

// stop asks the daemon to end and waits for it.
func (d *daemon) stop(t *testing.T) {
	t.Helper()
	if d.cmd.ProcessState != nil {
		return
	}
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	kill := time.AfterFunc(90*time.Second, func() { _ = d.cmd.Process.Kill() })
	defer kill.Stop()
	<-d.read
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("the daemon ended with %v: %s", err, d.stderr)
	}
	if _, err := os.Stat(d.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}
