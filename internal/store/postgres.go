package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// How long a server may take.
const (
	dialLimit  = 5 * time.Second
	idleLimit  = 4 * time.Second // within a transaction: a supervisor that is stopped in one must not stop all others
	writeLimit = 20 * time.Second
	readyLimit = 2 * time.Second
)

// postgresEngine is a schema of a server, the first of the search path. Writing goes one transaction at a time, whoever's, as
// with a file: each takes the same advisory lock, so that the chain of the audit has one order, and what a transaction has
// looked at is so until its end.
type postgresEngine struct {
	config *pgx.ConnConfig
	where  string
	pool   *sql.DB // the one that reads, once it is open
}

// newPostgres reads a URL. Its errors hold nothing of it: a password is in it.
func newPostgres(url string) (*postgresEngine, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errURL
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, dialLimit)
	dialer := net.Dialer{Timeout: config.ConnectTimeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}}
	config.DialFunc = dialer.DialContext
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "hotcell"
	}
	return &postgresEngine{config: config, where: fmt.Sprintf("postgres://%s/%s", hostPort(config), config.Database)}, nil
}

func hostPort(c *pgx.ConnConfig) string {
	if strings.HasPrefix(c.Host, "/") {
		return fmt.Sprintf("(%s, port %d)", c.Host, c.Port)
	}
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
}

func (e *postgresEngine) intake() string { return "" }

func (e *postgresEngine) name() string { return e.where }

// open returns a pool whose connections have these parameters.
func (e *postgresEngine) open(most int, writes bool, params map[string]string) *sql.DB {
	config := e.config.Copy()
	maps.Copy(config.RuntimeParams, params)
	db := sql.OpenDB(connector{Connector: stdlib.GetConnector(*config), writes: writes})
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db
}

// lock takes a lock of the server's, with a connection of its own, unless the schema is up to date already.
func (e *postgresEngine) lock(ctx context.Context) (unlock func(), err error) {
	db := e.open(1, false, map[string]string{"lock_timeout": ms(lockLimit)})
	unlock = func() { _ = db.Close() } // and with it the lock
	done, err := e.current(ctx, db)
	if err == nil && !done {
		_, err = db.ExecContext(ctx, `SELECT pg_advisory_lock(`+lockKey+` + 1)`)
	}
	if err != nil {
		unlock()
		if e.busy(err) {
			err = errOpening
		}
		return nil, err
	}
	return unlock, nil
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func (e *postgresEngine) connect(ctx context.Context, sync string) (write, read *sql.DB, err error) {
	params := map[string]string{"lock_timeout": ms(busyLimit), "idle_in_transaction_session_timeout": ms(idleLimit), "statement_timeout": ms(writeLimit)}
	if sync == "off" {
		params["synchronous_commit"] = "off"
	}
	write = e.open(1, true, params)
	if err := e.migrate(ctx); err != nil {
		return write, nil, err
	}
	read = e.open(readers, false, map[string]string{"default_transaction_isolation": "repeatable read", "default_transaction_read_only": "on"})
	tx, err := write.BeginTx(ctx, nil)
	if err != nil {
		return write, read, err
	}
	var readOnly string
	err = tx.QueryRowContext(ctx, `SHOW transaction_read_only`).Scan(&readOnly)
	if err == nil && readOnly == "on" {
		err = errStandby
	}
	e.pool = read
	return write, read, errors.Join(err, tx.Rollback())
}

func (e *postgresEngine) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, writeLimit)
}

func (e *postgresEngine) beats() *sql.DB {
	return e.open(2, false, map[string]string{"statement_timeout": ms(leaseLimit), "lock_timeout": ms(leaseLimit)})
}

func (e *postgresEngine) present() error { return nil }

func (e *postgresEngine) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), readyLimit)
	defer cancel()
	return e.pool.PingContext(ctx)
}

// counted are the tables whose bytes count.
const counted = "'calls', 'events', 'requests', 'audit', 'ended', 'policies'"

func (e *postgresEngine) bytes() (bytes int64) {
	ctx, cancel := context.WithTimeout(context.Background(), readyLimit)
	defer cancel()
	_ = e.pool.QueryRowContext(ctx, `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
		WHERE c.relnamespace = current_schema()::regnamespace AND (c.relname IN (`+counted+`) OR c.relname = 'chain')`).Scan(&bytes) // 0: not known
	return bytes
}

// measure counts rows only where the tables take more than that: they don't shrink with what is in them. A look at all rows
// says how many calls must surely go: nobody looks again before half of them have.
func (e *postgresEngine) measure() func(tx *sql.Tx, most int64) (bool, error) {
	sure := int64(0)
	return func(tx *sql.Tx, most int64) (bool, error) {
		if sure--; sure > 0 {
			return true, nil
		}
		var used, calls int64
		err := tx.QueryRow(`SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
			WHERE c.relnamespace = current_schema()::regnamespace AND c.relname IN (` + counted + `)`).Scan(&used)
		if err != nil || used <= most {
			return false, err
		}
		err = tx.QueryRow(`SELECT (
			(SELECT coalesce(sum(octet_length(view) + coalesce(octet_length(answer), 0) + 600), 0) FROM calls) +
			(SELECT coalesce(sum(octet_length(data) + 100), 0) FROM events) + (SELECT coalesce(sum(octet_length(data) + 80), 0) FROM requests) +
			(SELECT coalesce(sum(octet_length(data) + 200), 0) FROM audit))::bigint, (SELECT count(*) FROM calls)`).Scan(&used, &calls)
		if err == nil && used > most {
			sure = (used - most) * calls / used / 2
		}
		return err == nil && used > most, err
	}
}

func (e *postgresEngine) shrink(context.Context, *sql.DB, *sql.DB) error { return nil } // the server does

func (e *postgresEngine) field(column, name string) string {
	return "hotcell_field(" + column + ", '" + name + "')"
}

func (e *postgresEngine) text(s string) string { return storable(s) }

func (e *postgresEngine) untyped() string { return "" }

// state is the SQLSTATE of an error, "" for one that is not the server's.
func state(err error) string {
	var p *pgconn.PgError
	if errors.As(err, &p) {
		return p.Code
	}
	return ""
}

func (e *postgresEngine) busy(err error) bool { return state(err) == "55P03" } // lock_not_available

// again: a connection that broke before the commit, and what the server ends for reasons of its own.
func (e *postgresEngine) again(err error) bool {
	switch code := state(err); {
	case errors.Is(err, errCommit):
		return false
	case code == "40001", code == "40P01", code == "25P03", strings.HasPrefix(code, "57P"):
		return true
	case code != "":
		return false
	}
	var dial *pgconn.ConnectError
	var netErr net.Error
	return errors.As(err, &dial) || errors.As(err, &netErr) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}

func (e *postgresEngine) advice(err error) string {
	switch code := state(err); {
	case strings.HasPrefix(code, "28"):
		return "look at the user and the password in store.url"
	case code == "3D000":
		return "make the database, or name another in store.url"
	case code == "3F000":
		return "make the schema that the search path names"
	case strings.HasPrefix(code, "42501"):
		return "let the user of store.url make tables in its schema"
	case strings.HasPrefix(code, "53"):
		return "give the server more room or connections"
	case code == "55P03":
		return "another supervisor keeps it locked: try again"
	case errors.Is(err, errStandby):
		return "name the primary in store.url"
	}
	return "see that the server that store.url names runs and can be reached from here"
}
