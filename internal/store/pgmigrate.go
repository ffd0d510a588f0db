package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// migrate brings the schema to the latest version.
func (e *postgresEngine) migrate(ctx context.Context) error {
	db := stdlib.OpenDB(*e.config)
	db.SetMaxOpenConns(1)
	defer db.Close()
	done, err := e.current(ctx, db)
	if done || err != nil {
		return err
	}
	dir, err := fs.Sub(migrations, "migrations/postgres")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, dir, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// current reports whether the schema has the version that this program knows.
func (e *postgresEngine) current(ctx context.Context, db *sql.DB) (bool, error) {
	var ours, others bool
	err := db.QueryRowContext(ctx, `SELECT to_regclass('goose_db_version') IS NOT NULL, to_regclass('calls') IS NOT NULL`).Scan(&ours, &others)
	if err == nil && !ours && others {
		err = errForeign
	}
	if err != nil || !ours {
		return false, err
	}
	var v int
	if err := db.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&v); err != nil {
		return false, err
	}
	if v > latest {
		return false, fmt.Errorf("%w: it has version %d, this program knows %d", errNewer, v, latest)
	}
	return v == latest, nil
}

var (
	errURL     = errors.New("store.url: expected postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full, and this one can't be read as that")
	errStandby = errors.New("the server takes no writes")
)
