package store

import (
	"context"
	"database/sql"
	"slices"

	"github.com/hotcell/hotcell/internal/catalog"
)

// scrub removes a skill's name from every allowlist of a principal, and returns whose these were.
func (s *Store) scrub(tx *sql.Tx, principal int64, name string) ([]catalog.AllowlistRow, error) {
	found, agents, list, err := listing(tx, principal, name)
	if err != nil {
		return nil, err
	}
	for _, r := range agents {
		*r.Allowed = without(*r.Allowed, name)
		if err := s.stamp(tx, &r); err != nil {
			return nil, err
		}
		_, allowed, err := encodeAgent(r)
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec(`UPDATE agents SET allowed = ?, updated = ?, revision = ? WHERE id = ?`, allowed, r.Updated.UnixMicro(), r.Revision, r.ID); err != nil {
			return nil, err
		}
	}
	if list == nil {
		return found, nil
	}
	revision, err := touch(tx, principal)
	if err != nil {
		return nil, err
	}
	return found, putDefault(tx, principal, without(*list, name), revision)
}

func without(list []string, name string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == catalog.Fold(name) })
}

// querier is a transaction, or a connection that only reads.
type querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
	QueryRow(query string, args ...any) *sql.Row
}

// listing finds the allowlists of a principal that have a name: the agents, and the default where it does. The default comes
// last.
func listing(tx querier, principal int64, name string) (rows []catalog.AllowlistRow, agents []catalog.AgentRecord, list *[]string, err error) {
	name = catalog.Fold(name)
	found, err := tx.Query(`SELECT `+agentColumns+` FROM agents WHERE principal = ? AND allowed IS NOT NULL ORDER BY id`, principal)
	if err != nil {
		return nil, nil, nil, err
	}
	all, err := scanAll(found, scanAgent)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, r := range all {
		if r.Allowed != nil && slices.Contains(*r.Allowed, name) {
			agents = append(agents, r)
			rows = append(rows, catalog.AllowlistRow{ID: r.ID, Name: &r.Name, Scope: "agent"})
		}
	}
	if list, err = defaultOf(tx, principal); err != nil || list == nil || !slices.Contains(*list, name) {
		return rows, agents, nil, err
	}
	return append(rows, catalog.AllowlistRow{Scope: "principal"}), agents, list, nil
}

// Allowlist returns whose allowlists of a principal have a skill's name.
func (s *Store) Allowlist(ctx context.Context, principal int64, name string) ([]catalog.AllowlistRow, error) {
	if err := s.present(); err != nil {
		return nil, err
	}
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // it only reads
	rows, _, _, err := listing(tx, principal, name)
	return rows, err
}
