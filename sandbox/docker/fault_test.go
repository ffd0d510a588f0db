package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// makeCell creates a cell that is destroyed when the test ends.
func makeCell(t *testing.T, d *Driver) sandbox.Sandbox {
	t.Helper()
	c, err := d.Create(t.Context(), testSpec())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := c.Destroy(ctx); err != nil {
			t.Errorf("destroy: %v", err)
		}
	})
	return c
}

func readAll(c sandbox.Sandbox) (string, error) {
	data, err := io.ReadAll(c.Stdio().Stdout)
	return string(data), err
}

// The condition is next-exit: this engine answers any other at once, with code 0.
func TestWaitCondition(t *testing.T) {
	e := newEngine(t)
	e.main = func(stdin io.Reader, stdout io.Writer) int {
		_, _ = io.Copy(io.Discard, stdin)
		_, _ = io.WriteString(stdout, frame(1, "hello\n"))
		return 7
	}
	c := makeCell(t, e.driver(t, Timeouts{}))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Stdio().Stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := readAll(c); out != "hello\n" || err != nil {
		t.Errorf("stdout %q, %v", out, err)
	}
	if exit, err := c.Wait(t.Context()); err != nil || exit.Code != 7 {
		t.Errorf("got %+v, %v", exit, err)
	}
}

// An attach that is never answered ends with its deadline, and closes its connection.
func TestAttachNeverAnswered(t *testing.T) {
	for name, tt := range map[string]struct {
		limit, caller time.Duration
		want          error
	}{
		"own deadline":      {50 * time.Millisecond, time.Minute, sandbox.ErrUnavailable},
		"caller's deadline": {time.Minute, 50 * time.Millisecond, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			closed := make(chan error, 1)
			e.replace("POST /containers/{id}/attach", func(w http.ResponseWriter, _ *http.Request) {
				conn := hijack(t, w)
				_, err := conn.Read(make([]byte, 1))
				closed <- err
				_ = conn.Close()
			})
			c := makeCell(t, e.driver(t, Timeouts{Attach: tt.limit}))
			ctx, cancel := context.WithTimeout(t.Context(), tt.caller)
			defer cancel()
			begin := time.Now()
			if err := c.Start(ctx); !errors.Is(err, tt.want) {
				t.Errorf("start: %v, want %v", err, tt.want)
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("start took %v", took)
			}
			if err := <-closed; err != io.EOF {
				t.Errorf("the connection: %v", err)
			}
			if e.asked("POST /containers/{id}/start") != 0 {
				t.Error("the cell started without streams")
			}
		})
	}
}

func TestAttachRefused(t *testing.T) {
	e := newEngine(t)
	e.replace("POST /containers/{id}/attach", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, 409, "container is paused,\nunpause the container before attach")
	})
	c := makeCell(t, e.driver(t, Timeouts{}))
	err := c.Start(t.Context())
	if !errors.Is(err, sandbox.ErrUnavailable) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "is paused") {
		t.Errorf("start: %v", err)
	}
}

// A failed start is read from its text, and leaves no waiter.
func TestStartFails(t *testing.T) {
	for text, want := range map[string]sandbox.StartError{
		`OCI runtime create failed: runc create failed: exec: "/x": permission denied: unknown`: {ExitCode: 126},
		`OCI runtime create failed: exec: "x": executable file not found in $PATH: unknown`:     {ExitCode: 127},
		`failed to create shim: container init was OOM-killed (memory limit too low?)`:          {OOM: true},
		`something else`: {},
	} {
		t.Run(text, func(t *testing.T) {
			e := newEngine(t)
			waiting := make(chan struct{})
			e.replace("POST /containers/{id}/wait", func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(200)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				close(waiting)
			})
			e.replace("POST /containers/{id}/start", func(w http.ResponseWriter, _ *http.Request) { fail(w, 400, text) })
			c := makeCell(t, e.driver(t, Timeouts{}))
			err := c.Start(t.Context())
			var start *sandbox.StartError
			if !errors.As(err, &start) {
				t.Fatalf("start: %v", err)
			}
			want.Message = text
			if *start != want {
				t.Errorf("got %+v, want %+v", *start, want)
			}
			<-waiting // the engine sees the wait end
			if _, err := c.Wait(t.Context()); !errors.Is(err, sandbox.ErrStartFailed) {
				t.Errorf("wait: %v", err)
			}
			if _, err := readAll(c); err != io.ErrUnexpectedEOF {
				t.Errorf("stdout: %v", err)
			}
		})
	}
}

// Streams that break off never end with io.EOF, though the exit code is 0.
func TestCutStreams(t *testing.T) {
	for name, tt := range map[string]struct{ frames, want string }{
		"in a payload":    {frame(1, "whole\n") + frame(1, "half a line")[:12], "whole\nhalf"},
		"in a header":     {frame(1, "whole\n") + "\x01\x00\x00", "whole\n"},
		"giant frame":     {frame(1, "whole\n") + "\x01\x00\x00\x00\xff\xff\xff\xff", "whole\n"},
		"unknown stream":  {frame(1, "whole\n") + frame(9, "x"), "whole\n"},
		"error of engine": {frame(1, "whole\n") + frame(3, "broken"), "whole\n"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			e.main = func(_ io.Reader, stdout io.Writer) int {
				_, _ = io.WriteString(stdout, tt.frames)
				return 0
			}
			c := makeCell(t, e.driver(t, Timeouts{}))
			if err := c.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if out, err := readAll(c); out != tt.want || err != io.ErrUnexpectedEOF {
				t.Errorf("got %q, %v", out, err)
			}
			if exit, err := c.Wait(t.Context()); err != nil || exit.Code != 0 {
				t.Errorf("got %+v, %v", exit, err)
			}
		})
	}
}

// An engine that dies ends its connections like an orderly end.
func TestEngineDies(t *testing.T) {
	e := newEngine(t)
	e.main = func(stdin io.Reader, stdout io.Writer) int {
		_, _ = io.WriteString(stdout, frame(1, "line\n"))
		_, _ = io.Copy(io.Discard, stdin)
		return 0
	}
	wait := make(chan struct{})
	e.replace("POST /containers/{id}/wait", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
		<-wait
		cut(t)(w, r)
	})
	c := makeCell(t, e.driver(t, Timeouts{}))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 5)
	if _, err := io.ReadFull(c.Stdio().Stdout, line); err != nil {
		t.Fatal(err)
	}
	e.replace("GET /containers/{id}/json", cut(t))
	close(wait)
	e.mu.Lock()
	for _, b := range e.boxes {
		_ = b.conn.Close()
	}
	e.mu.Unlock()
	if _, err := readAll(c); err != io.ErrUnexpectedEOF {
		t.Errorf("stdout: %v", err)
	}
	if _, err := c.Wait(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), e.host) {
		t.Errorf("wait: %v", err)
	}
}

// A wait whose connection is cut is taken up again, and an end that was missed is looked up.
func TestWaitIsCut(t *testing.T) {
	for name, program := range map[string]func(stdin io.Reader, stdout io.Writer) int{
		"while it runs": func(stdin io.Reader, _ io.Writer) int {
			_, _ = io.Copy(io.Discard, stdin)
			return 5
		},
		"at its end": func(io.Reader, io.Writer) int { return 5 },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			e.main = program
			again := make(chan struct{})
			e.replace("POST /containers/{id}/wait", func(w http.ResponseWriter, r *http.Request) {
				if e.asked("POST /containers/{id}/wait") > 1 {
					close(again)
					_, id := key(r)
					e.mu.Lock()
					b := e.boxes[id]
					e.mu.Unlock()
					e.wait(w, r, b)
					return
				}
				w.WriteHeader(200)
				_ = http.NewResponseController(w).Flush()
				testutil.Poll(t, 5*time.Second, func() bool { return e.asked("POST /containers/{id}/start") == 1 })
				if name == "at its end" {
					_, id := key(r)
					e.mu.Lock()
					b := e.boxes[id]
					e.mu.Unlock()
					<-b.exited
				}
				cut(t)(w, r)
			})
			c := makeCell(t, e.driver(t, Timeouts{}))
			if err := c.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			var waits sync.WaitGroup
			defer waits.Wait()
			waits.Go(func() {
				if exit, err := c.Wait(t.Context()); err != nil || exit.Code != 5 {
					t.Errorf("got %+v, %v", exit, err)
				}
			})
			if name == "while it runs" {
				<-again
			}
			_ = c.Stdio().Stdin.Close()
		})
	}
}

// A cell that nobody waits for takes one goroutine, which reads what it says; its end is known all the same, however late somebody
// asks.
func TestNobodyWaitsForAnIdleCell(t *testing.T) {
	e := newEngine(t)
	e.main = func(stdin io.Reader, _ io.Writer) int {
		_, _ = io.Copy(io.Discard, stdin)
		return 5
	}
	box := makeCell(t, e.driver(t, Timeouts{}))
	if err := box.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, ok := box.(*cell)
	if !ok {
		t.Fatalf("a cell is a %T", box)
	}
	idle := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.await != nil
	}
	if !idle() {
		t.Error("somebody waits for the end of a cell that has only started")
	}
	_ = c.Stdio().Stdin.Close()
	if out, err := readAll(c); out != "" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	if idle() {
		t.Error("the streams have ended, and nobody asks for the end")
	}
	<-c.exited
	if exit, err := c.Wait(t.Context()); err != nil || exit.Code != 5 {
		t.Errorf("got %+v, %v", exit, err)
	}
}

// A warning means that the engine enforces less: nothing runs, nothing stays.
func TestWarnings(t *testing.T) {
	e := newEngine(t)
	e.replace("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
		reply(w, 201, map[string]any{"Id": e.create(r).id, "Warnings": []string{"Your kernel does not support swap limit capabilities. Memory limited without swap."}})
	})
	_, err := e.driver(t, Timeouts{}).Create(t.Context(), testSpec())
	if !errors.Is(err, sandbox.ErrUnsupported) || !strings.Contains(err.Error(), "swap") {
		t.Errorf("create: %v", err)
	}
	if left := e.left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A kill that the engine does not answer ends with the caller's deadline, and so does Destroy.
func TestKillBlocks(t *testing.T) {
	e := newEngine(t)
	e.main = func(stdin io.Reader, _ io.Writer) int {
		_, _ = io.Copy(io.Discard, stdin)
		return 0
	}
	block := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	e.replace("POST /containers/{id}/kill", block)
	e.replace("DELETE /containers/{id}", block)
	c := makeCell(t, e.driver(t, Timeouts{}))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(context.Context) error{"kill": c.Kill, "destroy": c.Destroy} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		begin := time.Now()
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%s took %v", name, took)
		}
		cancel()
	}
	e.replace("DELETE /containers/{id}", nil)
}

// Removal meets other removers and a busy engine, and tries until the container is gone.
func TestRemoveRaces(t *testing.T) {
	e := newEngine(t)
	answers := []struct {
		status int
		text   string
	}{
		{409, "removal of container x is already in progress"},
		{500, "driver \"overlay2\" failed to remove root filesystem: device or resource busy"},
		{0, ""}, // cut
		{409, "removal of container x is already in progress"},
		{404, "No such container: x"},
	}
	e.replace("DELETE /containers/{id}", func(w http.ResponseWriter, r *http.Request) {
		a := answers[0]
		answers = answers[1:]
		if r.URL.Query().Get("force") != "1" || r.URL.Query().Get("v") != "1" {
			t.Errorf("query %q", r.URL.RawQuery)
		}
		if a.status == 0 {
			cut(t)(w, r)
			return
		}
		fail(w, a.status, a.text)
	})
	c := makeCell(t, e.driver(t, Timeouts{}))
	if err := c.Destroy(t.Context()); err != nil {
		t.Error(err)
	}
	if len(answers) > 0 {
		t.Errorf("it gave up with %d answers to come", len(answers))
	}
	e.replace("DELETE /containers/{id}", nil)
}

func TestRemoveWithoutEngine(t *testing.T) {
	e := newEngine(t)
	c := makeCell(t, e.driver(t, Timeouts{}))
	e.replace("DELETE /containers/{id}", cut(t))
	if err := c.Destroy(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("destroy: %v", err)
	}
	e.replace("DELETE /containers/{id}", nil)
}

// The answer to a create is lost, though the engine did it: the container is found by its name and removed.
func TestCreateAnswerLost(t *testing.T) {
	e := newEngine(t)
	late := make(chan struct{})
	e.replace("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
		copied := r.Clone(context.WithoutCancel(r.Context()))
		body, _ := io.ReadAll(r.Body)
		copied.Body = io.NopCloser(strings.NewReader(string(body)))
		cut(t)(w, r)
		e.work.Go(func() { // the engine finishes what it was asked for
			defer close(late)
			testutil.Poll(t, 5*time.Second, func() bool { return e.asked("GET /containers/json") > 0 })
			e.create(copied)
		})
	})
	_, err := e.driver(t, Timeouts{}).Create(t.Context(), testSpec())
	if !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("create: %v", err)
	}
	<-late
	if left := e.left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A start that completes after its caller has given up is undone by Destroy.
func TestStartCompletesLate(t *testing.T) {
	e := newEngine(t)
	release := make(chan struct{})
	e.replace("POST /containers/{id}/start", func(_ http.ResponseWriter, r *http.Request) {
		<-release
		_, id := key(r)
		e.mu.Lock()
		b := e.boxes[id]
		b.running = true
		e.mu.Unlock()
	})
	c := makeCell(t, e.driver(t, Timeouts{Start: 50 * time.Millisecond}))
	if err := c.Start(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("start: %v", err)
	}
	close(release)
	if err := c.Destroy(t.Context()); err != nil {
		t.Error(err)
	}
	if left := e.left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestNoEngine(t *testing.T) {
	d := open(t, Options{Host: "unix:///nowhere/engine.sock"})
	for name, call := range map[string]func() error{
		"capabilities": func() error { _, err := d.Capabilities(t.Context()); return err },
		"create":       func() error { _, err := d.Create(t.Context(), testSpec()); return err },
		"list":         func() error { _, err := d.List(t.Context()); return err },
		"remove":       func() error { return d.Remove(t.Context(), "x") },
	} {
		err := call()
		if !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := "no engine answers at unix:///nowhere/engine.sock: start it, or set DOCKER_HOST: " + sandbox.ErrUnavailable.Error()
		if err.Error() != want {
			t.Errorf("%s:\n%s\n%s", name, err, want)
		}
	}
}

func TestHosts(t *testing.T) {
	for host, want := range map[string]string{
		"nonsense":         "unable to parse docker host",
		"ssh://root@other": "ssh is not spoken here",
	} {
		if _, err := New(Options{Host: host}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", host, err)
		}
	}
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
	if d := open(t, Options{}); d.Host() != "tcp://127.0.0.1:1" {
		t.Errorf("host %s", d.Host())
	}
	t.Setenv("DOCKER_CERT_PATH", "")
	t.Setenv("DOCKER_TLS_VERIFY", "1")
	if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "DOCKER_CERT_PATH is not") {
		t.Errorf("TLS without certificates: %v", err)
	}
}

func TestOldEngine(t *testing.T) {
	e := newEngine(t)
	e.replace("HEAD /_ping", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.40") })
	_, err := e.driver(t, Timeouts{}).Create(t.Context(), testSpec())
	if !errors.Is(err, sandbox.ErrUnsupported) || !strings.Contains(err.Error(), "API 1.40: at least 1.41") {
		t.Errorf("create: %v", err)
	}
}

// What answers like an engine and does not know what it is says nothing about images.
func TestNoRealEngine(t *testing.T) {
	for _, status := range []int{403, 404, 409, 500} {
		e := newEngine(t)
		e.replace("GET /info", func(w http.ResponseWriter, _ *http.Request) { fail(w, status, "page not found") })
		d := e.driver(t, Timeouts{})
		for name, call := range map[string]func() error{
			"capabilities": func() error { _, err := d.Capabilities(t.Context()); return err },
			"inspect":      func() error { _, err := d.Inspect(t.Context()); return err },
			"create":       func() error { _, err := d.Create(t.Context(), testSpec()); return err },
		} {
			if err := call(); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "page not found") {
				t.Errorf("%d, %s: %v", status, name, err)
			}
		}
	}
}

// An engine is not blamed for a want of open files on this side.
func TestNoMoreFiles(t *testing.T) {
	e := newEngine(t)
	d := e.driver(t, Timeouts{})
	none := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	}
	d.system.(*boundClient).transport.DialContext = frank(none)
	if _, err := d.Capabilities(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) ||
		!strings.Contains(err.Error(), "can't be asked: too many open files: raise the limit") {
		t.Errorf("got %v", err)
	}
}
