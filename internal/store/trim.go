package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// What one transaction of a trim takes away at most, so that nobody waits long for it.
const (
	trimEvents = 64 // rows
	trimCalls  = 32
	trimPages  = 1000 // given back to the file system
	sparePages = 250  // free ones that are left in the file for the next calls
)

// Trim removes what is older than it is kept, and then the oldest calls and their events until the file is within its
// bound. A call in flight is never removed.
func (s *Store) Trim(ctx context.Context) error {
	if err := s.trim(ctx); err != nil && !errors.Is(err, ErrClosed) {
		return err
	}
	return s.engine.shrink(ctx, s.write, s.read)
}

func (s *Store) trim(ctx context.Context) error {
	now := s.now()
	for artifact, age := range map[bool]time.Duration{false: s.keep.Events, true: s.keep.Artifacts} {
		if err := s.repeat(ctx, dropEvents(artifact, now.Add(-age))); err != nil {
			return err
		}
	}
	for _, step := range []trimStep{dropRequests(now.Add(-s.keep.Events)), dropSpent(now.Add(-spentKept)), dropApprovals(now.Add(-oldApprovals))} {
		if err := s.repeat(ctx, step); err != nil {
			return err
		}
	}
	if s.keep.Calls > 0 {
		if err := s.repeat(ctx, dropCalls(now.Add(-s.keep.Calls), always)); err != nil {
			return err
		}
		if err := s.repeat(ctx, dropAudit(now.Add(-s.keep.Calls))); err != nil { // of calls that nobody journalled
			return err
		}
	}
	if err := s.repeat(ctx, dropPolicies(now)); err != nil {
		return err
	}
	if err := s.trimChain(ctx, now); err != nil {
		return err
	}
	if s.keep.Max == 0 {
		return nil
	}
	if err := s.repeat(ctx, dropCalls(now.Add(-s.keep.Replay), s.over())); err != nil {
		return err
	}
	if err := s.repeat(ctx, s.dropOldest(`DELETE FROM events WHERE n = (SELECT min(n) FROM events)`)); err != nil {
		return err
	}
	return s.repeat(ctx, s.dropOldest(`DELETE FROM requests WHERE call = (SELECT min(call) FROM requests)`))
}

// trimStep takes away a little, and reports whether there may be more.
type trimStep func(tx *sql.Tx) (more bool, err error)

func (s *Store) repeat(ctx context.Context, step trimStep) error {
	for more := true; more; {
		err := s.ask(ctx, func(tx *sql.Tx) (err error) { more, err = step(tx); return err })
		if err != nil {
			return err
		}
	}
	return nil
}

// over returns what reports whether the journal is over its bound. The audit has one of its own.
func (s *Store) over() func(tx *sql.Tx) (bool, error) {
	look := s.engine.measure()
	return func(tx *sql.Tx) (bool, error) { return look(tx, s.keep.Max) }
}

func always(*sql.Tx) (bool, error) { return true, nil }

func dropEvents(artifact bool, before time.Time) trimStep {
	return func(tx *sql.Tx) (bool, error) {
		n, err := affected(tx.Exec(`DELETE FROM events WHERE n IN (SELECT n FROM events WHERE artifact = ? AND at < ? ORDER BY at LIMIT ?)`,
			artifact, before.UnixMicro(), trimEvents))
		return n == trimEvents, err
	}
}

// dropOldest takes what a statement takes, as long as the file is over its bound.
func (s *Store) dropOldest(oldest string) trimStep {
	tooMuch := s.over()
	return func(tx *sql.Tx) (bool, error) {
		for range trimEvents {
			if over, err := tooMuch(tx); !over || err != nil {
				return false, err
			}
			n, err := affected(tx.Exec(oldest))
			if n == 0 || err != nil {
				return false, err
			}
		}
		return true, nil
	}
}

// dropCalls takes the oldest ended calls that had ended before a time, each after its events and audit entries, as long as need says so.
func dropCalls(before time.Time, need func(*sql.Tx) (bool, error)) trimStep {
	return func(tx *sql.Tx) (bool, error) {
		room := int64(trimEvents)
		for range trimCalls {
			if needed, err := need(tx); !needed || err != nil {
				return false, err
			}
			var n, accepted int64
			var id string
			err := tx.QueryRow(`SELECT n, id, accepted FROM calls WHERE accepted < ?1 AND ended <> 0 AND ended < ?1 ORDER BY accepted, n LIMIT 1`, before.UnixMicro()).Scan(&n, &id, &accepted)
			if errors.Is(err, sql.ErrNoRows) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			gone, err := affected(tx.Exec(`DELETE FROM events WHERE n IN (SELECT n FROM events WHERE call = ? ORDER BY first LIMIT ?)`, n, room))
			if room -= gone; room <= 0 || err != nil {
				return true, err
			}
			gone, err = affected(tx.Exec(`DELETE FROM audit WHERE n IN (SELECT n FROM audit WHERE call = ? LIMIT ?)`, id, room))
			if room -= gone; room <= 0 || err != nil {
				return true, err
			}
			if err := dropCall(tx, n, accepted, id); err != nil {
				return false, err
			}
		}
		return true, nil
	}
}

// dropCall takes a call whose events and audit entries are gone.
func dropCall(tx *sql.Tx, n, accepted int64, id string) error {
	_, asked := tx.Exec(`DELETE FROM requests WHERE call = ?`, n)
	_, ended := tx.Exec(`DELETE FROM ended WHERE accepted = ? AND id = ?`, accepted, id)
	_, call := tx.Exec(`DELETE FROM calls WHERE n = ?`, n)
	return errors.Join(asked, ended, call)
}

func affected(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}
