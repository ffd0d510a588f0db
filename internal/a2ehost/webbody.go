package a2ehost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

const (
	// strangersBody is the longest request that a session may get before it has shown a token: a handshake.
	strangersBody = 64 << 10
	// bodyChunk is how much of a body is read at a time. The first is there for each request; what is longer has to find room in
	// the memory that all share.
	bodyChunk = 64 << 10
)

// body reads a request within the memory that all sessions share; release gives it back.
func (w *Web) body(rw http.ResponseWriter, r *http.Request, ws *webSession) (body []byte, release func(), ok bool) {
	most := int64(w.host.opt.MaxLine)
	if o, _ := ws.owned(); o == nil {
		most = strangersBody
	} else if r.ContentLength != 0 { // the listener's own time is for short ones
		_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(w.host.opt.LineTimeout))
	}
	if r.ContentLength > most {
		tooLarge(rw, most)
		return nil, nil, false
	}
	lent := 0
	release = func() { w.host.memory.give(lent) }
	memory := w.host.memory.lend(r.Context())
	var buf bytes.Buffer
	for from := http.MaxBytesReader(rw, r.Body, most); ; {
		_, err := io.CopyN(&buf, from, bodyChunk)
		switch {
		case errors.Is(err, io.EOF):
			return bytes.TrimSpace(buf.Bytes()), release, true
		case err != nil:
			release()
			w.unread(rw, err)
			return nil, nil, false
		}
		if err := memory.Take(bodyChunk); err != nil { // for the next
			release()
			w.busy(rw, "too many long requests are being received: try again later")
			return nil, nil, false
		}
		lent += bodyChunk
	}
}

// unread answers a request whose body could not be read to its end.
func (w *Web) unread(rw http.ResponseWriter, err error) {
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		tooLarge(rw, long.Limit)
		return
	}
	refuse(rw, http.StatusBadRequest, "incomplete_body", "the request's body was cut off, or did not arrive in time")
}

func tooLarge(rw http.ResponseWriter, most int64) {
	refuse(rw, http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body is larger than %d bytes", most))
}

// retryAfter is what a client that finds no room is told, in seconds.
const retryAfter = 1

func (w *Web) busy(rw http.ResponseWriter, why string) {
	rw.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	refuse(rw, http.StatusServiceUnavailable, a2e.ReasonQueueFull, why)
}

func notFound(rw http.ResponseWriter) {
	refuse(rw, http.StatusNotFound, "session_not_found", "Session not found")
}

// refuse answers with a failure: detail as hosts of this protocol have it, error as the other doors of the listener do.
func refuse(rw http.ResponseWriter, status int, code, why string) {
	reply(rw, status, map[string]any{"detail": why, "error": map[string]string{"code": code, "message": why}})
}

func reply(rw http.ResponseWriter, status int, body any) {
	line, err := json.Marshal(body)
	if err != nil {
		status, line = http.StatusInternalServerError, []byte(`{"detail":"internal error"}`)
	}
	h := rw.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(line)))
	rw.WriteHeader(status)
	_, _ = rw.Write(line) // the client has gone: nobody is left to tell
}

// clientOf is a client's address without its port.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
