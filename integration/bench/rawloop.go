package main

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// rawLoop serves calls with started processes and nothing else. It works as hotcell does: a call that finds a process that
// waits takes it, one that finds none starts its own; one goroutine starts the next ones ahead, as many as hotcell had
// waiting, and gives way to calls that start their own, for two seconds at most; what has served is removed in the
// background, and each caller has at most one removal outstanding.
type rawLoop struct {
	start starter
	stock int
	cold  atomic.Int64 // calls that start a process of their own
	ahead chan *peer   // nil: nothing is started ahead
	room  chan struct{}
	stop  context.CancelFunc

	filling, ending sync.WaitGroup

	removing chan struct{}
	mu       sync.Mutex
	failed   error
}

// loop is the raw counterpart of a load: the same container or bundle in the same control groups, the same lines in and out.
func (b *bench) loop(l sustained, at int) (work, error) {
	start := b.yard.copied(framesSkill, true)
	if l.flavor == onOCI {
		start = b.yard.bundles(framesSkill, true)
	}
	r := &rawLoop{start: start, stock: 1, removing: make(chan struct{}, at)}
	if s := b.yard.sites[siteKey{l.flavor, true}]; s != nil {
		r.stock = max(r.stock, s.stock)
	}
	return work{
		before: func(ctx context.Context) error {
			p, err := start(ctx) // learns what the cells look like
			if err != nil {
				return err
			}
			if err := errors.Join(p.talk(ctx, time.Now(), &timing{}), p.end(ctx)); err != nil || !l.warm {
				return err
			}
			r.fill(ctx)
			return r.full(ctx)
		},
		call: r.call,
		after: func(ctx context.Context) error {
			r.ending.Wait()
			return r.full(ctx)
		},
		clean: r.clean,
	}, nil
}

// fill starts processes ahead until the loop is drained.
func (r *rawLoop) fill(ctx context.Context) {
	r.ahead, r.room = make(chan *peer, r.stock), make(chan struct{}, r.stock)
	filling, cancel := context.WithCancel(ctx)
	r.stop = cancel
	for range r.stock {
		r.room <- struct{}{}
	}
	r.filling.Go(func() {
		for {
			select {
			case <-filling.Done():
				return
			case <-r.room:
			}
			r.giveWay(filling)
			p, err := r.start(ctx)
			if err == nil {
				err = p.ready(ctx)
			}
			if err != nil {
				r.fail(err)
				return
			}
			r.ahead <- p
		}
	})
}

// full waits until as many processes wait as can.
func (r *rawLoop) full(ctx context.Context) error {
	return errors.Join(await(ctx, func() bool { return len(r.ahead) == cap(r.ahead) || r.err() != nil }), r.err())
}

func (r *rawLoop) call(ctx context.Context) error {
	p, err := r.take(ctx)
	if err != nil {
		return err
	}
	if err := p.talk(ctx, time.Now(), &timing{}); err != nil {
		return errors.Join(err, p.end(ctx))
	}
	r.removing <- struct{}{}
	r.ending.Go(func() {
		r.fail(p.end(ctx))
		<-r.removing
	})
	return r.err()
}

func (r *rawLoop) take(ctx context.Context) (*peer, error) {
	select {
	case p := <-r.ahead: // of a nil channel never
		r.room <- struct{}{}
		return p, nil
	default:
		r.cold.Add(1)
		defer r.cold.Add(-1)
		return r.start(ctx)
	}
}

// giveWay waits as long as calls start processes of their own.
func (r *rawLoop) giveWay(ctx context.Context) {
	began := time.Now()
	_ = await(ctx, func() bool { return r.cold.Load() == 0 || time.Since(began) > 2*time.Second }) // or until it is drained
}

// clean removes what was started ahead in vain.
func (r *rawLoop) clean(ctx context.Context) error {
	r.ending.Wait()
	if r.ahead == nil {
		return nil
	}
	r.stop()
	r.filling.Wait()
	for len(r.ahead) > 0 {
		var unasked *exec.ExitError // without a request that is how they end
		if err := (<-r.ahead).end(ctx); err != nil && !errors.As(err, &unasked) {
			r.fail(err)
		}
	}
	return r.err()
}

func (r *rawLoop) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = errors.Join(r.failed, err)
}

func (r *rawLoop) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}
