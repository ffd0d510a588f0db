package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// peer is a process without hotcell that speaks lines: in a container, under runc, or on this machine.
type peer struct {
	in  io.Writer
	out *bufio.Reader
	cut func()                          // lets reads fail
	end func(ctx context.Context) error // lets it end, and removes what is left
}

// starter starts a peer.
type starter func(ctx context.Context) (*peer, error)

// ready reads its first line, which says that it waits for a request.
func (p *peer) ready(ctx context.Context) error {
	defer context.AfterFunc(ctx, p.cut)()
	if _, err := p.out.ReadString('\n'); err != nil {
		return fmt.Errorf("no ready line: %w", err)
	}
	return nil
}

// talk hands in a request and reads until the result.
func (p *peer) talk(ctx context.Context, began time.Time, t *timing) error {
	defer context.AfterFunc(ctx, p.cut)()
	if _, err := io.WriteString(p.in, request); err != nil {
		return err
	}
	for {
		line, err := p.out.ReadString('\n')
		switch {
		case err != nil:
			return fmt.Errorf("no result: %w", err)
		case t.first == 0 && strings.Contains(line, `"skill/event"`):
			t.first = time.Since(began)
		case strings.Contains(line, `"skill/result"`):
			t.done = time.Since(began)
			_, _ = io.WriteString(p.in, `{"type":"cell/done"}`+"\n") // to who may have ended already
			return nil
		}
	}
}

// cold is a whole life of a peer.
func (start starter) cold(ctx context.Context) (t timing, err error) {
	began := time.Now()
	p, err := start(ctx)
	if err != nil {
		return t, err
	}
	err = p.talk(ctx, began, &t)
	err = errors.Join(err, p.end(ctx))
	t.gone = time.Since(began)
	return t, errors.Join(err, pause(ctx))
}

// waiting is a talk with a peer that was started before. That is not part of it.
func (start starter) waiting(ctx context.Context) (t timing, err error) {
	p, err := start(ctx)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, p.end(ctx)) }()
	if err := errors.Join(p.ready(ctx), pause(ctx)); err != nil {
		return t, err
	}
	return t, p.talk(ctx, time.Now(), &t)
}
