package store

import (
	"context"
	"database/sql"
	"slices"
	"time"
)

// lull is how long the first event of a batch waits for others, if nothing is urgent.
const lull = 40 * time.Millisecond

// mostPause is how long what waits in the intake waits, at most, for the next try to take it over.
const mostPause = 5 * time.Second

// run is the writer: it ends once the queue is closed and empty.
func (s *Store) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	retry := time.AfterFunc(time.Hour, s.queue.nudge)
	defer retry.Stop()
	pause := lull
	for {
		b := s.queue.take()
		if b.dropped > 0 {
			s.lament(b.dropped, errBehind)
		}
		switch {
		case b.last:
			s.lament(0, nil)
			return
		case len(b.urgent)+len(b.late) > 0 || b.due && s.waits():
			s.commit(b)
			pause = min(2*pause, mostPause)
			if s.unpoured == nil {
				pause = lull
			}
			if s.waits() {
				retry.Reset(pause)
			}
			continue
		}
		<-s.queue.wake
		timer.Reset(lull)
		for waiting := !s.queue.pressing(); waiting; {
			select {
			case <-s.queue.wake:
				waiting = !s.queue.pressing()
			case <-timer.C:
				waiting = false
			}
		}
	}
}

// commit writes a batch. Where that fails, all of it is tried again apart, so that none suffers for its neighbour: a change that
// its caller is refused takes along nothing that others said, and what waits in the intake no answer. What nobody waits for is given up where it fails by itself.
func (s *Store) commit(b batch) {
	urgent := b.urgent[:0:0]
	for _, o := range b.urgent {
		if o.taken.CompareAndSwap(false, true) {
			urgent = append(urgent, o)
		}
	}
	late := s.pack(b.late)
	err := s.transact(slices.Concat(late, urgent), true)
	lost := err
	if err != nil && len(urgent) > 0 && !s.engine.busy(err) {
		s.unpoured = nil // of the neighbour's
		lost = s.transact(late, true)
	}
	if lost != nil && len(late) > 0 {
		s.lament(len(b.late), lost)
	}
	for _, o := range urgent {
		if err == nil || len(late)+len(urgent) == 1 && !s.waits() || s.engine.busy(err) {
			o.done <- err
			continue
		}
		o.done <- s.transact([]*op{o}, false)
	}
}

// lamentEvery is how often the log tells of events that are lost: who makes them must not fill it.
const lamentEvery = 10 * time.Second

// lament counts events that were not journalled and tells of them now and then; no error means that these were the last.
// Only the writer calls it.
func (s *Store) lament(events int, err error) {
	s.lost += events
	s.watch.Lost(events)
	if err == nil {
		err = s.lostTo
	}
	s.lostTo = err
	if now := s.now(); s.lost > 0 && (events == 0 || now.Sub(s.lamented) >= lamentEvery) {
		s.log.Warn("events or audit entries were not journalled", "events", s.lost, "error", err)
		s.lost, s.lamented = 0, now
	}
}

// transact writes ops in one transaction, and pours what waits in the intake. What a server takes back for reasons of its own is tried again for a while.
func (s *Store) transact(ops []*op, pours bool) (err error) {
	if len(ops) == 0 && !s.waits() {
		return nil
	}
	began := time.Now()
	defer func() { s.watch.Wrote(time.Since(began), err) }()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		if err = s.try(ops, pours); err == nil || !s.engine.again(err) || time.Since(began) > busyLimit {
			return err
		}
		time.Sleep(pause)
	}
}

func (s *Store) try(ops []*op, pours bool) (err error) {
	defer func() {
		if err != nil && pours {
			s.unpoured = err
		}
	}()
	ctx, cancel := s.engine.within(context.Background())
	defer cancel()
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	var l load
	if pours {
		l, err = s.pour(tx)
	}
	for i := 0; i < len(ops) && err == nil; i++ {
		err = ops[i].do(tx)
	}
	if err != nil {
		_ = tx.Rollback() // the error that counts is the one before
		return err
	}
	if err = tx.Commit(); err == nil && len(l.calls) > 0 {
		s.poured(l)
	}
	return err
}

// stuckLimit is how long one who no longer waits is kept by a transaction that has begun.
const stuckLimit = 2 * busyLimit

// ask has the writer do something, and waits until it is committed. When ctx ends before the writer has begun, it is not
// done at all. Only of a disk that does not answer is it not known whether it is.
func (s *Store) ask(ctx context.Context, do func(tx *sql.Tx) error) error {
	o := &op{do: do, done: make(chan error, 1)}
	if !s.queue.put(o) {
		return ErrClosed
	}
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		if o.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
	}
	select {
	case err := <-o.done:
		return err
	case <-time.After(s.stuck):
		return errStuck
	}
}

// tell has the writer do something when it finds the time.
func (s *Store) tell(size int, do func(tx *sql.Tx) error) {
	s.queue.put(&op{do: do, size: size + opOverhead, late: true})
}
