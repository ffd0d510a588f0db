package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*/*.sql
var migrations embed.FS

// latest is the version of the newest migration, which each leaves in user_version of SQLite.
const latest = 9

// migrate brings the file to the latest version. A file that has it costs one look.
func migrate(ctx context.Context, db *sql.DB) error {
	done, err := current(ctx, db)
	if done || err != nil {
		return err
	}
	dir, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, dir, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// current reports whether the file has the version that this program knows.
func current(ctx context.Context, db *sql.DB) (bool, error) {
	var v int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v); err != nil {
		return false, err
	}
	if v > latest {
		return false, fmt.Errorf("%w: it has version %d, this program knows %d", errNewer, v, latest)
	}
	if v > 0 {
		return v == latest, nil
	}
	return false, unclaimed(ctx, db)
}

// unclaimed makes sure that nobody else's tables are in a file that has no version yet. A migration that was interrupted
// has left its own.
func unclaimed(ctx context.Context, db *sql.DB) error {
	var others, ours int
	err := db.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(name = 'goose_db_version'), 0) FROM sqlite_master
		WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`).Scan(&others, &ours)
	if err == nil && others > 0 && ours == 0 {
		err = errForeign
	}
	return err
}
