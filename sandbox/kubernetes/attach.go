package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/hotcell/hotcell/internal/seal"
	"github.com/hotcell/hotcell/sandbox"
)

// line is a connection to a gate: frames go in, sealed lines come out.
type line struct {
	mu   sync.Mutex
	in   *inlet
	buf  []byte
	open *seal.Opener
	rest []byte // the beginning of a line
	most int64  // bytes that may come
	came int64  // bytes that did
	told func(kind byte, payload []byte) error
	stop context.CancelCauseFunc // ends the connection

	loader chan struct{} // the loader has answered; nil where there is none
	sealed bool          // a sealed line has come
}

// spoiled is why a connection was ended from this side: for what came out of it.
type spoiled struct{ error }

func (s spoiled) Unwrap() error { return s.error }

// send writes a frame. Where much is under way it waits, and is let go when the connection ends.
func (l *line) send(kind byte, payload []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = seal.AppendFrame(l.buf[:0], kind, payload)
	_, err := l.in.Write(l.buf)
	return err
}

// Write takes what comes out of the pod. What it does not take ends the connection: who reads for it drops an error, and all that
// follows.
func (l *line) Write(p []byte) (int, error) {
	n, err := l.take(p)
	if err != nil {
		l.stop(spoiled{err})
	}
	return n, err
}

func (l *line) take(p []byte) (int, error) {
	n := len(p)
	if l.came += int64(n); l.came > l.most {
		return 0, fmt.Errorf("it said more than %d MiB in all: %w", l.most>>20, sandbox.ErrTooMuch)
	}
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			if len(l.rest)+len(p) > seal.MaxLine+16 {
				return 0, fmt.Errorf("a line that is not sealed: it is too long: %w", sandbox.ErrUnavailable)
			}
			l.rest = append(l.rest, p...)
			break
		}
		whole := p[:i]
		if len(l.rest) > 0 {
			l.rest = append(l.rest, whole...)
			whole = l.rest
		}
		p = p[i+1:]
		if l.fromLoader(whole) {
			l.rest = l.rest[:0]
			continue
		}
		kind, payload, err := l.open.Open(whole)
		l.rest, l.sealed = l.rest[:0], true
		if err == nil {
			err = l.told(kind, payload)
		}
		if err != nil {
			return 0, fmt.Errorf("what came out of it is not what its first program said: %w: %w", err, sandbox.ErrUnavailable)
		}
	}
	return n, nil
}

// attach opens a connection, and runs it until ctx ends or it breaks off, of which ended is told.
func (c *cell) attach(ctx context.Context, exec remotecommand.Executor, ended func(error)) (*line, error) {
	opener, err := seal.NewOpener(c.hello.Key)
	if err != nil {
		return nil, err
	}
	opener.Loose = true
	in := newInlet()
	ctx, stop := context.WithCancelCause(ctx)
	l := &line{in: in, open: opener, most: c.d.traffic, stop: stop}
	if c.load != nil {
		l.loader = make(chan struct{}, 1)
	}
	l.told = func(kind byte, payload []byte) error { return c.hear(l, kind, payload) }
	c.work.Go(func() {
		defer stop(nil)
		err := exec.StreamWithContext(opening{ctx, time.Now().Add(c.d.limits.Attach)}, remotecommand.StreamOptions{Stdin: in, Stdout: l, Stderr: c.strays()})
		var bad spoiled
		switch {
		case errors.As(context.Cause(ctx), &bad):
			err = bad
		case err == nil:
			err = io.EOF
		}
		_ = in.Close() // whoever writes is let go, and whoever reads for the connection ends
		ended(err)
	})
	return l, nil
}

// opening is a context of a connection that has to be there by some time, and then may last. Who makes it heeds a context's deadline while
// it makes it, and nothing else of it: a server that takes a connection and says nothing would keep it for ever.
type opening struct {
	context.Context
	by time.Time
}

// Deadline implements [context.Context].
func (o opening) Deadline() (time.Time, bool) { return o.by, true }

// attacher is a connection over WebSocket, or SPDY where a proxy on the way does not know the first.
func (a *api) attacher(pod string) (remotecommand.Executor, error) {
	spdy, err := remotecommand.NewSPDYExecutor(a.config, "POST", a.attachURL(pod))
	if err != nil {
		return nil, err
	}
	ws, err := a.webSocket(pod)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(ws, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// webSocket is a connection over WebSocket.
func (a *api) webSocket(pod string) (remotecommand.Executor, error) {
	return remotecommand.NewWebSocketExecutor(a.config, "GET", a.attachURL(pod).String())
}

func (a *api) attachURL(pod string) *url.URL {
	return a.client.Post().AbsPath(a.in(core, "pods", pod, "attach")).
		Param("container", cellContainer).Param("stdin", "true").Param("stdout", "true").Param("stderr", "true").URL()
}

// strays logs what the gate writes to its own stderr: a crash of it. A cell's own stderr does not come this way.
func (c *cell) strays() io.Writer { return &strays{c: c} }

type strays struct {
	c *cell
	n int
}

func (s *strays) Write(p []byte) (int, error) {
	const most = 4 << 10
	if s.n < most {
		s.c.d.log.Debug("a cell's first program wrote to its own stderr", "cell", s.c.name, "text", oneLine(string(p[:min(len(p), most)])))
	}
	s.n += len(p)
	return len(p), nil
}

// broke is told when the connection has ended.
func (c *cell) broke(err error) {
	c.d.log.Debug("connection to a cell has ended", "cell", c.name, "err", err)
	var bad spoiled
	if errors.As(err, &bad) {
		c.settle(sandbox.Exit{}, fmt.Errorf("cell %s: %w", c.name, bad.error)) // what the cluster will say of its end only follows from this
	}
	c.mu.Lock()
	c.why = err
	c.mu.Unlock()
	close(c.cut) // whoever awaits the cell's end finds out why
}

// hear takes one piece of what the gate says.
func (c *cell) hear(l *line, kind byte, payload []byte) error {
	var err error
	switch kind {
	case seal.Up:
		select {
		case c.up <- struct{}{}:
		default:
		}
	case seal.Started:
		l.open.Loose = false
		c.begin(nil)
	case seal.Failed:
		var f seal.Failure
		if err = json.Unmarshal(payload, &f); err == nil {
			c.begin(&sandbox.StartError{ExitCode: f.Code, Message: oneLine(f.Message)})
		}
	case seal.Stdout:
		_, err = c.stdout.Write(payload)
	case seal.Stderr:
		_, err = c.stderr.Write(payload)
	case seal.Ended:
		var e seal.End
		if err = json.Unmarshal(payload, &e); err != nil {
			break
		}
		c.finish(io.EOF)
		select {
		case c.ended <- e:
		default:
		}
		c.work.Go(func() { _ = l.send(seal.Quit, nil) })
	}
	if errors.Is(err, io.ErrClosedPipe) { // the cell is destroyed, and nobody reads
		return nil
	}
	return err
}

func (c *cell) begin(err error) {
	select {
	case c.begun <- err:
	default:
	}
}
