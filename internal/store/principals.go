package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hotcell/hotcell/internal/catalog"
)

// mostPrincipals bounds those that have a number.
const mostPrincipals = 1_000_000

var errPrincipals = errors.New("there are 1000000 principals, more get no number")

// Principal returns who has a number. [catalog.ErrNone] if nobody has it.
func (s *Store) Principal(ctx context.Context, id int64) (catalog.Owner, error) {
	var o catalog.Owner
	if err := s.present(); err != nil {
		return o, err
	}
	return o, none(s.read.QueryRowContext(ctx, `SELECT kind, name FROM principals WHERE id = ?`, id).Scan(&o.Kind, &o.Name))
}

// PrincipalID returns the number of a principal. [catalog.ErrNone] if it has none yet.
func (s *Store) PrincipalID(ctx context.Context, o catalog.Owner) (int64, error) {
	if err := s.present(); err != nil {
		return 0, err
	}
	var id int64
	return id, none(s.read.QueryRowContext(ctx, `SELECT id FROM principals WHERE kind = ? AND name = ?`, o.Kind, o.Name).Scan(&id))
}

// EnsurePrincipals returns the numbers of principals, and gives them to those that have none yet.
func (s *Store) EnsurePrincipals(ctx context.Context, owners []catalog.Owner) ([]int64, error) {
	ids, missing := make([]int64, len(owners)), false
	for i, o := range owners {
		id, err := s.PrincipalID(ctx, o)
		if err != nil && !errors.Is(err, catalog.ErrNone) {
			return nil, err
		}
		ids[i], missing = id, missing || err != nil
	}
	if !missing {
		return ids, nil
	}
	err := s.ask(ctx, func(tx *sql.Tx) error {
		for i, o := range owners {
			id, err := ensure(tx, o)
			if err != nil {
				return err
			}
			ids[i] = id
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// ensure returns the number of a principal.
func ensure(tx *sql.Tx, o catalog.Owner) (int64, error) {
	var id int64
	err := tx.QueryRow(`SELECT id FROM principals WHERE kind = ? AND name = ?`, o.Kind, o.Name).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	var n int64
	if err := tx.QueryRow(`SELECT coalesce(max(id), 0) FROM principals`).Scan(&n); err != nil {
		return 0, err
	}
	if n >= mostPrincipals {
		return 0, errPrincipals
	}
	return id, tx.QueryRow(`INSERT INTO principals (kind, name) VALUES (?, ?) RETURNING id`, o.Kind, o.Name).Scan(&id)
}

// touch notes that what a principal owns has changed, and returns the catalog's version since.
func touch(tx *sql.Tx, principal int64) (version int64, err error) {
	if err := tx.QueryRow(`UPDATE catalog SET version = version + 1 RETURNING version`).Scan(&version); err != nil {
		return 0, err
	}
	_, err = tx.Exec(`UPDATE principals SET changed = ? WHERE id = ?`, version, principal)
	return version, err
}

func none(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return catalog.ErrNone
	}
	return err
}
