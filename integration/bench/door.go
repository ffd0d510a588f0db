package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/a2ehost"
)

// The ways to the same supervisor.
const (
	inProcess  = "fake cells, called in the process"
	overSocket = "fake cells, A2E over a unix socket"
	overStdio  = "fake cells, A2E over a pair of pipes"
)

// doorSection measures what a front door adds to a call. Cells are the fake driver's, so that a tenth of a millisecond shows.
func doorSection(ctx context.Context, b *bench) error {
	return errors.Join(a2eSection(ctx, b), everyDoorSection(ctx, b))
}

// everyDoorSection measures all doors, with a skill that costs nothing.
func everyDoorSection(ctx context.Context, b *bench) (err error) {
	wanted := b.wants("doors", hostedDirect)
	for _, door := range everyDoor() {
		wanted = wanted || b.wants("doors", door.name)
	}
	if !wanted {
		return nil
	}
	dir, err := b.yard.folder()
	if err != nil {
		return err
	}
	d, err := openDoorway(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	own, stop := context.WithCancel(ctx)
	d.end = append(d.end, stop)
	all, err := d.every(own, dir)
	if err != nil {
		return err
	}
	return b.race(ctx, "doors", 5*b.rounds, all)
}

func a2eSection(ctx context.Context, b *bench) error {
	if !b.wants("doors", inProcess) && !b.wants("doors", overSocket) && !b.wants("doors", overStdio) {
		return nil
	}
	dir, err := b.yard.folder()
	if err != nil {
		return err
	}
	u, err := fakeSupervisor(dir, 1, speaker)
	if err != nil {
		return err
	}
	defer func() { _ = u.close() }()
	host, err := a2ehost.New(a2ehost.Options{Handler: u})
	if err != nil {
		return err
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	socket, endSocket, err := dialHost(ctx, host, filepath.Join(dir, "s"), &serving)
	if err != nil {
		return err
	}
	defer endSocket()
	pipes, endPipes, err := pipeHost(ctx, host, &serving)
	if err != nil {
		return err
	}
	defer endPipes()
	return b.race(ctx, "doors", 5*b.rounds, []contender{
		{inProcess, calmly(func(ctx context.Context) (timing, error) { return u.call(ctx, 0) })},
		{overSocket, calmly(socket.call)},
		{overStdio, calmly(pipes.call)},
	})
}

// calmly lets a call's journal come to rest after it.
func calmly(call func(context.Context) (timing, error)) func(context.Context) (timing, error) {
	return func(ctx context.Context) (timing, error) {
		t, err := call(ctx)
		return t, errors.Join(err, rest(ctx, time.Millisecond))
	}
}

// session is the caller's end of one.
type session struct {
	enc *a2e.Encoder
	dec *a2e.Decoder
}

func (c *session) call(ctx context.Context) (t timing, err error) {
	began := time.Now()
	err = c.enc.Encode(&a2e.CallRequest{
		Header: a2e.Header{ID: a2e.NewID()}, Name: skillNumber(0), Arguments: map[string]any{"text": text},
	})
	for err == nil {
		var m a2e.Message
		if m, err = c.dec.Decode(); err != nil {
			break
		}
		switch m := m.(type) {
		case *a2e.Event:
			if t.first == 0 {
				t.first = time.Since(began)
			}
		case *a2e.CallResponse:
			t.done = time.Since(began)
			if m.Error != nil {
				return t, m.Error
			}
			return t, ctx.Err()
		}
	}
	return t, err
}

// dialHost serves one session on a unix socket.
func dialHost(ctx context.Context, host *a2ehost.Host, path string, serving *sync.WaitGroup) (*session, func(), error) {
	ln, err := a2ehost.Listen(path, 0o600)
	if err != nil {
		return nil, nil, err
	}
	serving.Go(func() { _ = host.ServeSocket(ctx, ln) })
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, nil, errors.Join(err, ln.Close())
	}
	return &session{a2e.NewEncoder(conn), a2e.NewDecoder(conn, 0)}, func() { _ = conn.Close(); _ = ln.Close() }, nil
}

// pipeHost serves one session on pipes, as on stdin and stdout.
func pipeHost(ctx context.Context, host *a2ehost.Host, serving *sync.WaitGroup) (*session, func(), error) {
	in, toHost, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	fromHost, out, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, in.Close(), toHost.Close())
	}
	serving.Go(func() { _ = host.Serve(ctx, in, out) })
	return &session{a2e.NewEncoder(toHost), a2e.NewDecoder(fromHost, 0)}, func() {
		for _, f := range []*os.File{toHost, in, fromHost, out} {
			_ = f.Close()
		}
	}, nil
}
