package doors

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/internal/testutil"
)

// daemon is a running `hotcell serve` with the skills of the catalogue. Callers show a token, which makes them an agent that may
// use all of them but one.
type daemon struct {
	bin, dir    string
	socket, url string
	env         []string
	token       string
	http        *http.Client // with that token
	control     *http.Client // with an admin's
}

// bearer adds a token to each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

func with(token string) *http.Client {
	return &http.Client{Transport: bearer{token, &http.Transport{DisableKeepAlives: true, Proxy: nil}}}
}

// daemons are those that the tests share, so that there is one start, and one set of waiting cells, for all of them. TestMain
// stops them.
var daemons struct {
	sync.Mutex
	byAuth map[string]*daemon
	ends   []func() error // the newest first
}

// start returns the daemon that wants tokens.
func start(t *testing.T) *daemon {
	t.Helper()
	return shared(t, "token")
}

// startOpen returns the one that asks nobody who calls.
func startOpen(t *testing.T) *daemon {
	t.Helper()
	return shared(t, "none")
}

func shared(t *testing.T, auth string) *daemon {
	t.Helper()
	testutil.Require(t, "docker")
	testutil.Require(t, "image-python")
	if built, _ := filepath.Glob("../../cmd/hotcell/embed/hotcell-runner-*"); len(built) == 0 {
		t.Fatal("no runner is built: run 'make build' first")
	}
	daemons.Lock()
	defer daemons.Unlock()
	if d := daemons.byAuth[auth]; d != nil {
		return d
	}
	d, err := run(auth)
	if err == nil && auth == "token" {
		err = d.introduce(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if daemons.byAuth == nil {
		daemons.byAuth = map[string]*daemon{}
	}
	daemons.byAuth[auth] = d
	return d
}

// atEnd has something done when all tests have ended. The lock is held.
func atEnd(do func() error) { daemons.ends = slices.Insert(daemons.ends, 0, do) }

// stopAll stops the daemons.
func stopAll() (err error) {
	daemons.Lock()
	defer daemons.Unlock()
	for _, end := range daemons.ends {
		err = errors.Join(err, end())
	}
	return err
}

// program is hotcell, which is built once. The lock is held.
var program = sync.OnceValues(func() (string, error) {
	path, done, err := testutil.GoBuildForAll("github.com/hotcell/hotcell/cmd/hotcell")
	if err == nil {
		atEnd(done)
	}
	return path, err
})

// run starts a daemon, which [stopAll] stops.
func run(auth string) (*daemon, error) {
	bin, err := program()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "hotcell-doors-")
	if err != nil {
		return nil, err
	}
	atEnd(func() error { return os.RemoveAll(dir) })
	d := &daemon{bin: bin, dir: dir, socket: filepath.Join(dir, "s")}
	skills, err := folders(dir)
	if err != nil {
		return nil, err
	}
	d.env = slices.Clip(append(os.Environ(), "HOTCELL_SKILLS="+skills, "HOTCELL__POLICY__IMAGES__PULL=never",
		"HOTCELL__DATA_DIR="+filepath.Join(dir, "data"), "HOTCELL__AUTH__MODE="+auth))
	if auth == "none" {
		d.http = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil}}
		d.control = d.http
	}
	return d, d.serve()
}

// serve runs hotcell serve, and returns once it is ready.
func (d *daemon) serve() error {
	cmd := exec.Command(d.bin, "serve", "--socket", d.socket, "--listen", "127.0.0.1:0")
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
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
			if _, rest, ok := strings.Cut(lines.Text(), "ready: "); ok {
				at, _, _ := strings.Cut(rest, " ")
				ready <- at
			}
		}
	})
	atEnd(func() error {
		own, err := d.instances()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(90*time.Second, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		reading.Wait()
		err = errors.Join(err, cmd.Wait())
		for _, id := range own {
			if left := leftovers(id); len(left) > 0 {
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

// introduce makes the agent that calls, and puts the catalogue on its allowlist.
func (d *daemon) introduce(ctx context.Context) error {
	admin, err := d.tokenFor(ctx, "--principal", "root", "--scope", "admin,calls")
	if err != nil {
		return err
	}
	owner, err := d.tokenFor(ctx, "--principal", "alice", "--scope", "skills:read,skills:write")
	if err != nil {
		return err
	}
	d.control = with(admin)
	made := []struct{ method, path, body string }{{http.MethodPost, "/api/v1/agents", `{"name":"guest"}`}}
	for _, name := range catalogue() {
		made = append(made, struct{ method, path, body string }{http.MethodPut, "/api/v1/agents/guest/skills/" + name, "{}"})
	}
	for _, m := range made {
		if err := ask(ctx, with(owner), m.method, d.url+m.path, m.body, nil); err != nil {
			return err
		}
	}
	if d.token, err = d.tokenFor(ctx, "--principal", "alice", "--agent", "guest"); err != nil {
		return err
	}
	d.http = with(d.token)
	d.env = slices.Clip(append(d.env, "HOTCELL_TOKEN="+d.token))
	return nil
}

// tokenFor makes a token for the daemon.
func (d *daemon) tokenFor(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, d.bin, append([]string{"tokens", "create"}, args...)...)
	cmd.Dir, cmd.Env = d.dir, d.env
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("tokens create %v: %w", args, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// instances are the supervisors of the daemon's data folder.
func (d *daemon) instances() (ids []string, err error) {
	all, err := instance.List(filepath.Join(d.dir, "data", "instances"))
	for _, i := range all {
		ids = append(ids, i.Instance)
	}
	return ids, err
}

// ask makes a request of the daemon's control surface.
func (d *daemon) ask(ctx context.Context, method, path string, into any) error {
	return ask(ctx, d.control, method, d.url+path, "", into)
}

func ask(ctx context.Context, client *http.Client, method, url, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode/100 != 2:
		return fmt.Errorf("%s %s: %s %s", method, url, resp.Status, text)
	case into == nil:
		return nil
	}
	return json.Unmarshal(text, into)
}

func (d *daemon) cancel(ctx context.Context, id string) error {
	return d.ask(ctx, http.MethodDelete, "/v1/calls/"+url.PathEscape(id), nil)
}

// ended waits for the end of a call that nobody listens to any more, and returns what the journal says of it.
func (d *daemon) ended(ctx context.Context, id string) (outcome, error) {
	for {
		var shown struct{ Call control.Call }
		if err := d.ask(ctx, http.MethodGet, "/v1/calls/"+url.PathEscape(id), &shown); err != nil {
			return outcome{}, err
		}
		if shown.Call.State.Terminal() {
			return outcome{Code: string(shown.Call.Code), Reason: shown.Call.Reason}, nil
		}
		if err := pause(ctx); err != nil {
			return outcome{}, err
		}
	}
}

// running waits until a call runs.
func (d *daemon) running(ctx context.Context, id string) error {
	for {
		var shown struct{ Call control.Call }
		err := d.ask(ctx, http.MethodGet, "/v1/calls/"+url.PathEscape(id), &shown)
		switch {
		case err == nil && shown.Call.State.Terminal():
			return fmt.Errorf("the call ended as %s", shown.Call.State)
		case err == nil && shown.Call.State == control.Running && shown.Call.Events > 0:
			return nil
		}
		if err := pause(ctx); err != nil {
			return errors.Join(err)
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}

// fetched is the digest of each artifact of a call, as the REST door gives them.
func (d *daemon) fetched(ctx context.Context, id string) (map[string]string, error) {
	var list struct{ Artifacts []struct{ Name string } }
	base := "/v1/calls/" + url.PathEscape(id) + "/artifacts"
	if err := d.ask(ctx, http.MethodGet, base, &list); err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, a := range list.Artifacts {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+base+"/"+url.PathEscape(a.Name), nil)
		if err != nil {
			return nil, err
		}
		resp, err := d.http.Do(req)
		if err != nil {
			return nil, err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK {
			return nil, errors.Join(err, fmt.Errorf("artifact %q: %s", a.Name, resp.Status))
		}
		files[a.Name] = hex.EncodeToString(sum.Sum(nil))
	}
	return files, nil
}
