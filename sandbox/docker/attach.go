package docker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hotcell/hotcell/internal/engineapi"
	"github.com/hotcell/hotcell/sandbox"
)

// stream is an attached connection: frames come out of r, stdin goes into conn.
type stream struct {
	conn net.Conn
	r    io.Reader
}

// attach asks the engine for a container's three streams. The engine's client would ignore ctx while it waits for the
// answer, so the request is made here: the connection is closed when ctx ends. After attach has returned, ctx has no
// effect any more.
func (d *Driver) attach(ctx context.Context, id string) (s *stream, err error) {
	op, cancel := context.WithTimeout(ctx, d.limits.Attach)
	defer cancel()
	began := time.Now()
	defer func() { d.attached(op, began, err) }()
	conn, err := d.dial(op)
	if err != nil {
		return nil, d.dialError(ctx, "attach", err)
	}
	release := context.AfterFunc(op, func() { _ = conn.Close() })
	s, err = d.hijack(op, conn, id)
	if !release() { // ctx ended and the connection is closed, whatever hijack says
		return nil, d.dialError(ctx, "attach", context.DeadlineExceeded)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return s, nil
}

// attached tells of an attach, which does not go over the client's transport.
func (d *Driver) attached(ctx context.Context, began time.Time, err error) {
	if d.watch != nil {
		d.watch.Asked("container_attach", engineapi.Fault(ctx, 0, err), time.Since(began))
	}
}

// dialError explains an error of a raw connection. outer is the caller's context.
func (d *Driver) dialError(outer context.Context, what string, err error) error {
	if outer.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return d.explain(outer, what, context.DeadlineExceeded)
	}
	return d.unreachable(err)
}

func (d *Driver) hijack(ctx context.Context, conn net.Conn, id string) (*stream, error) {
	target := url.URL{
		Scheme: "http", Host: "docker",
		Path:     d.versioned("/containers/" + id + "/attach"),
		RawQuery: "stream=1&stdin=1&stdout=1&stderr=1",
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "text/plain")
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "tcp")
	if err := req.Write(conn); err != nil {
		return nil, d.dialError(ctx, "attach", err)
	}
	r := bufio.NewReaderSize(newHeadReader(conn), 1<<10)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, d.dialError(ctx, "attach", err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		_ = resp.Body.Close()
		return nil, fmt.Errorf("attach: engine at %s: %s: %s: %w", d.host, resp.Status, words(errors.New(string(text))), sandbox.ErrUnavailable)
	}
	return &stream{conn: conn, r: behind(r, conn)}, nil
}

// behind reads what follows an answer's head: what came with it, and then the connection. It keeps no more of r.
func behind(r *bufio.Reader, conn io.Reader) io.Reader {
	if r.Buffered() == 0 {
		return conn
	}
	came, _ := r.Peek(r.Buffered())
	return io.MultiReader(bytes.NewReader(bytes.Clone(came)), conn)
}

// closeWrite delivers EOF to the container's stdin and leaves its output open.
func (s *stream) closeWrite() error {
	half, ok := s.conn.(interface{ CloseWrite() error })
	if !ok {
		return fmt.Errorf("connection %T to the engine cannot be half closed", s.conn)
	}
	return half.CloseWrite()
}
