package engineproxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// mostBody bounds a request's or an answer's body that is kept in memory.
const mostBody = 64 << 20

// errCut ends a client's connection.
var errCut = errors.New("the connection is cut")

// exchange is one request on its way.
type exchange struct {
	p      *Proxy
	client net.Conn
	in     *bufio.Reader // of client
	req    *http.Request
	fault  Fault
	gone   chan struct{} // closed when the client is gone, or has sent more
	left   error         // why, once gone is closed
}

// serve answers a client's requests one after the other, as HTTP keeps connections.
func (p *Proxy) serve(conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		x := &exchange{p: p, client: conn, in: in, req: req, fault: p.fault(req), gone: make(chan struct{})}
		if err := x.run(); err != nil {
			return
		}
		<-x.gone
		if x.left != nil {
			return
		}
	}
}

// run plays the fault's steps. An error ends the client's connection.
func (x *exchange) run() error {
	f := x.fault
	forwards := !f.Silent && !f.Drop && f.Answer == nil
	if !forwards || f.Before != (Pause{}) {
		if err := x.keepBody(); err != nil {
			return err
		}
	}
	switch {
	case f.Drop:
		return errCut
	case f.Silent:
		x.watch(nil)
		<-x.gone // Down and the end of the proxy close the connection
		return errCut
	}
	if err := x.wait(f.Before); err != nil {
		return err
	}
	if f.Answer != nil {
		x.watch(nil)
		return x.answer(f.Answer)
	}
	return x.forward()
}

// keepBody reads the request's body, so that it can be forwarded when its sender is gone.
func (x *exchange) keepBody() error {
	b, err := io.ReadAll(io.LimitReader(x.req.Body, mostBody+1))
	if err != nil {
		return err
	}
	if len(b) > mostBody {
		return fmt.Errorf("a request of more than %d bytes", mostBody)
	}
	x.req.Body, x.req.ContentLength, x.req.TransferEncoding = io.NopCloser(bytes.NewReader(b)), int64(len(b)), nil
	return nil
}

// watch looks out for the client's end, and calls lost then. The request must have been read.
func (x *exchange) watch(lost func()) {
	x.p.work.Go(func() {
		_, x.left = x.in.Peek(1)
		if x.left != nil && lost != nil {
			lost()
		}
		close(x.gone)
	})
}

func (x *exchange) wait(w Pause) error {
	if w == (Pause{}) {
		return nil
	}
	var timer <-chan time.Time
	if w.For > 0 {
		timer = time.After(w.For)
	}
	select {
	case <-w.Until:
	case <-timer:
	case <-x.p.ctx.Done():
		return context.Canceled
	}
	return nil
}

// forward lets the engine serve the request and passes its answer on, as far as the fault lets it.
func (x *exchange) forward() error {
	var d net.Dialer
	conn, err := d.DialContext(x.p.ctx, x.p.network, x.p.addr)
	if err != nil {
		return err
	}
	defer context.AfterFunc(x.p.ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	writeErr := x.req.Write(conn)
	if x.upgrades() {
		return x.forwardUpgrade(conn)
	}
	x.watch(x.abandon(conn))
	from := bufio.NewReader(conn)
	resp, err := http.ReadResponse(from, x.req)
	if err != nil {
		return errors.Join(err, writeErr)
	}
	defer resp.Body.Close()
	return x.pass(resp)
}

// abandon is what a client's end means for the engine: nothing while a fault wants the request served.
func (x *exchange) abandon(conn net.Conn) func() {
	f := x.fault
	if f.Before != (Pause{}) || f.After != (Pause{}) || f.Lost || f.Instead != nil {
		return nil
	}
	return func() { _ = conn.Close() }
}

func (x *exchange) pass(resp *http.Response) error {
	f := x.fault
	if f.CutBody {
		resp.Header.Set("Transfer-Encoding", "chunked")
		resp.Header.Del("Content-Length")
		return errors.Join(writeHead(x.client, resp), x.wait(f.After), errCut)
	}
	if f.Lost || f.Instead != nil || f.After != (Pause{}) || f.Edit != nil {
		b, err := io.ReadAll(io.LimitReader(resp.Body, mostBody))
		if err != nil {
			return err
		}
		if f.Edit != nil {
			b = f.Edit(b)
		}
		resp.Body, resp.ContentLength, resp.TransferEncoding = io.NopCloser(bytes.NewReader(b)), int64(len(b)), nil
	}
	if f.Lost {
		return errCut
	}
	if err := x.wait(f.After); err != nil {
		return err
	}
	if f.Instead != nil {
		return x.answer(f.Instead)
	}
	if err := resp.Write(x.client); err != nil {
		return err
	}
	if resp.Close {
		return errCut
	}
	return nil
}

// answer sends a reply of the proxy's own.
func (x *exchange) answer(a *Answer) error {
	resp := &http.Response{
		StatusCode: a.Status, ProtoMajor: 1, ProtoMinor: 1, Request: x.req,
		Header: http.Header{"Content-Type": {"application/json"}, "Api-Version": {"1.41"}},
		Body:   io.NopCloser(strings.NewReader(a.Body)), ContentLength: int64(len(a.Body)),
	}
	if a.Repeat > 0 {
		resp.Body, resp.ContentLength, resp.TransferEncoding = io.NopCloser(&repeat{text: a.Body, left: a.Repeat}), -1, []string{"chunked"}
	}
	return resp.Write(x.client)
}

// repeat reads a text again and again.
type repeat struct {
	text string
	at   int
	left int
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.left == 0 || r.text == "" {
		return 0, io.EOF
	}
	n := copy(p, r.text[r.at:])
	if r.at += n; r.at == len(r.text) {
		r.at = 0
		r.left--
	}
	return n, nil
}
