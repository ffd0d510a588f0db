package store

import (
	"database/sql"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// countShare looks at what a principal has of its share, whichever supervisor took those calls: ?1 is the principal, ?2 is how many
// it may have at once, ?3 is one less than it may have within a minute, and ?4 is 1 where that is bounded. The calls of a supervisor that was
// declared dead have ended, though nobody may have said so yet. Writers take turns: what is counted is so until the call is in.
//
// The calls in flight are few, and found by calls_in_flight: the index of those that count has a principal's whole history, which the
// condition <> 0 keeps Postgres from reading. It is the one for the last minute, for which it wants to hear > 0.
const countShare = `SELECT clock.now,
	(SELECT count(*) FROM (SELECT 1 FROM calls WHERE principal = ?1 AND counted <> 0 AND ended = 0
		AND NOT EXISTS (SELECT 1 FROM supervisors WHERE supervisors.instance = calls.instance AND dead <> 0) LIMIT ?2) AS at_once),
	(SELECT counted FROM calls WHERE principal = ?1 AND counted > 0 AND counted > clock.now - 60000000 ORDER BY counted DESC OFFSET ?3 LIMIT ?4)
	FROM (SELECT ` + serverClock + ` AS now) AS clock`

// share counts a call among its principal's, where a server is asked: it returns since when it counts, 0 for not, and whether its
// principal has its share already.
func (s *Store) share(tx *sql.Tx, r *control.Record) (since int64, over *control.OverError, err error) {
	if r.Share == nil || s.stmts.share == nil {
		return 0, nil, nil
	}
	bounded, nth := 0, r.Share.PerMinute-1
	if r.Share.PerMinute > 0 {
		bounded = 1
	} else {
		nth = 0
	}
	var now int64
	var atOnce int
	var first sql.NullInt64
	if err := tx.Stmt(s.stmts.share).QueryRow(r.Principal, r.Share.InFlight, nth, bounded).Scan(&now, &atOnce, &first); err != nil {
		return 0, nil, err
	}
	switch {
	case r.Share.InFlight > 0 && atOnce >= r.Share.InFlight:
		return 0, &control.OverError{}, nil
	case first.Valid:
		return 0, &control.OverError{PerMinute: true, After: time.Minute - time.Duration(now-first.Int64)*time.Microsecond}, nil
	}
	return now, nil, nil
}
