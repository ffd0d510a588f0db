package executor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// cable leads to a server, and can be cut.
type cable struct {
	net.Listener
	to string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
	ends  sync.WaitGroup
}

// newCable returns a cable, and the URL of the server at its end.
func newCable(t *testing.T, server string) (*cable, string) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{Listener: l, to: u.Host}
	c.ends.Go(c.serve)
	t.Cleanup(func() {
		_ = l.Close()
		c.set(true)
		c.ends.Wait()
	})
	u.Host = l.Addr().String()
	return c, u.String()
}

func (c *cable) serve() {
	for {
		near, err := c.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.to)
		c.mu.Lock()
		if err != nil || c.cut {
			_ = near.Close()
			if far != nil {
				_ = far.Close()
			}
		} else {
			c.conns = append(c.conns, near, far)
			c.ends.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
			c.ends.Go(func() { _, _ = io.Copy(near, far); _ = near.Close() })
		}
		c.mu.Unlock()
	}
}

// set cuts the cable, or mends it.
func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	if !cut {
		return
	}
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

// heldBack is the life of a skill that says when it has begun and does well once it may.
func heldBack() (l life, began, free chan struct{}) {
	began, free = make(chan struct{}), make(chan struct{})
	return func(ctx context.Context, req map[string]any, in *bufio.Reader, say func(string, ...any)) int {
		close(began)
		<-free
		return well(ctx, req, in, say)
	}, began, free
}

// unheardOf makes sure that an answer tells nothing but to ask again.
func unheardOf(t *testing.T, got *a2e.CallResponse) {
	t.Helper()
	if verdict(got) != "runtime_error/internal" || !got.Error.Retryable || !strings.Contains(got.Error.Message, "with the same id") ||
		got.Data.Data != nil || got.Data.Summary != nil || got.Data.Success {
		t.Errorf("%s: %+v, %+v", verdict(got), got.Error, got.Data)
	}
}

// While the server that keeps the answers is away none is given; whoever asks again hears it once the server is back.
func TestNoAnswerWithoutTheServer(t *testing.T) {
	t.Parallel()
	server := testutil.Postgres(t)
	l, began, free := heldBack()
	one, two := onServer(t, server.URL, "one", l, nil), onServer(t, server.URL, "two", well, nil)
	answers := make(chan *a2e.CallResponse, 1)
	var asking sync.WaitGroup
	asking.Go(func() { answer, _ := one.ask(context.Background(), sent("patient", "r1")); answers <- answer })
	<-began
	server.Stop(t)
	close(free)
	unheardOf(t, <-answers)
	asking.Wait()
	again, _ := one.ask(t.Context(), sent("patient", "r1"))
	unheardOf(t, again)
	refused, _ := two.ask(t.Context(), sent("patient", "r1"))
	if verdict(refused) != "runtime_error/internal" || !refused.Error.Retryable {
		t.Errorf("another supervisor: %s: %+v", verdict(refused), refused.Error)
	}
	if view, answer, err := one.Show(t.Context(), "r1"); err != nil || answer != nil || view.State.Terminal() {
		t.Errorf("it has ended before anybody may say so: %+v, %+v, %v", view, answer, err)
	}
	server.Start(t)
	var heard *a2e.CallResponse
	testutil.Poll(t, time.Minute, func() bool {
		heard, _ = one.ask(t.Context(), sent("patient", "r1"))
		return verdict(heard) == "ok"
	})
	other, _ := two.ask(t.Context(), sent("patient", "r1"))
	if !sameAnswer(t, heard, other) || one.driver.Stats().Created+two.driver.Stats().Created != 1 {
		t.Errorf("%+v\n%+v: %d and %d cells", heard, other, one.driver.Stats().Created, two.driver.Stats().Created)
	}
}

// A supervisor whom callers reach and the server does not is taken for dead. Nobody has heard its answer when the other one is given.
func TestNoAnswerOfACutOffSupervisorIsContradicted(t *testing.T) {
	t.Parallel()
	server := testutil.Postgres(t)
	cable, through := newCable(t, server.URL)
	var log bytes.Buffer // written by one handler, read at the end
	l, began, free := heldBack()
	one := onServer(t, through, "one", l, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	who := &owners{known: map[string]bool{"one": true, "two": true}}
	two := onServer(t, server.URL, "two", well, func(c *Config) { c.Owners = mourners{who, make(chan struct{}, 1)} })
	answers := make(chan *a2e.CallResponse, 1)
	var asking sync.WaitGroup
	asking.Go(func() { answer, _ := one.ask(context.Background(), sent("patient", "r1")); answers <- answer })
	<-began
	cable.set(true)
	close(free)
	unheardOf(t, <-answers)
	asking.Wait()
	who.set("one", false)
	if err := two.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	closed, _ := two.ask(t.Context(), sent("patient", "r1"))
	if verdict(closed) != "sandbox_crash/supervisor_restart" {
		t.Errorf("the other one says %s", verdict(closed))
	}
	cable.set(false)
	var heard *a2e.CallResponse
	testutil.Poll(t, time.Minute, func() bool {
		heard, _ = one.ask(t.Context(), sent("patient", "r1"))
		return verdict(heard) != "runtime_error/internal"
	})
	if !sameAnswer(t, closed, heard) {
		t.Errorf("two answers: %+v\n%+v", closed, heard)
	}
	one.settle(t)
	if text := log.String(); strings.Contains(text, "an answer was given") || !strings.Contains(text, "closed by another supervisor") {
		t.Error(text)
	}
}

// A supervisor that shares a server and has an answer left that the server does not take ends as one with a file does.
func TestDrainOfAnAnswerThatWasNotGiven(t *testing.T) {
	for name, want := range map[string]error{"in vain": ErrUnjournalled, "at the last moment": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &broken{Journal: Forgetful}
				j.end.Store(&errDisk)
				b := setUp(t, well, func(c *Config) {
					c.Journal, c.Owners = j, mourners{&owners{known: map[string]bool{"test": true}}, make(chan struct{}, 1)}
				})
				first, _ := b.ask(t.Context(), sent("free", "r1"))
				unheardOf(t, first)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				waits := make(chan *a2e.CallResponse, 1)
				go func() { answer, _ := b.ask(context.Background(), sent("free", "r1")); waits <- answer }()
				unheardOf(t, <-waits)
				if want == nil {
					defer context.AfterFunc(ctx, func() { j.end.Store(nil) })()
					ctx, cancel = context.WithTimeout(t.Context(), time.Minute+time.Millisecond)
					defer cancel()
				}
				if err := b.Drain(ctx); !errors.Is(err, want) {
					t.Errorf("drain: %v, want %v", err, want)
				}
				if len(b.watch.codes) != 1 || want == nil && b.watch.codes[0] != "ok/" {
					t.Errorf("it ended as %v", b.watch.codes)
				}
			})
		})
	}
}
