package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
)

// inbox is the wall's inbound side. Its goroutine does nothing that can block once the request has been handed over, so
// that a hang-up is noticed whatever the rest of the runner waits for.
type inbox struct {
	setup     chan inbound  // files, leases and one request, in order
	cancelled chan struct{} // closed by a cancel line
	notes     chan string   // what was wrong with later lines
	ports     *ports        // take the lines of the tunnel
}

// inbound is a line for the set-up.
type inbound struct {
	kind string
	line []byte
	err  error // the line cannot be used
}

// listen starts to read stdin. hangup is called when it ends and when the supervisor says done.
func listen(ctx context.Context, cfg Config, ports *ports, hangup context.CancelCauseFunc) *inbox {
	in := &inbox{setup: make(chan inbound), cancelled: make(chan struct{}), notes: make(chan string, 16), ports: ports}
	lines := wall.NewReader(cfg.Stdin, wall.MaxLine, max(wall.MaxLong, int(cfg.Args.Output)))
	go func() { hangup(in.read(ctx, lines)) }()
	return in
}

// read reads to the end, and returns why that is the end.
func (in *inbox) read(ctx context.Context, lines *wall.Reader) error {
	requested := false
	for {
		line, err := lines.Next()
		if err != nil {
			return fmt.Errorf("stdin: %w", err)
		}
		m := inbound{kind: line.Type}
		switch {
		case line.Open:
			return fmt.Errorf("stdin: %w", io.ErrUnexpectedEOF)
		case line.Cut:
			m.err = fmt.Errorf("a line of type %q is %d bytes too long", line.Type, line.Dropped)
		default:
			m.kind = wall.TypeOf(line.Bytes)
		}
		switch m.kind {
		case wall.TypeDone:
			return errDone
		case wall.TypeCancel:
			if !in.isCancelled() {
				close(in.cancelled)
			}
			requested = true // nothing can start any more
		case wall.TypeData, wall.TypeCredit, wall.TypeClose, wall.TypeOpen:
			if m.err == nil {
				m.err = in.ports.handle(m.kind, line.Bytes)
			}
			if m.err != nil {
				in.note("the tunnel is broken: " + m.err.Error())
			}
		case wall.TypeFile, wall.TypeLease, wall.TypeRequest:
			if requested {
				in.note("the cell got a line of type " + m.kind + " after its request; it was ignored")
				continue
			}
			requested = m.kind == wall.TypeRequest
			m.line = bytes.Clone(line.Bytes)
			if m.kind == wall.TypeLease {
				clear(line.Bytes) // of the reader's buffer
			}
			select {
			case in.setup <- m:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// note keeps a message for later; when there are many, it is dropped.
func (in *inbox) note(s string) {
	select {
	case in.notes <- s:
	default:
	}
}

func (in *inbox) isCancelled() bool {
	select {
	case <-in.cancelled:
		return true
	default:
		return false
	}
}

// errCancelled is why a skill that was cancelled early did not start.
var errCancelled = errors.New("cancelled before the skill started")

// intake takes files and secrets up to the request, and returns the request. After an error it goes on taking lines, so
// that the supervisor can finish its sentence.
func (l *life) intake(ctx context.Context) ([]byte, error) {
	t := takings{
		input: l.cfg.path(wall.DirInput), secrets: l.cfg.path(wall.DirSecrets), lease: l.cfg.path(wall.LeasePath), admit: l.ports.admit,
	}
	defer t.close()
	rests := time.NewTimer(idle)
	defer rests.Stop()
	var first error
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-l.in.cancelled:
			return nil, errCancelled
		case <-rests.C:
			l.rehearse()
		case m := <-l.in.setup:
			err := m.err
			if err == nil {
				err = t.take(m)
			}
			if m.kind == wall.TypeLease {
				clear(m.line)
			}
			if first == nil {
				first = err
			}
			if m.kind == wall.TypeRequest {
				return m.line, first
			}
		}
	}
}
