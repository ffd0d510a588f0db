package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

const (
	eventStream = "text/event-stream"
	beatEvery   = 15 * time.Second // between signs of life
	slowReader  = 30 * time.Second // for a browser to take one piece
	whoAgain    = 30 * time.Second // after which a live page asks anew who watches
)

// piece is a part of a live page: the server-sent event that a page's sse-swap names, and its HTML.
type piece struct {
	event string
	html  []byte
}

// errEnded ends a live page: there will be no more. The page closes the stream at the event "end".
var errEnded = errors.New("nothing more will come")

// live keeps parts of a page up to date until the browser leaves: next is called at once and then every so often, and what it
// returns is sent where it differs from what was sent under the same name before. With [errEnded] the last pieces are sent and the
// page closes the stream; with another error the connection ends, and the browser makes a new one.
func (v *visit) live(every time.Duration, next func(ctx context.Context) ([]piece, error)) error {
	if v.r.Method == http.MethodHead {
		v.w.Header().Set("Content-Type", eventStream)
		return nil
	}
	give, ok := v.streams.Take(v.who.Principal, 1)
	if !ok {
		return busy()
	}
	defer give()
	s := &stream{v: v, c: http.NewResponseController(v.w), sent: map[string][32]byte{}}
	_ = s.c.SetReadDeadline(time.Time{})
	v.w.Header().Set("Content-Type", eventStream)
	v.w.Header().Set("X-Accel-Buffering", "no")
	v.w.WriteHeader(http.StatusOK)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for asked := time.Now(); ; {
		if time.Since(asked) > whoAgain {
			if asked = time.Now(); v.identify() != nil {
				return s.close()
			}
		}
		pieces, err := next(v.ctx())
		if err := s.send(pieces); err != nil {
			return nil //nolint:nilerr // the browser left
		}
		if err != nil {
			return s.over(err)
		}
		select {
		case <-v.ctx().Done():
			return nil
		case <-v.closing:
			return nil
		case <-tick.C:
		}
	}
}

// stream is the wire of a live page.
type stream struct {
	v    *visit
	c    *http.ResponseController
	sent map[string][32]byte
	last time.Time
}

func (s *stream) send(pieces []piece) error {
	for _, p := range pieces {
		sum := sha256.Sum256(p.html)
		if s.sent[p.event] == sum {
			continue
		}
		s.sent[p.event] = sum
		if err := s.write(event(p)); err != nil {
			return err
		}
	}
	if time.Since(s.last) > beatEvery {
		return s.write([]byte(": \n\n"))
	}
	return nil
}

// event is a piece on the wire.
func event(p piece) []byte {
	var b bytes.Buffer
	b.WriteString("event: " + p.event + "\n")
	for line := range bytes.SplitSeq(bytes.ReplaceAll(p.html, []byte("\r"), nil), []byte("\n")) {
		b.WriteString("data: ")
		b.Write(line)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// over ends a stream. Where something failed that may work again, the browser does not see the end: it comes back by itself.
func (s *stream) over(err error) error {
	if errors.Is(err, errEnded) || errors.Is(err, control.ErrNotFound) {
		return s.close()
	}
	s.v.troubleOf(err) // which notes what nobody expects
	return nil
}

func (s *stream) close() error {
	_ = s.write(event(piece{event: "end"}))
	return nil
}

func (s *stream) write(b []byte) error {
	s.last = time.Now()
	_ = s.c.SetWriteDeadline(s.last.Add(slowReader))
	if _, err := s.v.w.Write(b); err != nil {
		return err
	}
	if err := s.c.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// piece draws a part for a live page: the template defined as what in web/pages/NAME.html.
func (v *visit) piece(event, name, what string, data any) (piece, error) {
	b, err := v.drawPart(name, what, frame{CSRF: v.mark, Mark: v.drawn.mark, Path: v.r.URL.Path, Data: data})
	return piece{event, b}, err
}
