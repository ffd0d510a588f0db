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
	if s.intake.n.Load() > 0 && time.Now().UnixNano()-s.intake.oldest.Load() > int64(lagLimit) {
		if err := s.flush(ctx); err != nil {
			return nil, err
		}
	}
	key := keyOfRequest(&r)
	before := func() (*control.Record, error) {
		if s.company.first(key, r.Accepted.Sub(since)) {
			return nil, nil
		}
		stmt := s.before
		if s.pen.TryLock() { // the connection that wrote last knows what is there
			defer s.pen.Unlock()
			stmt = s.stmts.earlier
		}
		old, err := scan(stmt.QueryRow(r.ReqID, r.Principal, r.Agent, since.UnixMicro()))
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		return &old, err
	}
	for {
		earlier, err := s.intake.take(ctx, r, s.synced, before)
		if errors.Is(err, errWaits) {
			if err = s.flush(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if earlier == nil {
			s.company.accepted(r.ID, key)
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
	return s.ask(ctx, func(*sql.Tx) error { return nil })
}

// readLimit is how long who reads waits for what was accepted just now to be in the journal.
const readLimit = time.Second

// freshen is flush for who reads: where nothing can be written, what is there is told.
func (s *Store) freshen(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	_ = s.flush(ctx) // who writes is told
}

// pour writes what waits in the intake, in a transaction. It returns what that was.
func (s *Store) pour(tx *sql.Tx) ([]entry, error) {
	if !s.waits() {
		return nil, nil
	}
	waiting, err := s.intake.all()
	for i := range waiting {
		if err != nil {
			return nil, err
		}
		var view []byte
		if view, err = encode(waiting[i].Call); err == nil {
			err = s.insert(tx, &waiting[i].Record, view, 0)
		}
	}
	if err == nil {
		err = s.company.look(tx)
	}
	return waiting, err
}

// insert writes a call that was accepted, once.
func (s *Store) insert(tx *sql.Tx, r *control.Record, view []byte, counted int64) error {
	_, err := tx.Stmt(s.stmts.accept).Exec(r.ID, r.ReqID, r.Principal, r.Agent, r.Digest, r.Instance, r.Accepted.UnixMicro(), view, counted)
	return err
}
