package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/wall"
)

// handIn writes the lease, the input files and then the request to the cell. What the cell's stdin takes at once is written
// here; more of it in the background: a cell that does not read must not hold up its own deadline. The channel yields nil once
// all is written or the cell has gone, [errUntouched] when it had waited and took nothing, or what went wrong on this side.
func (s *Supervisor) handIn(ctx context.Context, cl *cell, c *call, p *plan, inputs fs.FS) <-chan error {
	handed := make(chan error, 1)
	lease := p.grants.lease // of this cell: another one gets another
	req := requestFor(c, p) // now: the call forgets it at its end
	if inputs == nil {
		request, err := requestLine(ctx, req)
		if err != nil {
			handed <- err
			return handed
		}
		hand := func() {
			err := sendLease(cl.lines, lease)
			if err == nil {
				err = sendLine(cl.lines, request)
			}
			handed <- s.handedTo(cl, c, err)
		}
		if len(lease)+len(request)+2 <= cl.stdio.Takes {
			hand()
		} else {
			s.tidying.Go(hand)
		}
		return handed
	}
	s.tidying.Go(func() { handed <- s.handedTo(cl, c, sendAll(ctx, cl.lines, req, lease, inputs)) })
	return handed
}

// sendAll hands in what takes its time: the request says how much is left after that.
func sendAll(ctx context.Context, lines *wall.Writer, req *a2e.CallRequest, lease []byte, inputs fs.FS) error {
	if err := sendLease(lines, lease); err != nil {
		return err
	}
	if err := sendFiles(lines, inputs); err != nil {
		return err
	}
	request, err := requestLine(ctx, req)
	if err != nil {
		return err
	}
	return sendLine(lines, request)
}

// handedTo is what an error of the hand-in means for the call.
func (s *Supervisor) handedTo(cl *cell, c *call, err error) error {
	var gone *wallError
	if !errors.As(err, &gone) {
		return err
	}
	s.logOf(c).Debug("a cell stopped reading", "error", err)
	if cl.waited && cl.mouth.untouched() {
		return errUntouched
	}
	return nil // its output says why
}

// wallError marks an error of writing to the cell, as against one of reading an input.
type wallError struct{ err error }

func (e *wallError) Error() string { return "write to the cell: " + e.err.Error() }

// sendLease writes the lease, where the call has one.
func sendLease(lines *wall.Writer, lease []byte) error {
	if lease == nil {
		return nil
	}
	return sendLine(lines, lease)
}

func sendLine(lines *wall.Writer, line []byte) error {
	if err := lines.Line(line); err != nil {
		return &wallError{err}
	}
	return nil
}

// requestLine is the request with the time that is left.
func requestLine(ctx context.Context, req *a2e.CallRequest) ([]byte, error) {
	if deadline, ok := ctx.Deadline(); ok {
		left := max(1, int(time.Until(deadline)/time.Second))
		req.Timeout = &left
	}
	b, err := req.MarshalJSON() // json.Marshal would go over it again
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	return b, nil
}

// sendFiles writes each regular file of inputs in chunks.
func sendFiles(lines *wall.Writer, inputs fs.FS) error {
	return fs.WalkDir(inputs, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return sendFile(lines, inputs, name)
	})
}

func sendFile(lines *wall.Writer, inputs fs.FS, name string) error {
	f, err := inputs.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	buf := make([]byte, wall.FileChunk)
	for {
		n, err := io.ReadFull(f, buf)
		final := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !final {
			return fmt.Errorf("%s: %w", name, err)
		}
		line := wall.File{Type: wall.TypeFile, Path: name, Mode: uint32(info.Mode().Perm()), Data: buf[:n], Final: final}
		if err := lines.Encode(line); err != nil {
			return &wallError{err}
		}
		if final {
			return nil
		}
	}
}
