package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
)

// acceptAlone takes a call in unless the same request came before: then, or where it can't be told, no row is written.
const acceptAlone = `INSERT INTO calls (id, req_id, principal, agent, digest, instance, accepted, view, counted) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0
	WHERE NOT EXISTS (SELECT 1 FROM calls WHERE req_id = ?2 AND principal = ?3 AND agent = ?4 AND (ended > ?9 OR ended = 0) AND again = 0)`

// alone is what a connection needs for a statement that is a transaction by itself: the way past what a transaction is to
// [database/sql], which costs more than the statement. The query is always the same.
type alone struct {
	conn driver.Conn
	stmt driver.Stmt
	args []driver.NamedValue
}

// exec does the statement, and prepares it where the connection is not the one of the last time.
func (a *alone) exec(db *sql.DB, query string, args []any) (rows int64, err error) {
	conn, err := db.Conn(context.Background())
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	err = conn.Raw(func(c any) error {
		if err := a.prepare(c.(driver.Conn), query); err != nil {
			return err
		}
		a.args = a.args[:0]
		for i, arg := range args {
			a.args = append(a.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
		}
		done, err := a.stmt.(driver.StmtExecContext).ExecContext(context.Background(), a.args)
		clear(a.args)
		if err == nil {
			rows, err = done.RowsAffected()
		}
		return err
	})
	return rows, err
}

// close lets go of the connection, before that is closed.
func (a *alone) close() error {
	if a.conn == nil {
		return nil
	}
	a.conn = nil
	return a.stmt.Close()
}

func (a *alone) prepare(conn driver.Conn, query string) (err error) {
	if a.conn == conn {
		return nil
	}
	a.conn = nil
	if a.stmt, err = conn.Prepare(query); err == nil {
		a.conn = conn
	}
	return err
}

// atOnce does what [Store.ask] does, for the one statement that every call waits for, where nobody else writes at the moment: no other
// goroutine has to wake up for it. It reports false where somebody does.
func (s *Store) atOnce(ctx context.Context, query string, args ...any) (rows int64, could bool, err error) {
	if !s.engine.single() || !s.pen.TryLock() {
		return 0, false, nil
	}
	if err := s.queue.open(ctx); err != nil {
		s.pen.Unlock()
		return 0, true, err
	}
	type outcome struct {
		rows int64
		err  error
	}
	done := make(chan outcome, 1)
	go func() { // a disk that does not answer must not hold up who waits here
		defer s.pen.Unlock()
		began := time.Now()
		rows, err := s.solo.exec(s.write, query, args)
		s.watch.Wrote(time.Since(began), err)
		done <- outcome{rows, err}
	}()
	select {
	case o := <-done:
		return o.rows, true, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o.rows, true, o.err
	case <-time.After(s.stuck):
		return 0, true, errStuck
	}
}
