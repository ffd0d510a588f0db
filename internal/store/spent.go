package store

import (
	"context"
	"database/sql"
	"time"
)

// SpentSlice is how long a slice of time is: its number is how many of them lie between the Unix epoch and its beginning.
const SpentSlice = 15 * time.Minute

// spentKept is how long it is kept what principals used: a little longer than a day, which is how long it counts.
const spentKept = 25 * time.Hour

// Spend adds to what a principal used within a slice of a day, when the writer finds the time. Nobody waits for it. It shares the
// room of audit entries: what skills say does not crowd it out.
func (s *Store) Spend(principal string, slice int64, cpu time.Duration, memory int64) {
	s.queue.put(&op{late: true, audit: true, size: len(principal) + opOverhead, do: func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO spent (principal, slice, cpu, memory) VALUES (?, ?, ?, ?)
			ON CONFLICT (principal, slice) DO UPDATE SET cpu = spent.cpu + excluded.cpu, memory = spent.memory + excluded.memory`, principal, slice, int64(cpu), memory)
		return err
	}})
}

// Spent tells what principals used since a slice.
func (s *Store) Spent(ctx context.Context, since int64, tell func(principal string, slice int64, cpu time.Duration, memory int64)) error {
	if err := s.present(); err != nil {
		return err
	}
	rows, err := s.read.QueryContext(ctx, `SELECT principal, slice, cpu, memory FROM spent WHERE slice >= ? ORDER BY slice`, since)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var principal string
		var slice, cpu, memory int64
		if err := rows.Scan(&principal, &slice, &cpu, &memory); err != nil {
			return err
		}
		tell(principal, slice, time.Duration(cpu), memory)
	}
	return rows.Err()
}

// dropSpent removes what counts no more.
func dropSpent(before time.Time) trimStep {
	return func(tx *sql.Tx) (bool, error) {
		n, err := affected(tx.Exec(`DELETE FROM spent WHERE (principal, slice) IN (SELECT principal, slice FROM spent WHERE slice < ? LIMIT ?)`,
			before.UnixNano()/int64(SpentSlice), trimEvents))
		return n == trimEvents, err
	}
}
