package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// lagLimit is how long calls wait in the intake, at most, for more to be accepted without asking: then the journal itself takes no writes.
const lagLimit = time.Second

// acceptFirst is [Store.Accept] by way of the intake. Whoever waits for it is held up by a disk that does not answer no longer than by
// the writer.
func (s *Store) acceptFirst(ctx context.Context, r control.Record, since time.Time) (*control.Record, error) {
	type outcome struct {
		earlier *control.Record
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		earlier, err := s.enter(ctx, r, since)
		done <- outcome{earlier, err}
	}()
	select {
	case o := <-done:
		return o.earlier, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o.earlier, o.err
	case <-time.After(s.stuck):
		return nil, errStuck
	}
}

func (s *Store) enter(ctx context.Context, r control.Record, since time.Time) (*control.Record, error) {
	e, err := entryOf(&r)
	if err != nil {
		return nil, err
	}
	if s.waits() && time.Now().UnixNano()-s.intake.oldest.Load() > int64(lagLimit) {
		if err := s.flush(ctx); err != nil {
			return nil, err
		}
	}
	before := func() (*control.Record, error) {
		if s.company.first(e.key(), r.Accepted, since) {
			return nil, nil
		}
		old, err := scan(s.before.QueryRow(r.ReqID, r.Principal, r.Agent, since.UnixMicro()))
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		return &old, err
	}
	for {
		earlier, err := s.intake.take(ctx, e, before, func() { s.company.accepted(e.id, e.key()) })
		if errors.Is(err, errWaits) {
			if err = s.flush(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if earlier == nil {
			s.queue.nudge()
		}
		return earlier, nil
	}
}

// waits reports whether anything waits in the intake, as far as is known here.
func (s *Store) waits() bool { return s.intake != nil && s.intake.n.Load() > 0 }

// flush has the journal take over what waits in the intake.
func (s *Store) flush(ctx context.Context) error {
	if !s.waits() {
		return nil
	}
	return s.ask(ctx, func(*sql.Tx) error { return s.unpoured })
}

// readLimit is how long who reads waits for what was accepted just now to be in the journal.
const readLimit = time.Second

// freshen is flush for who reads, also of what other processes accepted: where nothing can be written, what is there is told.
func (s *Store) freshen(ctx context.Context) {
	if s.intake == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	_ = s.intake.locked(ctx, readLimit, s.intake.look) // who writes is told
	if !s.waits() {
		return
	}
	o := &op{do: func(*sql.Tx) error { return nil }, done: make(chan error, 1)}
	if !s.queue.put(o) {
		return
	}
	select { // and no longer, whatever the writer is at
	case <-o.done:
	case <-ctx.Done():
		o.taken.Store(true)
	}
}

// pour writes what waits in the intake, in a transaction. It returns what that was. An intake that can't be read holds up nothing else: what of
// it is known here is written.
func (s *Store) pour(tx *sql.Tx) (load, error) {
	s.unpoured = nil
	if !s.waits() {
		return load{}, nil
	}
	var l load
	l, s.unpoured = s.intake.all()
	seen := s.company.comings()
	for i := range l.calls {
		e := &l.calls[i]
		_, err := tx.Stmt(s.stmts.accept).Exec(e.id, e.reqID, e.principal, e.agent, e.digest, e.instance, e.accepted, []byte(e.view), 0)
		if err != nil {
			return load{}, err
		}
	}
	if s.unpoured != nil {
		return l, nil
	}
	return l, s.company.look(tx, seen)
}

// insert writes a call that was accepted, once.
func (s *Store) insert(tx *sql.Tx, r *control.Record, view []byte, counted int64) error {
	_, err := tx.Stmt(s.stmts.accept).Exec(r.ID, r.ReqID, r.Principal, r.Agent, r.Digest, r.Instance, r.Accepted.UnixMicro(), view, counted)
	return err
}

// poured tells the intake what was taken over. Where that fails, it is taken over once more by who opens the journal next, which changes
// nothing.
func (s *Store) poured(l load) {
	err := s.intake.over(l)
	if now := s.now(); err != nil && now.Sub(s.moaned) >= lamentEvery {
		s.log.Warn("the journal's intake can't be written", "error", err)
		s.moaned = now
	}
}
