package a2ehost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
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
	ws, token, ok := w.session(rw, r)
	if !ok {
		return
	}
	if why := w.unwelcome(r.Context(), ws, token); why != nil {
		w.unidentified(rw, why)
		return
	}
	rc := http.NewResponseController(rw)
	_ = rc.SetReadDeadline(time.Time{}) // the server's own would end the request
	st := &stream{rc: rc, w: rw, most: w.host.opt.WriteTimeout}
	ws.out.attach(st)
	err := ws.out.open(st)
	if err == nil {
		err = w.deliver(r.Context(), ws, st, token)
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

// deliver writes a session's messages to st as long as the token is good with which its client came.
func (w *Web) deliver(ctx context.Context, ws *webSession, st *stream, token auth.Secret) error {
	ctx, cut := context.WithCancelCause(ctx)
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cut(nil)
	looking.Go(func() {
		tick := time.NewTicker(w.opt.Recheck)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if why := w.unwelcome(ctx, ws, token); why != nil && why.Code == a2e.Unauthorized {
				cut(why)
				return
			}
		}
	})
	if err := ws.out.deliver(ctx, st, ws.writing); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}

// unwelcome looks again at the token of a request, or at that of the session's handshake where the request has none. It says
// why that opens nothing, if so.
func (w *Web) unwelcome(ctx context.Context, ws *webSession, token auth.Secret) *a2e.Error {
	c, shown := ws.shown()
	switch {
	case !token.Empty():
		c = claim{header: token}
	case !shown:
		return nil
	}
	_, why := w.host.identify(ctx, c)
	return why
}

func (ws *webSession) short() string { return fmt.Sprintf("%.8s", ws.id) }
