package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hotcell/hotcell/internal/catalog"
)

const customColumns = "id, principal, name, description, license, compatibility, allowed_tools, metadata, body, provenance, " +
	"created_by, updated_by, created, updated, previous IS NOT NULL, revision"

// CustomSkill returns a custom skill with its files. [catalog.ErrNone] if there is none.
func (s *Store) CustomSkill(ctx context.Context, principal int64, name string) (catalog.Record, error) {
	all, err := s.custom(ctx, `principal = ? AND name = ?`, principal, name)
	if err == nil && len(all) == 0 {
		err = catalog.ErrNone
	}
	if err != nil {
		return catalog.Record{}, err
	}
	return all[0], nil
}

// CustomNames returns the names of a principal's custom skills, sorted.
func (s *Store) CustomNames(ctx context.Context, principal int64) ([]string, error) {
	if err := s.present(); err != nil {
		return nil, err
	}
	rows, err := s.read.QueryContext(ctx, `SELECT name FROM custom_skills WHERE principal = ? ORDER BY name`, principal)
	if err != nil {
		return nil, err
	}
	return scanAll(rows, func(row interface{ Scan(...any) error }) (name string, err error) {
		err = row.Scan(&name)
		return name, err
	})
}

// custom reads the skills and then their files, both as they are at one moment.
func (s *Store) custom(ctx context.Context, where string, args ...any) ([]catalog.Record, error) {
	if err := s.present(); err != nil {
		return nil, err
	}
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // it only reads
	rows, err := tx.QueryContext(ctx, `SELECT `+customColumns+` FROM custom_skills WHERE `+where+` ORDER BY name`, args...)
	if err != nil {
		return nil, err
	}
	all, err := scanAll(rows, scanCustom)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Content.Files, err = customFiles(ctx, tx, all[i].ID); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// scanAll reads all rows and closes them.
func scanAll[T any](rows *sql.Rows, scan func(interface{ Scan(...any) error }) (T, error)) (all []T, err error) {
	defer rows.Close()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

func scanCustom(row interface{ Scan(...any) error }) (catalog.Record, error) {
	var r catalog.Record
	var tools sql.NullString
	var metadata, body []byte
	var created, updated int64
	c := &r.Content
	err := row.Scan(&r.ID, &r.Principal, &r.Name, &c.Description, &c.License, &c.Compatibility, &tools, &metadata, &body, &r.Provenance,
		&r.CreatedBy, &r.UpdatedBy, &created, &updated, &r.HasPrevious, &r.Revision)
	if err != nil {
		return r, err
	}
	r.Created, r.Updated, c.Body = moment(created), moment(updated), string(body)
	if tools.Valid {
		c.AllowedTools = &tools.String
	}
	if err := json.Unmarshal(metadata, &c.Metadata); err != nil {
		return r, fmt.Errorf("custom skill %d can't be read: %w", r.ID, err)
	}
	return r, nil
}

func customFiles(ctx context.Context, tx *sql.Tx, skill int64) (map[string]string, error) {
	rows, err := tx.QueryContext(ctx, `SELECT path, content FROM custom_files WHERE skill = ?`, skill)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	files := map[string]string{}
	for rows.Next() {
		var path string
		var content []byte
		if err := rows.Scan(&path, &content); err != nil {
			return nil, err
		}
		files[path] = string(content)
	}
	return files, rows.Err()
}

// PreviousCustomSkill returns what a custom skill was before its last change. [catalog.ErrNone] if there is no such thing.
func (s *Store) PreviousCustomSkill(ctx context.Context, id int64) (catalog.Content, error) {
	var c catalog.Content
	if err := s.present(); err != nil {
		return c, err
	}
	var previous []byte
	if err := s.read.QueryRowContext(ctx, `SELECT previous FROM custom_skills WHERE id = ?`, id).Scan(&previous); err != nil {
		return c, none(err)
	}
	if previous == nil {
		return c, catalog.ErrNone
	}
	if err := json.Unmarshal(previous, &c); err != nil {
		return c, fmt.Errorf("the previous version of custom skill %d can't be read: %w", id, err)
	}
	return c, nil
}

// CountCustomSkills returns how many custom skills a principal has.
func (s *Store) CountCustomSkills(ctx context.Context, principal int64) (n int, err error) {
	if err := s.present(); err != nil {
		return 0, err
	}
	return n, s.read.QueryRowContext(ctx, `SELECT count(*) FROM custom_skills WHERE principal = ?`, principal).Scan(&n)
}

var errNoPrincipal = errors.New("a custom skill needs a principal that has a number")
