package console

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/docker"
)

// daemon is a running `hotcell serve`.
type daemon struct {
	bin, dir string
	url      string
	env      []string
	tokens   map[string]string // by the name of who has it; none where nobody is asked
	seeded   *seeded
}

// cells is how many calls a daemon runs at once: few, so that a queue is soon made.
const cells = 3

// open is the daemon that asks nobody who calls, with all calls behind it.
func openDaemon(t *testing.T) *daemon { return shared(t, startOpen) }

// guarded is the one that wants tokens.
func guardedDaemon(t *testing.T) *daemon { return shared(t, startGuarded) }

func shared(t *testing.T, start func() (*daemon, error)) *daemon {
	t.Helper()
	testutil.Require(t, "docker")
	testutil.Require(t, "image-python")
	if built, _ := filepath.Glob("../../cmd/hotcell/embed/hotcell-runner-*"); len(built) == 0 {
		t.Fatal("no runner is built: run 'make build' first")
	}
	d, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var startOpen = sync.OnceValues(func() (*daemon, error) {
	d, err := run("none")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	d.seeded, err = d.seed(ctx)
	return d, err
})

// principals are who has a token at the guarded daemon, and what `hotcell tokens create` is told of them.
func principals() map[string][]string {
	return map[string][]string{
		"root":   {"--principal", "root", "--scope", "admin,calls"},
		"alice":  {"--principal", "alice", "--scope", "calls,skills:read,skills:write"},
		"bob":    {"--principal", "bob", "--scope", "calls"},
		"reader": {"--principal", "reader", "--scope", "skills:read"},
		"scribe": {"--principal", "alice", "--agent", "scribe"},
	}
}

var startGuarded = sync.OnceValues(func() (*daemon, error) {
	d, err := run("token")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	d.tokens = map[string]string{}
	for _, name := range []string{"root", "alice", "bob", "reader"} {
		if d.tokens[name], err = d.tokenFor(ctx, principals()[name]...); err != nil {
			return nil, err
		}
	}
	if err := d.as("alice").ask(ctx, http.MethodPost, "/api/v1/agents", map[string]any{"name": "scribe"}, nil); err != nil {
		return nil, err
	}
	if d.tokens["scribe"], err = d.tokenFor(ctx, principals()["scribe"]...); err != nil {
		return nil, err
	}
	d.seeded, err = d.seedGuarded(ctx)
	return d, err
})

// program is hotcell, which is built once.
var program = sync.OnceValues(func() (string, error) {
	path, done, err := testutil.GoBuildForAll("github.com/hotcell/hotcell/cmd/hotcell")
	if err == nil {
		atEnd(done)
	}
	return path, err
})

// run starts a daemon, which is stopped when all tests have ended.
func run(auth string) (*daemon, error) {
	bin, err := program()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "hotcell-console-")
	if err != nil {
		return nil, err
	}
	atEnd(func() error { return os.RemoveAll(dir) })
	if err := folders(filepath.Join(dir, "skills")); err != nil {
		return nil, err
	}
	model, err := recite()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "hotcell.yaml"), []byte(configuration(auth, model)), 0o600); err != nil {
		return nil, err
	}
	d := &daemon{bin: bin, dir: dir, env: slices.Clip(append(os.Environ(), "HOTCELL_CONFIG=", "HOTCELL_SKILLS="))}
	return d, d.serve()
}

func configuration(auth, model string) string {
	return fmt.Sprintf(`listen: 127.0.0.1:0
data_dir: data
skills: {dirs: [skills]}
sandbox: {driver: docker, max_cells: %d}
pool: {max: 0}
policy:
  network: {allow: ["allowed.example:443"]}
  images: {pull: never}
llm:
  providers: [{name: recital, kind: openai-compatible, base_url: %s, models: [recital], prices: [{models: ["*"], input: 2, output: 8}]}]
auth: {mode: %s}
approvals: {delete: true}
readiness: {canary: "0"}
`, cells, model, auth)
}

// serve runs hotcell serve, and returns once it is ready.
func (d *daemon) serve() error {
	cmd := exec.Command(d.bin, "serve", "--config", "hotcell.yaml", "--socket", filepath.Join(d.dir, "s"))
	cmd.Dir, cmd.Env = d.dir, d.env
	var said bytes.Buffer
	ready, ended := make(chan string, 1), make(chan struct{})
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(ended)
		lines := bufio.NewScanner(pipe)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			said.WriteString(lines.Text() + "\n")
			if _, rest, ok := strings.Cut(lines.Text(), "ready: "); ok {
				at, _, _ := strings.Cut(rest, " ")
				ready <- at
			}
		}
		_, _ = io.Copy(io.Discard, pipe)
	})
	atEnd(func() error {
		own, err := instance.List(filepath.Join(d.dir, "data", "instances"))
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(90*time.Second, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		reading.Wait()
		err = errors.Join(err, cmd.Wait())
		for _, i := range own {
			if left := leftovers(i.Instance); len(left) > 0 {
				err = errors.Join(err, fmt.Errorf("left behind: %v", left))
			}
		}
		if err != nil {
			return fmt.Errorf("the daemon ended with %w\nit said: %s", err, said.String())
		}
		return nil
	})
	select {
	case d.url = <-ready:
		return nil
	case <-ended:
		return fmt.Errorf("the daemon did not start: %s", said.String())
	case <-time.After(time.Minute):
		return errors.New("the daemon is not ready after a minute")
	}
}

// tokenFor makes a token for the daemon.
func (d *daemon) tokenFor(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, d.bin, append([]string{"tokens", "create", "--config", "hotcell.yaml"}, args...)...)
	cmd.Dir, cmd.Env = d.dir, d.env
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("tokens create %v: %w", args, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// leftovers are the cells and networks of a daemon that are still on the engine. Volumes are a cache by content.
func leftovers(instance string) (found []string) {
	driver, err := docker.New(docker.Options{Instance: instance})
	if err != nil {
		return nil
	}
	defer driver.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	all, err := driver.List(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	for _, l := range all {
		if l.Labels[sandbox.LabelInstance] == instance && l.Kind != "volume" {
			found = append(found, l.Kind+" "+l.Name)
		}
	}
	return found
}
