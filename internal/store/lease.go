package store

import (
	"context"
	"database/sql"
	"time"
)

// serverClock is the time by the database's clock, in microseconds since the Unix epoch: supervisors need not agree on theirs.
const serverClock = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// leaseLimit is how long the server may take for anything about leases.
const leaseLimit = 3 * time.Second

// Leases are the rows by which supervisors that share a server know of one another. Nothing here waits for those who write calls.
type Leases struct{ db *sql.DB }

// Leases returns the leases of a store, nil where it is a file: who shares a file knows of others by their locks.
func (s *Store) Leases() *Leases { return s.leases }

// Enroll makes a supervisor known.
func (l *Leases) Enroll(ctx context.Context, instance, host string) error {
	ctx, cancel := context.WithTimeout(ctx, leaseLimit)
	defer cancel()
	_, err := l.db.ExecContext(ctx, `INSERT INTO supervisors (instance, host, started, beat) VALUES (?, ?, `+serverClock+`, `+serverClock+`)`, instance, host)
	return err
}

// Beat says that a supervisor lives, and tells of all: for how long each has been silent, and whether it was declared dead. It
// reports whether the one that beats still counts as alive.
func (l *Leases) Beat(ctx context.Context, instance string, tell func(instance string, silent time.Duration, dead bool)) (alive bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, leaseLimit)
	defer cancel()
	n, err := affected(l.db.ExecContext(ctx, `UPDATE supervisors SET beat = `+serverClock+` WHERE instance = ? AND dead = 0`, instance))
	if err != nil || n == 0 {
		return false, err
	}
	rows, err := l.db.QueryContext(ctx, `SELECT instance, `+serverClock+` - beat, dead FROM supervisors`)
	if err != nil {
		return true, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var silent, dead int64
		if err := rows.Scan(&id, &silent, &dead); err != nil {
			return true, err
		}
		tell(id, time.Duration(silent)*time.Microsecond, dead != 0)
	}
	return true, rows.Err()
}

// Declare declares a supervisor dead that has been silent for so long, and reports whether it did: of several who do it at the
// same time one succeeds.
func (l *Leases) Declare(ctx context.Context, instance string, silent time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseLimit)
	defer cancel()
	n, err := affected(l.db.ExecContext(ctx, `UPDATE supervisors SET dead = `+serverClock+` WHERE instance = ? AND dead = 0 AND beat < `+serverClock+` - ?`,
		instance, silent.Microseconds()))
	return n > 0, err
}

// Leave forgets a supervisor.
func (l *Leases) Leave(ctx context.Context, instance string) error {
	ctx, cancel := context.WithTimeout(ctx, leaseLimit)
	defer cancel()
	_, err := l.db.ExecContext(ctx, `DELETE FROM supervisors WHERE instance = ?`, instance)
	return err
}

// oldCancel is how long it is kept that a call is to be cancelled whose supervisor does not look.
const oldCancel = time.Hour

// AskCancel asks the supervisor of a call to cancel it, and reports whether there is a way to.
func (s *Store) AskCancel(ctx context.Context, call string, operator bool) (bool, error) {
	if s.leases == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, leaseLimit)
	defer cancel()
	_, err := s.leases.db.ExecContext(ctx, `DELETE FROM cancels WHERE at < `+serverClock+` - ?`, oldCancel.Microseconds())
	if err == nil {
		_, err = s.leases.db.ExecContext(ctx, `INSERT INTO cancels (call, operator, at) VALUES (?, ?, `+serverClock+`) ON CONFLICT DO NOTHING`, call, operator)
	}
	return err == nil, err
}

// Cancels takes what others asked a supervisor to cancel.
func (s *Store) Cancels(ctx context.Context, instance string, tell func(call string, operator bool)) error {
	if s.leases == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, leaseLimit)
	defer cancel()
	rows, err := s.leases.db.QueryContext(ctx, `DELETE FROM cancels USING calls WHERE calls.id = cancels.call AND calls.instance = ?
		RETURNING cancels.call, cancels.operator`, instance)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var call string
		var operator bool
		if err := rows.Scan(&call, &operator); err != nil {
			return err
		}
		tell(call, operator)
	}
	return rows.Err()
}
