package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// sqliteEngine is a file.
type sqliteEngine struct {
	path string
	file os.FileInfo // what was opened there
}

func (e *sqliteEngine) name() string { return e.path }

func (e *sqliteEngine) lock(ctx context.Context) (unlock func(), err error) { return lock(ctx, e.path) }

func (e *sqliteEngine) connect(ctx context.Context, sync string) (write, read *sql.DB, err error) {
	if e.file, err = os.Stat(e.path); err != nil {
		return nil, nil, err
	}
	if write, err = connect(e.path, sync, false); err != nil {
		return nil, nil, err
	}
	write.SetMaxOpenConns(1)
	write.SetMaxIdleConns(1)
	if err := migrate(ctx, write); err != nil {
		return write, nil, err
	}
	if read, err = connect(e.path, sync, true); err != nil {
		return write, nil, err
	}
	read.SetMaxOpenConns(readers + 1) // and who accepts calls
	read.SetMaxIdleConns(readers + 1)
	if err := probe(ctx, write); err != nil {
		return write, read, err
	}
	seal(e.path)
	return write, read, nil
}

// probe looks at each table once, and asks to write, so that what is wrong with a file is noticed before any call comes.
func probe(ctx context.Context, db *sql.DB) error {
	for _, from := range []string{"calls", "events", "calls INDEXED BY calls_by_request", "calls INDEXED BY calls_by_age", "events INDEXED BY events_by_age",
		"audit INDEXED BY audit_by_call", "audit INDEXED BY audit_by_age", "chain", "chain_marks", "tokens",
		"principals INDEXED BY principals_by_change", "catalog", "custom_skills", "custom_files",
		"agents", "agent_defaults", "approvals INDEXED BY approvals_by_principal", "spent INDEXED BY spent_by_slice",
		"ended", "ended INDEXED BY ended_by_seq", "requests", "policies", "supervisors", "cancels"} {
		var one int
		err := db.QueryRowContext(ctx, "SELECT 1 FROM "+from+" LIMIT 1").Scan(&one)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	tx, err := db.BeginTx(ctx, nil) // takes the lock for writing, which a file that is read-only refuses
	if err != nil {
		return err
	}
	return tx.Rollback()
}

func (e *sqliteEngine) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return ctx, func() {}
}

// intake is beside the file itself, as SQLite's own are, whatever links lead to it.
func (e *sqliteEngine) intake() string {
	path := e.path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path + "-intake"
}

func (e *sqliteEngine) beats() *sql.DB { return nil }

func (e *sqliteEngine) present() error {
	info, err := os.Stat(e.path)
	if err != nil || !os.SameFile(info, e.file) {
		return errReplaced
	}
	return nil
}

func (e *sqliteEngine) ready() error { return e.present() }

func (e *sqliteEngine) bytes() (bytes int64) {
	for _, name := range []string{e.path, e.path + "-wal", e.intake()} {
		if info, err := os.Stat(name); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

func (e *sqliteEngine) measure() func(tx *sql.Tx, most int64) (bool, error) { return over }

func over(tx *sql.Tx, most int64) (bool, error) {
	used, _, err := size(tx)
	if err != nil || used <= most {
		return false, err
	}
	_, audit, err := readMark(context.Background(), tx, markHead)
	return used-audit > most, err
}

// shrink gives free pages back to the file system, a few at a time.
func (e *sqliteEngine) shrink(ctx context.Context, write, read *sql.DB) error {
	for last := int64(-1); ; {
		_, free, err := size(read)
		if err != nil {
			return err
		}
		if free <= sparePages || free == last || ctx.Err() != nil {
			return ctx.Err()
		}
		last = free
		if err := vacuum(ctx, write, min(free-sparePages, trimPages)); err != nil {
			return err
		}
	}
}

// vacuum works by its rows being read.
func vacuum(ctx context.Context, db *sql.DB, pages int64) error {
	rows, err := db.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", pages))
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

func (e *sqliteEngine) field(column, name string) string {
	return "json_extract(CAST(" + column + " AS TEXT), '$." + name + "')"
}

func (e *sqliteEngine) text(s string) string { return s }

// untyped finds texts that are stored as bytes.
func (e *sqliteEngine) untyped() string {
	var parts []string
	for _, c := range []string{"kind", "call", "principal", "agent", "door", "skill"} {
		parts = append(parts, "typeof("+c+") <> 'text'")
	}
	return strings.Join(parts, " OR ")
}

// primary is the result code of SQLite without its finer part, or 0.
func primary(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

func (e *sqliteEngine) busy(err error) bool {
	c := primary(err)
	return c == lib.SQLITE_BUSY || c == lib.SQLITE_LOCKED
}

func (e *sqliteEngine) again(error) bool { return false } // it has waited itself

func (e *sqliteEngine) advice(err error) string {
	switch primary(err) {
	case lib.SQLITE_NOTADB, lib.SQLITE_CORRUPT:
		return "it is damaged or no journal: move it away, and a new one is made"
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_CANTOPEN, lib.SQLITE_AUTH:
		return "let this user write the file and its folder, or " + elsewhere
	case lib.SQLITE_FULL:
		return "make room, or " + elsewhere
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return "another process keeps it locked: end that, or try again"
	case lib.SQLITE_IOERR:
		return "make room or check the disk, or " + elsewhere
	}
	return "move it away, or " + elsewhere
}
