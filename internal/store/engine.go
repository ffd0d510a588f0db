package store

import (
	"context"
	"database/sql"
)

// engine is the database behind a journal. The SQL of this package is what SQLite and Postgres both understand, with SQLite's
// placeholders; what they do each in their own way is here.
type engine interface {
	name() string // of the journal, for people: it holds no secret

	// lock lets one process at a time make or migrate the database.
	lock(ctx context.Context) (unlock func(), err error)
	// connect opens the pools: one connection that writes, and some that read. The database is at the latest version then.
	connect(ctx context.Context, sync string) (write, read *sql.DB, err error)

	beats() *sql.DB // a pool for leases; nil where locks on files tell who lives

	// within bounds how long a transaction may take: a file waits for nobody but the disk.
	within(ctx context.Context) (context.Context, context.CancelFunc)

	intake() string // path of the file into which calls go first; "": calls are written at once, by a transaction

	present() error // without waiting: whether what was opened is still there
	ready() error   // the same, and whether it answers
	bytes() int64   // that it takes
	// measure returns what reports whether more than so many bytes are in use, those of the audit not counted.
	measure() func(tx *sql.Tx, most int64) (bool, error)
	shrink(ctx context.Context, write, read *sql.DB) error

	field(column, name string) string // SQL: a text of the object of JSON in a column
	text(s string) string             // as it is kept
	untyped() string                  // SQL: a condition for rows of the audit whose texts are none; "": there can be none
	busy(err error) bool              // another process kept it locked for too long
	again(err error) bool             // the transaction has failed for no fault of its own, and nothing of it was done
	advice(err error) string
}
