package fleet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	supervisors "github.com/hotcell/hotcell/internal/instance"
)

// Daemon is a running `hotcell serve`.
type Daemon struct {
	Cmd    *exec.Cmd
	Dir    string // in which its data folder and its socket are
	Socket string
	URL    string
	Stderr *bytes.Buffer
	Read   chan struct{} // closed once Stderr has ended
}

// Serve starts a daemon with the data folder and the socket of the one that was in dir before, and waits until it says that it is
// ready. It is stopped at the test's end.
func Serve(t *testing.T, dir, bin string, env ...string) *Daemon {
	t.Helper()
	d := &Daemon{Dir: dir, Socket: filepath.Join(dir, "s"), Stderr: &bytes.Buffer{}, Read: make(chan struct{})}
	d.Cmd = exec.Command(bin, "serve", "--socket", d.Socket, "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"))
	d.Cmd.Dir = dir
	d.Cmd.Env = append(append(os.Environ(), "HOTCELL__READINESS__CANARY=0"), env...)
	pipe, err := d.Cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	go func() {
		defer close(d.Read)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			d.Stderr.WriteString(lines.Text() + "\n")
			if _, rest, ok := strings.Cut(lines.Text(), "ready: "); ok {
				url, _, _ := strings.Cut(rest, " ")
				ready <- url
			}
		}
	}()
	t.Cleanup(func() { d.Stop(t) })
	select {
	case d.URL = <-ready:
	case <-d.Read:
		t.Fatalf("the daemon did not start: %s", d.Stderr)
	case <-time.After(time.Minute):
		t.Fatal("the daemon is not ready after a minute")
	}
	return d
}

// Kill is kill -9. What the daemon left is there when it returns.
func (d *Daemon) Kill(t *testing.T) {
	t.Helper()
	if err := d.Cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	<-d.Read
	_ = d.Cmd.Wait() // killed
}

// Instances returns the ids of the supervisors that have a file in the daemon's data folder, by whether they live.
func (d *Daemon) Instances(t *testing.T) map[string]bool {
	t.Helper()
	all, err := supervisors.List(filepath.Join(d.Dir, "data", "instances"))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, info := range all {
		ids[info.Instance] = info.Alive
	}
	return ids
}

// ID returns the id of the running daemon.
func (d *Daemon) ID(t *testing.T) string {
	t.Helper()
	for id, alive := range d.Instances(t) {
		if alive {
			return id
		}
	}
	t.Fatal("no instance lives")
	return ""
}

// Stop asks the daemon to end and waits for it.
func (d *Daemon) Stop(t *testing.T) {
	t.Helper()
	if d.Cmd.ProcessState != nil {
		return
	}
	if err := d.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	kill := time.AfterFunc(90*time.Second, func() { _ = d.Cmd.Process.Kill() })
	defer kill.Stop()
	<-d.Read
	if err := d.Cmd.Wait(); err != nil {
		t.Errorf("the daemon ended with %v: %s", err, d.Stderr)
	}
	if _, err := os.Stat(d.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// Call sends one request over the daemon's socket and returns the answer, with the number of events before it.
func (d *Daemon) Call(line string) (*a2e.CallResponse, int, error) {
	conn, err := net.Dial("unix", d.Socket)
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		return nil, 0, err
	}
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return nil, 0, err
	}
	events := 0
	for lines := json.NewDecoder(conn); ; {
		var raw json.RawMessage
		if err := lines.Decode(&raw); err != nil {
			return nil, events, err
		}
		var head a2e.Header
		if err := json.Unmarshal(raw, &head); err != nil {
			return nil, events, err
		}
		switch head.Type {
		case a2e.TypeEvent:
			events++
		case a2e.TypeCallResponse:
			var answer a2e.CallResponse
			return &answer, events, json.Unmarshal(raw, &answer)
		default:
			return nil, events, fmt.Errorf("unexpected %s", raw)
		}
	}
}

// Get returns what is at an address of a daemon.
func Get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
