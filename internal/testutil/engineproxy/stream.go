package engineproxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// upgrades reports whether the request asks for a raw connection, as an attach does.
func (x *exchange) upgrades() bool {
	return strings.EqualFold(x.req.Header.Get("Upgrade"), "tcp")
}

// forwardUpgrade passes the engine's answer on and then, if it is a raw connection, bytes in both directions.
func (x *exchange) forwardUpgrade(engine net.Conn) error {
	from := bufio.NewReader(engine)
	resp, err := http.ReadResponse(from, x.req)
	if err != nil {
		return err
	}
	switched := resp.StatusCode == http.StatusSwitchingProtocols ||
		resp.StatusCode == http.StatusOK && strings.Contains(resp.Header.Get("Content-Type"), "raw-stream")
	if !switched {
		x.watch(nil)
		defer resp.Body.Close()
		return x.pass(resp)
	}
	if x.fault.Lost {
		return errCut
	}
	if err := x.wait(x.fault.After); err != nil {
		return err
	}
	if x.fault.Instead != nil {
		return errors.Join(x.answer(x.fault.Instead), errCut)
	}
	if err := writeHead(x.client, resp); err != nil {
		return err
	}
	defer context.AfterFunc(x.p.ctx, func() { _ = x.client.Close() })()
	var up sync.WaitGroup
	up.Go(func() { shovel(engine, x.in) })
	down(x.client, from, x.fault.Stream)
	if s := x.fault.Stream; s != nil && s.Cut {
		_ = x.client.Close()
		_ = engine.Close()
	}
	up.Wait()
	return errCut
}

// writeHead writes an answer without its body, which is a stream.
func writeHead(w io.Writer, resp *http.Response) error {
	var b strings.Builder
	b.WriteString("HTTP/1.1 " + resp.Status + "\r\n")
	if err := resp.Header.Write(&b); err != nil {
		return err
	}
	b.WriteString("\r\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// down copies what the engine sends to the client, changed as the fault says, and passes its end on.
func down(client net.Conn, engine io.Reader, s *Stream) {
	if s != nil {
		if _, err := io.CopyN(client, engine, s.After); err != nil {
			halfClose(client)
			return
		}
		if _, err := client.Write(s.Insert); err != nil || s.Cut {
			return
		}
	}
	shovel(client, engine)
}

// shovel copies until one side ends, and passes an orderly end on. A writer that is gone ends the other direction too.
func shovel(to net.Conn, from io.Reader) {
	if _, err := io.Copy(to, from); err != nil {
		_ = to.Close()
		return
	}
	halfClose(to)
}

func halfClose(c net.Conn) {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		_ = h.CloseWrite()
	}
}
