package rest

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

const (
	firstBeat  = time.Second      // after which a stream begins, though nothing was said yet
	beatEvery  = 15 * time.Second // between signs of life
	slowReader = 30 * time.Second // for a client to take one message
)

// stream sends a call's messages as they come: a line each, or as server-sent events. It begins with the first event, or a
// second later; an answer that comes before that has its own status. A client that takes nothing for thirty seconds is cut off.
type stream struct {
	w      http.ResponseWriter
	c      *http.ResponseController
	kind   string
	hangUp func() // ends what the stream is for, once nobody reads it

	mu    sync.Mutex
	begun bool
	done  bool
	err   error
}

func newStream(w http.ResponseWriter, kind string, hangUp func()) *stream {
	return &stream{w: w, c: lifted(w), kind: kind, hangUp: hangUp}
}

var errDone = errors.New("the stream has ended")

// WriteEvent implements [a2e.EventWriter].
func (s *stream) WriteEvent(_ context.Context, ev *a2e.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return errDone
	}
	s.begin(http.StatusOK)
	return s.message(ev, a2e.TypeEvent, strconv.Itoa(ev.Seq))
}

// finish sends the answer, nil where there is none, and ends the stream.
func (s *stream) finish(status int, answer *a2e.CallResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.begin(status)
	if answer == nil {
		return
	}
	err := s.message(answer, a2e.TypeCallResponse, "")
	var unencodable *a2e.EncodeError
	if errors.As(err, &unencodable) {
		_ = s.message(unsayable(answer), a2e.TypeCallResponse, "")
	}
}

// unsayable takes the place of an answer that has no JSON form.
func unsayable(answer *a2e.CallResponse) *a2e.CallResponse {
	return a2e.Failure(answer.ReqID, answer.Name, a2e.AsError(errors.New("answer has no JSON form")), 0)
}

// abort ends a stream in a way that a client can tell from a good end. One that has not begun can be answered with the error.
func (s *stream) abort(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	if s.begun {
		panic(http.ErrAbortHandler)
	}
	return err
}

// begin sends the head, once.
func (s *stream) begin(status int) {
	if s.begun {
		return
	}
	s.begun = true
	s.w.Header().Set("Content-Type", s.kind)
	s.w.Header().Set("X-Accel-Buffering", "no") // or a proxy collects what should be there at once
	s.w.WriteHeader(status)
}

// message writes one message, whole. Nothing is written after a write that failed.
func (s *stream) message(m a2e.Message, name, id string) error {
	var b bytes.Buffer
	if s.kind == kindSSE {
		b.WriteString("event: " + name + "\n")
		if id != "" {
			b.WriteString("id: " + id + "\n")
		}
		b.WriteString("data: ")
	}
	if err := a2e.NewEncoder(&b).Encode(m); err != nil {
		return err
	}
	if s.kind == kindSSE {
		b.WriteString("\n")
	}
	return s.write(b.Bytes())
}

func (s *stream) write(b []byte) error {
	if s.err != nil {
		return s.err
	}
	_ = s.c.SetWriteDeadline(time.Now().Add(slowReader))
	if _, s.err = s.w.Write(b); s.err == nil {
		if err := s.c.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			s.err = err
		}
	}
	if s.err != nil {
		s.hangUp()
	}
	return s.err
}

// beating gives signs of life until it is stopped, which the caller does. Lines have none: JSON has no comments.
func (s *stream) beating(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		for wait := firstBeat; ; wait = beatEvery {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
				s.beat()
			}
		}
	})
	return func() {
		cancel()
		group.Wait()
	}
}

func (s *stream) beat() {
	if !s.mu.TryLock() {
		return // something is being said just now
	}
	defer s.mu.Unlock()
	if s.done {
		return
	}
	s.begin(http.StatusOK)
	sign := []byte(nil)
	if s.kind == kindSSE {
		sign = []byte(": \n\n")
	}
	_ = s.write(sign)
}
