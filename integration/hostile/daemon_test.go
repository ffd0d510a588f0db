package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/rest"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/docker"
)

// product builds hotcell as people run it, with the runner that `make build` embedded.
func product(t *testing.T) string {
	t.Helper()
	testutil.Require(t, "docker")
	testutil.Require(t, "image-python")
	if built, _ := filepath.Glob("../../cmd/hotcell/embed/hotcell-runner-*"); len(built) == 0 {
		t.Fatal("no runner is built: run 'make build' first")
	}
	return testutil.GoBuild(t, "github.com/hotcell/hotcell/cmd/hotcell")
}

// folderOf writes the skills of the rows below a new folder.
func folderOf(t *testing.T, rows []row) string {
	t.Helper()
	program, err := os.ReadFile(testutil.GoBuild(t, "github.com/hotcell/hotcell/integration/hostile/skillbomb"))
	if err != nil {
		t.Fatal(err)
	}
	all, dir := skillsOf(rows, program), t.TempDir()
	err = fs.WalkDir(all, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(all, name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, data, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// daemon is a running `hotcell serve`.
type daemon struct {
	cmd     *exec.Cmd
	socket  string
	control *rest.Client
	silent  chan struct{} // closed once its stderr has ended
	said    strings.Builder

	instance string // of what it makes on the engine; "" until a cell of its has been seen
}

// startDaemon starts hotcell with the skills of the rows, and stops it at the test's end.
func startDaemon(t *testing.T, rows []row, env ...string) *daemon {
	t.Helper()
	dir := t.TempDir()
	d := &daemon{socket: filepath.Join(dir, "s"), silent: make(chan struct{})}
	d.cmd = exec.Command(product(t), "serve", "--socket", d.socket, "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"))
	d.cmd.Dir = dir
	d.cmd.Env = append(append(os.Environ(), "HOTCELL__READINESS__CANARY=0", "HOTCELL_SKILLS="+folderOf(t, append(rows, row{args: []string{"sleep"}}))), env...)
	pipe, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.stop(t); d.removeVolumes(t) })
	ready := make(chan string, 1)
	go func() {
		defer close(d.silent)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			d.said.WriteString(lines.Text() + "\n")
			if _, rest, ok := strings.Cut(lines.Text(), "ready: "); ok {
				url, _, _ := strings.Cut(rest, " ")
				ready <- url
			}
		}
	}()
	select {
	case url := <-ready:
		if d.control, err = rest.NewClient(url, auth.Secret{}); err != nil {
			t.Fatal(err)
		}
	case <-d.silent:
		t.Fatalf("the daemon did not start: %s", d.said.String())
	case <-time.After(time.Minute):
		t.Fatal("the daemon is not ready after a minute")
	}
	return d
}

func (d *daemon) stop(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	kill := time.AfterFunc(2*time.Minute, func() { _ = d.cmd.Process.Kill() })
	defer kill.Stop()
	<-d.silent
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("the daemon ended with %v: %s", err, d.said.String())
	}
}

func (d *daemon) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", d.socket)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// send makes a row's call and reads nothing.
func (d *daemon) send(t *testing.T, r *row, id string) net.Conn {
	t.Helper()
	req := r.request(nil)
	req.ID = id
	conn := d.dial(t)
	if err := a2e.NewEncoder(conn).Encode(req); err != nil {
		t.Fatal(err)
	}
	return conn
}

// ask makes a row's call and returns the answer.
func (d *daemon) ask(t *testing.T, r *row, id string) *a2e.CallResponse {
	t.Helper()
	conn := d.send(t, r, id)
	defer conn.Close()
	for lines := json.NewDecoder(conn); ; {
		var raw json.RawMessage
		if err := lines.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		var answer a2e.CallResponse
		if err := json.Unmarshal(raw, &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Type == a2e.TypeCallResponse {
			return &answer
		}
	}
}

// look finds out by a running cell of the daemon's under which name it makes things.
func (d *daemon) look(t *testing.T, calls []control.Call) {
	t.Helper()
	onEngine(t, func(ctx context.Context, driver *docker.Driver) {
		all, err := driver.List(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			if l.Kind == "cell" && slices.ContainsFunc(calls, func(c control.Call) bool { return c.ID == l.Labels[sandbox.LabelCall] }) {
				d.instance = l.Labels[sandbox.LabelInstance]
			}
		}
	})
}

// removeVolumes removes what the daemon's skills left on the engine as a cache. The runner may serve cells of others.
func (d *daemon) removeVolumes(t *testing.T) {
	t.Helper()
	if d.instance == "" {
		t.Error("no cell of the daemon's was seen")
		return
	}
	onEngine(t, func(ctx context.Context, driver *docker.Driver) {
		all, err := driver.List(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			if l.Labels[sandbox.LabelInstance] != d.instance {
				continue
			}
			if err := driver.Remove(ctx, l.ID); l.Kind != "volume" || (err != nil && !strings.Contains(l.ID, "-runner-")) {
				t.Errorf("the daemon left the %s %s behind: %v", l.Kind, l.ID, err)
			}
		}
	})
}

func onEngine(t *testing.T, do func(context.Context, *docker.Driver)) {
	t.Helper()
	driver, err := docker.New(docker.Options{Instance: instance})
	if err != nil {
		t.Fatal(err)
	}
	defer driver.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	do(ctx, driver)
}
