package store

import (
	"context"
	"database/sql"

	"github.com/hotcell/hotcell/internal/catalog"
)

// CatalogVersion grows with each change to what principals own, whichever process made it.
func (s *Store) CatalogVersion(ctx context.Context) (int64, error) {
	if err := s.present(); err != nil {
		return 0, err
	}
	var v int64
	return v, s.read.QueryRowContext(ctx, `SELECT version FROM catalog`).Scan(&v)
}

// Holdings returns what those principals have whose property has changed since a version, and the version now. Since 0 it is
// those that have any custom skill.
func (s *Store) Holdings(ctx context.Context, since int64) (all []catalog.Holding, version int64, err error) {
	if err := s.present(); err != nil {
		return nil, 0, err
	}
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = tx.Rollback() }() // it only reads
	if err := tx.QueryRowContext(ctx, `SELECT version FROM catalog`).Scan(&version); err != nil {
		return nil, 0, err
	}
	join := "LEFT JOIN"
	if since == 0 {
		join = "JOIN"
	}
	rows, err := tx.QueryContext(ctx, `SELECT p.id, p.kind, p.name, s.id, s.name, s.revision FROM principals p `+join+
		` custom_skills s ON s.principal = p.id WHERE p.changed > ? ORDER BY p.id, s.name`, since)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	all, err = scanHoldings(rows)
	return all, version, err
}

func scanHoldings(rows *sql.Rows) (all []catalog.Holding, err error) {
	for rows.Next() {
		var h catalog.Holding
		var id, revision sql.NullInt64
		var name sql.NullString
		if err := rows.Scan(&h.ID, &h.Owner.Kind, &h.Owner.Name, &id, &name, &revision); err != nil {
			return nil, err
		}
		if n := len(all); n == 0 || all[n-1].ID != h.ID {
			all = append(all, h)
		}
		if last := &all[len(all)-1]; id.Valid {
			last.Skills = append(last.Skills, catalog.Label{ID: id.Int64, Name: name.String, Revision: revision.Int64})
		}
	}
	return all, rows.Err()
}
