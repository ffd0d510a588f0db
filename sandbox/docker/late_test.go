package docker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// A create that takes longer than its caller has time is answered when the time is up, and what it makes is removed.
func TestCreateHangs(t *testing.T) {
	e := newEngine(t)
	release := make(chan struct{})
	e.replace("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
		<-release
		reply(w, 201, map[string]any{"Id": e.create(r).id})
	})
	d := e.driver(t, Timeouts{})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("the deadline"))
	defer cancel()
	if _, err := d.Create(ctx, testSpec()); err == nil || !strings.Contains(err.Error(), "the deadline") {
		t.Errorf("create: %v", err)
	}
	close(release)
	testutil.Poll(t, 10*time.Second, func() bool {
		return e.asked("DELETE /containers/{id}") == 1 && len(e.left()) == 0
	})
}

// The same, where the engine does not answer within the driver's own limit either: the container is looked for.
func TestCreateHangsForLong(t *testing.T) {
	e := newEngine(t)
	release := make(chan struct{})
	e.replace("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
		<-release
		reply(w, 201, map[string]any{"Id": e.create(r).id})
	})
	d := e.driver(t, Timeouts{Create: 50 * time.Millisecond})
	if _, err := d.Create(t.Context(), testSpec()); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "in time") {
		t.Errorf("create: %v", err)
	}
	close(release)
	testutil.Poll(t, 10*time.Second, func() bool { return e.asked("DELETE /containers/{id}") == 1 && len(e.left()) == 0 })
}

// Closing the driver waits for the removal of what came late.
func TestCloseWaitsForLateCells(t *testing.T) {
	e := newEngine(t)
	asked, release := make(chan struct{}), make(chan struct{})
	e.replace("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-release
		reply(w, 201, map[string]any{"Id": e.create(r).id})
	})
	d := openPlain(t, Options{Host: e.host, Instance: "test"})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := d.Create(ctx, testSpec()); !errors.Is(err, context.Canceled) {
		t.Errorf("create: %v", err)
	}
	close(release)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if left := e.left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := d.Create(t.Context(), testSpec()); !errors.Is(err, errClosed) {
		t.Errorf("create after close: %v", err)
	}
}

// An answer to a wait is not believed while the container runs.
func TestWaitAnsweredEarly(t *testing.T) {
	e := newEngine(t)
	e.main = func(stdin io.Reader, stdout io.Writer) int {
		_, _ = io.WriteString(stdout, frame(1, "up\n"))
		_, _ = io.Copy(io.Discard, stdin)
		return 7
	}
	e.replace("POST /containers/{id}/wait", func(w http.ResponseWriter, r *http.Request) {
		if e.asked("POST /containers/{id}/wait") == 1 {
			reply(w, 200, map[string]any{"StatusCode": 0})
			return
		}
		_, id := key(r)
		e.mu.Lock()
		b := e.boxes[id]
		e.mu.Unlock()
		e.wait(w, r, b)
	})
	c := makeCell(t, e.driver(t, Timeouts{}))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var waits sync.WaitGroup
	defer waits.Wait()
	waits.Go(func() {
		if exit, err := c.Wait(t.Context()); err != nil || exit.Code != 7 {
			t.Errorf("got %+v, %v", exit, err)
		}
	})
	testutil.Poll(t, 30*time.Second, func() bool { return e.asked("POST /containers/{id}/wait") == 2 })
	select {
	case <-c.(*cell).exited:
		t.Fatal("the cell counts as ended while it runs")
	default:
	}
	_ = c.Stdio().Stdin.Close()
	if out, err := readAll(c); out != "up\n" || err != nil {
		t.Errorf("stdout %q, %v", out, err)
	}
}

// An engine that answers every wait early is of no use.
func TestWaitAlwaysAnsweredEarly(t *testing.T) {
	e := newEngine(t)
	e.main = func(stdin io.Reader, _ io.Writer) int {
		_, _ = io.Copy(io.Discard, stdin)
		return 0
	}
	e.replace("POST /containers/{id}/wait", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, map[string]any{"StatusCode": 0}) })
	c := makeCell(t, e.driver(t, Timeouts{}))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exit, err := c.Wait(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("got %+v, %v", exit, err)
	}
}

// A container that is gone before it starts is the engine's doing, not the image's.
func TestVanishedBeforeItStarts(t *testing.T) {
	for _, where := range []string{"attach", "wait", "start"} {
		t.Run(where, func(t *testing.T) {
			e := newEngine(t)
			e.replace("POST /containers/{id}/"+where, func(w http.ResponseWriter, _ *http.Request) { fail(w, 404, "No such container: x") })
			c := makeCell(t, e.driver(t, Timeouts{}))
			if err := c.Start(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) || errors.Is(err, sandbox.ErrNotFound) {
				t.Errorf("start: %v", err)
			}
		})
	}
}

// What an engine says is bounded, and nonsense is not the skill's fault.
func TestAnswersAreBounded(t *testing.T) {
	e := newEngine(t)
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"Id":"`)
			for range 20 << 20 >> 10 {
				_, _ = io.WriteString(w, strings.Repeat("x", 1<<10))
			}
		}, "longer than 16777216 bytes"},
		"endless head": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
			w.WriteHeader(200)
		}, sandbox.ErrUnavailable.Error()},
		"nonsense": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "invalid character"},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"Id":`)
		}, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			e.replace("POST /containers/create", tt.answer)
			_, err := e.driver(t, Timeouts{}).Create(t.Context(), testSpec())
			if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 1000 {
				t.Errorf("create: %.1000v", err)
			}
		})
	}
}

func TestAttachHeadIsBounded(t *testing.T) {
	e := newEngine(t)
	e.replace("POST /containers/{id}/attach", func(w http.ResponseWriter, _ *http.Request) {
		conn := hijack(t, w)
		_, _ = io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nX: "+strings.Repeat("x", maxHead))
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	})
	c := makeCell(t, e.driver(t, Timeouts{}))
	if err := c.Start(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("start: %v", err)
	}
}

// An engine that hangs does not answer, and one that is stopping takes no new connection.
func TestPing(t *testing.T) {
	e := newEngine(t)
	d := e.driver(t, Timeouts{})
	if err := d.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	e.replace("GET /_ping", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if err := d.Ping(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("of one that hangs: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Ping(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("of nobody who waits: %v", err)
	}
}

// An engine that dies while it makes a container may have made it: it is looked for once the engine is back.
func TestCreateLostWithTheEngine(t *testing.T) {
	e := newEngine(t)
	e.replace("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
		e.create(r)
		cut(t)(w, r)
	})
	e.replace("GET /containers/json", cut(t))
	if _, err := e.driver(t, Timeouts{}).Create(t.Context(), testSpec()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("create: %v", err)
	}
	if len(e.left()) != 1 {
		t.Fatal("no container was made")
	}
	e.replace("GET /containers/json", nil)
	testutil.Poll(t, 30*time.Second, func() bool { return len(e.left()) == 0 })
}

// A container whose removal finds no engine is removed once there is one.
func TestUndoOutlastsTheEnginesAbsence(t *testing.T) {
	e := newEngine(t)
	e.replace("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
		reply(w, 201, map[string]any{"Id": e.create(r).id, "Warnings": []string{"no swap"}})
	})
	e.replace("DELETE /containers/{id}", cut(t))
	if _, err := e.driver(t, Timeouts{}).Create(t.Context(), testSpec()); !errors.Is(err, sandbox.ErrUnsupported) {
		t.Errorf("create: %v", err)
	}
	if len(e.left()) != 1 {
		t.Fatal("no container was left")
	}
	e.replace("DELETE /containers/{id}", nil)
	testutil.Poll(t, 30*time.Second, func() bool { return len(e.left()) == 0 })
}

// What stands between an engine and its client may say that something went wrong when it did not.
func TestCreatedThoughItFailed(t *testing.T) {
	e := newEngine(t)
	e.replace("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
		e.create(r)
		fail(w, 504, "gateway timeout")
	})
	if _, err := e.driver(t, Timeouts{}).Create(t.Context(), testSpec()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("create: %v", err)
	}
	testutil.Poll(t, 30*time.Second, func() bool { return e.asked("POST /containers/create") == 1 && len(e.left()) == 0 })
}
