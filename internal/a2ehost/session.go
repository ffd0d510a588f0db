package a2ehost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

// ErrHungUp: the peer is gone, or took no line for too long. Its calls were cancelled.
var ErrHungUp = errors.New("peer has hung up")

// ErrTooManyFaults: the peer sent nothing but bad lines and is no longer listened to.
var ErrTooManyFaults = fmt.Errorf("%d bad lines in a row", maxFaults)

// errShutdown: the time that a shutdown message gave has passed.
var errShutdown = errors.New("shutdown time has passed")

const (
	maxFaults   = 100                    // bad lines in a row
	maxShutdown = 10 * time.Minute       // the longest time that a shutdown message can give
	probeEvery  = 100 * time.Millisecond // how often a peer with calls in flight is looked at
)

// source is where a session's messages come from, as [a2e.Decoder] has it.
type source interface {
	Decode() (a2e.Message, error)
	Size() int // of the last message, in bytes
}

// sink is where they go, as [a2e.Encoder] has it.
type sink interface{ Encode(m a2e.Message) error }

// session is one peer's.
type session struct {
	host *Host
	id   string
	log  *slog.Logger

	in     source
	out    sink
	hangUp context.CancelCauseFunc // cancels every call and ends the reading

	calls sync.WaitGroup
	line  <-chan struct{} // closed once the newest call has its slot; the reading's own
	room  chan struct{}   // requests taken, running or waiting; see weight
	slots chan struct{}   // calls that run
	claim claim           // the reading's own
	turns turns
	act   *activity
	busy  chan struct{} // says that something is in flight

	ended func()                           // is told that nothing more is read; nil: nobody
	owner func(auth.Identity, claim) error // says why an identity may not have the session from now on; nil: any may
}

// Serve speaks A2E on one pair of streams until its end. It returns nil when the peer's input ended or it asked for a
// shutdown and every call has been answered; [ErrHungUp] when the peer is gone; [ErrTooManyFaults]; an error that wraps
// [ErrSlowLine] or tells that there was no memory for a line; or ctx's cause when ctx ended, which cancels the calls. In
// every case no call is running any more.
//
// R and w stay the caller's to close. While a Read waits it can only be ended when r is a file or has deadlines, or by
// closing it where it is another [io.Closer].
func (h *Host) Serve(ctx context.Context, r io.Reader, w io.Writer) error {
	return h.serve(ctx, r, w, newActivity(), nil)
}

func (h *Host) serve(ctx context.Context, r io.Reader, w io.Writer, act *activity, peer *auth.Peer) error {
	in, err := newInput(r)
	if err != nil {
		return err
	}
	defer in.close()
	out := newOutput(w, h.opt.WriteTimeout)

	ctx, cancel := context.WithCancelCause(ctx)
	clocked := &lineClock{input: in, most: h.opt.LineTimeout, act: act}
	s := h.newSession(act, a2e.NewDecoder(clocked, h.opt.MaxLine).Within(h.memory.lend(ctx)), a2e.NewEncoder(out), cancel)
	s.claim.shown.Peer = peer
	s.ended = func() {
		if h.opt.InputEnded != nil && ctx.Err() == nil {
			h.opt.InputEnded()
		}
	}
	var helpers sync.WaitGroup
	helpers.Go(func() {
		<-ctx.Done()
		out.limit(h.opt.FlushTimeout)
		in.interrupt()
	})
	helpers.Go(func() { s.watch(ctx, newProbe(w)) })

	err = s.run(ctx)
	cancel(nil)
	helpers.Wait()
	return err
}

// run reads until there is nothing more to read, and returns once all calls are answered.
func (s *session) run(ctx context.Context) error {
	grace, err := s.read(ctx)
	if s.ended != nil {
		s.ended()
	}
	s.drain(grace)
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, errShutdown) {
		err = cause
	}
	s.farewell(context.Cause(ctx))
	return err
}

func (h *Host) newSession(act *activity, in source, out sink, hangUp context.CancelCauseFunc) *session {
	id := a2e.NewID()
	return &session{
		host: h, id: id, log: h.opt.Log.With("session", id),
		in: in, out: out, hangUp: hangUp, act: act, turns: turns{last: map[string]chan struct{}{}},
		room:  make(chan struct{}, h.opt.MaxParallel+h.opt.MaxWaiting),
		slots: make(chan struct{}, h.opt.MaxParallel),
		busy:  make(chan struct{}, 1),
	}
}

// read takes requests until there are no more. It returns the time that calls in flight may still take, below zero
// without a limit.
func (s *session) read(ctx context.Context) (grace time.Duration, err error) {
	faults := 0
	for ctx.Err() == nil {
		m, err := s.in.Decode()
		var bad *a2e.DecodeError
		switch {
		case errors.As(err, &bad):
			s.refuse(bad)
			if bad.Final {
				return -1, bad
			}
			if faults++; faults == maxFaults {
				s.send(a2e.ErrorReport("", a2e.Errorf(a2e.InvalidMessage, "closing after %w", ErrTooManyFaults)))
				return -1, ErrTooManyFaults
			}
			continue
		case errors.Is(err, io.EOF):
			return -1, nil
		case err != nil:
			s.hangUp(fmt.Errorf("%w: %w", ErrHungUp, err))
			return -1, context.Cause(ctx)
		}
		faults = 0
		if bye, ok := m.(*a2e.Shutdown); ok {
			return time.Duration(min(bye.Timeout, maxShutdown.Seconds()) * float64(time.Second)), nil
		}
		s.handle(ctx, m)
	}
	return -1, context.Cause(ctx)
}

// farewell tells the peer why its session was ended, where that is said in the protocol's words.
func (s *session) farewell(cause error) {
	var why *a2e.Error
	if errors.As(cause, &why) {
		_ = s.send(a2e.ErrorReport("", why))
	}
}

// drain waits until all calls are answered, and cancels them after grace.
func (s *session) drain(grace time.Duration) {
	if grace >= 0 {
		late := time.AfterFunc(grace, func() { s.hangUp(errShutdown) })
		defer late.Stop()
	}
	s.calls.Wait()
}

// watch hangs up when the peer is gone while calls are in flight. The reading alone would not tell: it ends when the peer
// has closed its sending half, which is no reason to cancel, and it rests while there is no room.
func (s *session) watch(ctx context.Context, gone func() bool) {
	tick := time.NewTicker(probeEvery)
	tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.busy:
		}
		tick.Reset(probeEvery)
		for s.act.inFlight.Load() > 0 {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if gone() {
				s.hangUp(ErrHungUp)
				return
			}
		}
		tick.Stop()
	}
}

// send writes m. When that fails the peer has hung up, unless it is only away; when m has no JSON form the error is
// returned.
func (s *session) send(m a2e.Message) error {
	err := s.out.Encode(m)
	var unencodable *a2e.EncodeError
	if err != nil && !errors.As(err, &unencodable) && !errors.Is(err, errUnheard) {
		s.hangUp(fmt.Errorf("%w: %w", ErrHungUp, err))
	}
	return err
}
