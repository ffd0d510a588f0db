package a2ehost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// stream is one connection that a session's messages are written to.
type stream struct {
	rc   *http.ResponseController
	w    http.ResponseWriter
	most time.Duration // for one message
}

// attach makes st the session's stream. The one before is cut off, also within a write; st waits for its end in
// [outbox.deliver].
func (o *outbox) attach(st *stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.now != nil {
		_ = o.now.rc.SetWriteDeadline(time.Unix(1, 0))
	}
	o.now = st
	o.tell()
}

// detach ends st's time. Nothing touches its connection any more.
func (o *outbox) detach(st *stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.now == st {
		o.now = nil
		o.tell()
	}
}

// attached reports whether a stream is connected.
func (o *outbox) attached() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now != nil
}

// arm gives st's next write its time, unless st has been replaced.
func (o *outbox) arm(st *stream) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.now != st {
		return errReplaced
	}
	if err := st.rc.SetWriteDeadline(time.Now().Add(st.most)); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// deliver writes messages to st until all has been said, st is replaced or its peer gone. One stream writes at a time.
func (o *outbox) deliver(ctx context.Context, st *stream, writing chan struct{}) error {
	select {
	case writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-writing }()
	for {
		p, more, err := o.next(ctx, st)
		if !more || err != nil {
			return err
		}
		if err := o.write(st, p.line); err != nil {
			return err
		}
		o.sent()
	}
}

func (o *outbox) write(st *stream, line []byte) error {
	if err := o.arm(st); err != nil {
		return err
	}
	event := make([]byte, 0, len(line)+8)
	event = append(event, "data: "...)
	event = append(event, line...)
	event = append(event, "\n\n"...)
	if _, err := st.w.Write(event); err != nil {
		return err
	}
	return st.rc.Flush()
}

// open starts the answer, so that the client knows that it is connected.
func (o *outbox) open(st *stream) error {
	h := st.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8") // without a charset clients take text for Latin 1
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	st.w.WriteHeader(http.StatusOK)
	if err := o.arm(st); err != nil {
		return err
	}
	return st.rc.Flush()
}

// stream answers GET /stream.
func (w *Web) stream(rw http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet { // a HEAD would take messages that it can't show
		rw.Header().Set("Allow", "GET")
		refuse(rw, http.StatusMethodNotAllowed, "method_not_allowed", "expected GET")
		return
	}
	ws, _, ok := w.session(rw, r)
	if !ok || !w.stillValid(rw, r, ws) {
		return
	}
	rc := http.NewResponseController(rw)
	_ = rc.SetReadDeadline(time.Time{}) // the server's own would end the request
	st := &stream{rc: rc, w: rw, most: w.host.opt.WriteTimeout}
	ws.out.attach(st)
	err := ws.out.open(st)
	if err == nil {
		err = ws.out.deliver(r.Context(), st, ws.writing)
	}
	if err == nil {
		err = ws.out.arm(st) // for the end of the answer, which the server writes
	}
	ws.out.detach(st)
	ws.act.touch()
	if err == nil {
		return
	}
	w.host.opt.Log.Debug("stream ended", "door", w.host.opt.Door, "session", ws.short(), "why", err.Error())
	// What was cut off must not look like an end: a client that reconnects at once after an end waits after an error, so that
	// two that take the stream from each other do so slowly.
	panic(http.ErrAbortHandler)
}

// stillValid looks at the token of a session's handshake again.
func (w *Web) stillValid(rw http.ResponseWriter, r *http.Request, ws *webSession) bool {
	c, shown := ws.shown()
	if !shown {
		return true
	}
	_, why := w.host.identify(r.Context(), c)
	if why == nil {
		return true
	}
	w.unidentified(rw, why)
	return false
}

func (ws *webSession) short() string { return fmt.Sprintf("%.8s", ws.id) }
