package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
	return s.shrink(ctx)
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
	if err := s.repeat(ctx, dropCalls(now.Add(-s.keep.Replay), s.over)); err != nil {
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

// over reports whether the file is over its bound. The audit has one of its own.
func (s *Store) over(tx *sql.Tx) (bool, error) {
	used, _, err := size(tx)
	if err != nil || used <= s.keep.Max {
		return false, err
	}
	_, audit, err := s.mark(context.Background(), tx, markHead)
	return used-audit > s.keep.Max, err
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
	return func(tx *sql.Tx) (bool, error) {
		for range trimEvents {
			if over, err := s.over(tx); !over || err != nil {
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

// shrink gives free pages back to the file system, a few at a time.
func (s *Store) shrink(ctx context.Context) error {
	for last := int64(-1); ; {
		_, free, err := size(s.read)
		if err != nil {
			return err
		}
		if free <= sparePages || free == last || ctx.Err() != nil {
			return ctx.Err()
		}
		last = free
		if err := s.vacuum(ctx, min(free-sparePages, trimPages)); err != nil {
			return err
		}
	}
}

// vacuum works by its rows being read.
func (s *Store) vacuum(ctx context.Context, pages int64) error {
	rows, err := s.write.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", pages))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// size returns the bytes of the file that are in use, and how many of its pages are free.
func size(db interface {
	QueryRow(query string, args ...any) *sql.Row
}) (used, free int64, err error) {
	var pages, page int64
	err = db.QueryRow(`SELECT page_count, freelist_count, page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).
		Scan(&pages, &free, &page)
	return (pages - free) * page, free, err
}

func affected(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}
