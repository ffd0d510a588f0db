package a2ahost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

const (
	mediaA2A   = "application/a2a+json"
	mediaSSE   = "text/event-stream"
	writeLimit = 60 * time.Second // for an answer, or for an event of a stream, instead of the listener's
	retryAfter = "5"              // seconds, for who found no room
)

// route sends a request to its binding.
func (h *Host) route(w http.ResponseWriter, r *http.Request) {
	r = r.WithContext(a2e.WithTrace(r.Context(), a2e.HeaderTrace(r.Header)))
	activate(w, r)
	done, ok := h.room(r)
	if !ok {
		w.Header().Set("Retry-After", retryAfter)
		status, body := (&fault{kind: errBusy, message: "too many large requests are being served already: try again later"}).body()
		writeJSON(w, status, mediaJSON, body)
		return
	}
	defer done()
	r, answered := h.lend(r)
	defer answered()
	path := strings.TrimPrefix(r.URL.Path, BasePath)
	if path == "/rpc" || path == "/rpc/" {
		h.serveRPC(w, r)
		return
	}
	h.serveREST(w, r, path)
}

// Room for requests, in bytes. Read, they take tens of times as much.
const (
	allBodies = 64 << 20 // of all, half of it for one principal
	ownBody   = 64 << 10 // for which there is always room
)

// room takes room for a request's body, of unknown length for the largest that there may be.
func (h *Host) room(r *http.Request) (done func(), ok bool) {
	n := r.ContentLength
	if n < 0 {
		n = maxBody
	}
	if n <= ownBody {
		return func() {}, true
	}
	return h.bodies.Take(auth.FromContext(r.Context()).Principal, n)
}

// carriesJSON reports whether a request says that it carries JSON. One that carries nothing need not say so.
func carriesJSON(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && slices.Contains([]string{mediaJSON, mediaA2A}, kind) {
		return nil
	}
	return faultf(a2a.ErrUnsupportedContentType, "expected content type %s or %s", mediaJSON, mediaA2A)
}

// writeJSON writes a body, whole or not at all.
func writeJSON(w http.ResponseWriter, status int, media string, body any) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(body) != nil {
		http.Error(w, "the answer can't be written as JSON", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Length", strconv.Itoa(buf.Len()))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeLimit))
	w.WriteHeader(status)
	_, _ = w.Write(buf.Bytes()) // the client has gone: nobody is left to tell
}

// events writes a stream of server-sent events. It opens with the first.
type events struct {
	w     http.ResponseWriter
	flush *http.ResponseController
	wrap  func(result any) any // what an event's data is

	mu     sync.Mutex
	opened bool
	failed error
}

func newEvents(w http.ResponseWriter, wrap func(any) any) *events {
	return &events{w: w, flush: http.NewResponseController(w), wrap: wrap}
}

// emit sends an update.
func (e *events) emit(update a2a.Event) error {
	return e.send(e.wrap(a2a.StreamResponse{Event: update}))
}

func (e *events) send(data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return e.write("data: ", string(b), "\n\n")
}

func (e *events) write(texts ...string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed != nil {
		return e.failed
	}
	if !e.opened {
		e.opened = true
		head := e.w.Header()
		head.Set("Content-Type", mediaSSE)
		head.Set("Cache-Control", "no-cache")
		head.Set("X-Accel-Buffering", "no")
		e.w.WriteHeader(http.StatusOK)
	}
	_ = e.flush.SetWriteDeadline(time.Now().Add(writeLimit))
	for _, text := range texts {
		if _, e.failed = io.WriteString(e.w, text); e.failed != nil {
			return e.failed
		}
	}
	e.failed = e.flush.Flush()
	return e.failed
}

// open reports whether anything was sent.
func (e *events) open() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.opened
}

// stream runs what emits a stream's updates, with a comment now and then, so that nobody on the way takes it for dead.
func (h *Host) stream(ctx context.Context, e *events, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() {
		tick := time.NewTicker(h.opts.KeepAlive)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if e.open() && e.write(": still there\n\n") != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return run(ctx)
}

// left reports whether an error means no more than that the client has gone.
func left(r *http.Request, err error) bool {
	return r.Context().Err() != nil || errors.Is(err, context.Canceled)
}
