package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"
)

// lockKey is what the writers of a schema agree on, as SQL.
const lockKey = `hashtextextended('hotcell ' || current_schema(), 0)`

// errCommit: it is not known whether a transaction counts.
var errCommit = errors.New("the server did not say whether it has committed")

// connector makes connections that take this package's SQL.
type connector struct {
	driver.Connector
	writes bool
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &pgConn{conn.(*stdlib.Conn), c.writes}, nil
}

// pgConn is a connection to Postgres.
type pgConn struct {
	*stdlib.Conn
	writes bool
}

var (
	_ driver.ConnBeginTx        = (*pgConn)(nil)
	_ driver.NamedValueChecker  = (*pgConn)(nil)
	_ driver.ConnPrepareContext = (*pgConn)(nil)
)

func (c *pgConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return c.Conn.PrepareContext(ctx, rebind(query))
}

func (c *pgConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.ExecContext(ctx, rebind(query), args)
}

func (c *pgConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.QueryContext(ctx, rebind(query), args)
}

// CheckNamedValue implements [driver.NamedValueChecker].
func (c *pgConn) CheckNamedValue(v *driver.NamedValue) (err error) {
	if v.Value, err = driver.DefaultParameterConverter.ConvertValue(v.Value); err != nil {
		return err
	}
	switch x := v.Value.(type) {
	case bool: // which SQLite has as a number
		v.Value = int64(0)
		if x {
			v.Value = int64(1)
		}
	case string:
		v.Value = storable(x)
	}
	return nil
}

// storable is a text that Postgres takes: it has no NUL and is UTF-8.
func storable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// BeginTx takes the lock in the same round trip, where the connection writes.
func (c *pgConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if !c.writes {
		return c.Conn.BeginTx(ctx, o)
	}
	conn := c.Conn.Conn().PgConn()
	if _, err := conn.Exec(ctx, "BEGIN; SELECT pg_advisory_xact_lock("+lockKey+")").ReadAll(); err != nil {
		if conn.TxStatus() != 'I' && !conn.IsClosed() {
			_, _ = conn.Exec(ctx, "ROLLBACK").ReadAll() // the error that counts is the one before
		}
		if conn.IsClosed() {
			return nil, errors.Join(driver.ErrBadConn, err)
		}
		return nil, err
	}
	return &pgTx{c, ctx}, nil
}

// pgTx is a transaction that writes.
type pgTx struct {
	c   *pgConn
	ctx context.Context //nolint:containedctx // of BeginTx: database/sql gives none to Commit
}

func (t *pgTx) Commit() error {
	conn := t.c.Conn.Conn().PgConn()
	failed := conn.TxStatus() == 'E'
	results, err := conn.Exec(t.ctx, "COMMIT").ReadAll()
	if err != nil {
		if state(err) == "" {
			err = fmt.Errorf("%w: %w", errCommit, err)
		}
		return err
	}
	if failed || len(results) > 0 && results[0].CommandTag.String() == "ROLLBACK" {
		return errors.New("a transaction that had failed was rolled back")
	}
	return nil
}

func (t *pgTx) Rollback() error {
	conn := t.c.Conn.Conn().PgConn()
	if conn.IsClosed() {
		return nil
	}
	_, err := conn.Exec(context.WithoutCancel(t.ctx), "ROLLBACK").ReadAll()
	return err
}

// rebind turns SQLite's placeholders into Postgres's, and leaves out which index is to be used.
func rebind(query string) string {
	if !strings.Contains(query, "?") && !strings.Contains(query, indexedBy) {
		return query
	}
	var b strings.Builder
	b.Grow(len(query) + 16)
	quoted, last := false, 0
	for i := 0; i < len(query); i++ {
		switch c := query[i]; {
		case c == '\'':
			quoted = !quoted
			b.WriteByte(c)
		case quoted:
			b.WriteByte(c)
		case c == '?':
			n, end := digits(query, i+1)
			if n == 0 {
				n = last + 1
			}
			last, i = max(last, n), end-1
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
		case c == ' ' && strings.HasPrefix(query[i:], indexedBy):
			for i += len(indexedBy); i < len(query) && word(query[i]); i++ {
			}
			i--
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

const indexedBy = " INDEXED BY "

func word(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// digits reads the digits at a place, and returns where they end; 0: there are none.
func digits(s string, at int) (n, end int) {
	for end = at; end < len(s) && s[end] >= '0' && s[end] <= '9'; end++ {
		n = 10*n + int(s[end]-'0')
	}
	return n, end
}
