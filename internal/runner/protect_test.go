package runner

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/internal/wall"
)

// TestProtectedRunner runs a runner as a process of its own, whose skill sends it every signal that can be caught.
func TestProtectedRunner(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{wall.DirWorkspace, wall.DirRun} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0], "sh", "-c", `
		for s in $(seq 1 64); do case $s in 9|17|19|23|32|33|34) ;; *) kill -$s $PPID ;; esac; done
		kill -0 $PPID && echo alive
		trap | grep -c . || true`)
	cmd.Env = append(os.Environ(), envBe+"="+root)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	var result wall.Result
	ready := 0
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		switch wall.TypeOf(lines.Bytes()) {
		case wall.TypeReady:
			ready = countThreads(t, cmd.Process.Pid)
			_, err = stdin.Write([]byte(request + "\n"))
		case wall.TypeResult:
			result, err = wall.DecodeResult(lines.Bytes())
		case wall.TypeExit:
			if n := countThreads(t, cmd.Process.Pid); n != ready {
				t.Errorf("%d threads at the start, %d at the end: it needed more than it had made ready", ready, n)
			}
			_, err = stdin.Write([]byte(`{"type":"cell/done"}` + "\n"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the runner ended with %v: %s", err, stderr.String())
	}
	if string(result.Data) != `"alive\n0"` {
		t.Errorf("data = %s", result.Data)
	}
}

// TestPortsNeedNoThread: the Go runtime may start no thread for what the ports do, since the cell may have none left.
func TestPortsNeedNoThread(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{wall.DirWorkspace, wall.DirRun} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	port := freePort(t)
	cmd := exec.Command(os.Args[0], "sleep", "60")
	cmd.Env = append(os.Environ(), envBe+"="+root, envPort+"="+strconv.Itoa(port))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	say := wall.NewWriter(stdin)
	c := &cell{t: t, root: root, say: say, host: wall.NewTunnel(say, wall.TunnelOptions{Ports: []string{portGranted}})}
	ready := make(chan bool, 1)
	heard := make(chan error, 1)
	go func() {
		lines := wall.NewReader(stdout, wall.MaxLine, wall.MaxLine)
		for {
			l, err := lines.Next()
			if err != nil {
				heard <- err
				return
			}
			switch kind := wall.TypeOf(l.Bytes); kind {
			case wall.TypeReady:
				ready <- true
			case wall.TypeOpen, wall.TypeData, wall.TypeCredit, wall.TypeClose:
				_ = c.host.Handle(kind, l.Bytes)
			}
		}
	}()
	<-ready
	before := countThreads(t, cmd.Process.Pid)
	c.begin(http.HandlerFunc(upper))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if code, _ := fetch(t, "http://127.0.0.1:"+strconv.Itoa(port), strings.NewReader(strings.Repeat("x", 100_000))); code != 200 {
				t.Errorf("status %d", code)
			}
		})
	}
	all.Wait()
	if n := countThreads(t, cmd.Process.Pid); n != before {
		t.Errorf("%d threads before, %d after", before, n)
	}
	stdin.Close()
	<-heard
	_ = cmd.Wait()
}

func TestSpareThreads(t *testing.T) {
	before := countThreads(t, os.Getpid())
	spareThreads(before + 5)
	if after := countThreads(t, os.Getpid()); after < before+5 {
		t.Errorf("%d threads before, %d after", before, after)
	}
}

func countThreads(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(tasks)
}
