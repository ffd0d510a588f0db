package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

// Ask journals what a call was asked, some time soon, unless events are not kept: it is kept as long as they are.
func (s *Store) Ask(call string, request json.RawMessage) {
	if s.keep.Events == 0 {
		return
	}
	at := s.now().UnixMicro()
	s.tell(len(request), func(tx *sql.Tx) error {
		_, err := tx.Stmt(s.stmts.asked).Exec(at, []byte(request), call)
		return err
	})
}

// Request returns what the call with this id was asked, nil where that is not kept.
func (s *Store) Request(ctx context.Context, id string) (json.RawMessage, error) {
	var data []byte
	err := s.read.QueryRowContext(ctx, `SELECT data FROM requests WHERE call = (SELECT n FROM calls WHERE id = ?)`, id).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return data, err
}

// dropRequests removes the old ones. They were journalled in the order of their calls, about.
func dropRequests(before time.Time) trimStep {
	return func(tx *sql.Tx) (bool, error) {
		n, err := affected(tx.Exec(`DELETE FROM requests WHERE at < ? AND call IN (SELECT call FROM requests ORDER BY call LIMIT ?)`, before.UnixMicro(), trimEvents))
		return n == trimEvents, err
	}
}
