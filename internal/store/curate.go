package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

// AddCustomSkill keeps a new custom skill of r.Principal, or of whoever writes it where that is 0, and returns it as it is
// kept. [catalog.ErrFull] if the principal has most already, [catalog.ErrTaken] if one of that name.
func (s *Store) AddCustomSkill(ctx context.Context, by catalog.Owner, r catalog.Record, most int) (catalog.Record, error) {
	metadata, err := json.Marshal(r.Content.Metadata)
	if err := cmp.Or(err, s.present()); err != nil {
		return r, err
	}
	kept := r // the writer's until ask returns without an error
	err = s.ask(ctx, func(tx *sql.Tx) error {
		kept = r
		if err := s.sign(tx, by, &kept); err != nil {
			return err
		}
		if err := room(tx, kept, most); err != nil {
			return err
		}
		kept.CreatedBy, kept.Created = kept.UpdatedBy, kept.Updated
		c := r.Content
		err := tx.QueryRow(`INSERT INTO custom_skills (principal, name, description, license, compatibility, allowed_tools, metadata, body, provenance,
			created_by, updated_by, created, updated, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
			kept.Principal, r.Name, c.Description, c.License, c.Compatibility, c.AllowedTools, metadata, []byte(c.Body), r.Provenance,
			kept.CreatedBy, kept.UpdatedBy, kept.Created.UnixMicro(), kept.Updated.UnixMicro(), kept.Revision).Scan(&kept.ID)
		if err != nil {
			return err
		}
		if err := keepFiles(tx, kept.ID, c.Files); err != nil {
			return err
		}
		return s.actOnSkill(ctx, tx, audit.SkillCreate, kept)
	})
	if err != nil {
		return r, err
	}
	return kept, nil
}

// sign enters who changes a skill, when, and the revision that it makes.
func (s *Store) sign(tx *sql.Tx, by catalog.Owner, r *catalog.Record) (err error) {
	if r.UpdatedBy, err = ensure(tx, by); err != nil {
		return err
	}
	r.Principal = cmp.Or(r.Principal, r.UpdatedBy)
	r.Updated = moment(s.now().UnixMicro())
	r.Revision, err = touch(tx, r.Principal)
	return err
}

// room makes sure that a principal may have one more skill, of this name.
func room(tx *sql.Tx, r catalog.Record, most int) error {
	var known, have, same int
	err := tx.QueryRow(`SELECT (SELECT count(*) FROM principals WHERE id = ?1), (SELECT count(*) FROM custom_skills WHERE principal = ?1),
		(SELECT count(*) FROM custom_skills WHERE principal = ?1 AND name = ?2)`, r.Principal, r.Name).Scan(&known, &have, &same)
	switch {
	case err != nil:
		return err
	case known == 0:
		return errNoPrincipal
	case have >= most:
		return catalog.ErrFull
	case same > 0:
		return catalog.ErrTaken
	}
	return nil
}

// ReplaceCustomSkill replaces revision r.Revision of a custom skill and keeps what it was as the previous one. It returns
// the skill as it is kept. [catalog.ErrStale] if the skill has another revision or is there no more.
func (s *Store) ReplaceCustomSkill(ctx context.Context, by catalog.Owner, r catalog.Record, previous catalog.Content) (catalog.Record, error) {
	metadata, err := json.Marshal(r.Content.Metadata)
	if err != nil {
		return r, err
	}
	before, err := json.Marshal(previous)
	if err := cmp.Or(err, s.present()); err != nil {
		return r, err
	}
	kept := r // the writer's until ask returns without an error
	err = s.ask(ctx, func(tx *sql.Tx) error {
		kept = r
		kept.HasPrevious = true
		if err := unchanged(tx, r.ID, r.Revision); err != nil {
			return err
		}
		if err := s.sign(tx, by, &kept); err != nil {
			return err
		}
		c := r.Content
		_, err := tx.Exec(`UPDATE custom_skills SET description = ?, license = ?, compatibility = ?, allowed_tools = ?, metadata = ?, body = ?,
			provenance = ?, updated_by = ?, updated = ?, revision = ?, previous = ? WHERE id = ?`, c.Description, c.License, c.Compatibility,
			c.AllowedTools, metadata, []byte(c.Body), r.Provenance, kept.UpdatedBy, kept.Updated.UnixMicro(), kept.Revision, before, r.ID)
		if err != nil {
			return err
		}
		if !maps.Equal(previous.Files, c.Files) {
			if err := keepFiles(tx, r.ID, c.Files); err != nil {
				return err
			}
		}
		return s.actOnSkill(ctx, tx, audit.SkillUpdate, kept)
	})
	if err != nil {
		return r, err
	}
	return kept, nil
}

// unchanged makes sure that a skill still has a revision.
func unchanged(tx *sql.Tx, id, revision int64) error {
	var now int64
	err := none(tx.QueryRow(`SELECT revision FROM custom_skills WHERE id = ?`, id).Scan(&now))
	if errors.Is(err, catalog.ErrNone) || err == nil && now != revision {
		return catalog.ErrStale
	}
	return err
}

// keepFiles makes files the whole set of a skill's.
func keepFiles(tx *sql.Tx, skill int64, files map[string]string) error {
	if _, err := tx.Exec(`DELETE FROM custom_files WHERE skill = ?`, skill); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if _, err := tx.Exec(`INSERT INTO custom_files (skill, path, content) VALUES (?, ?, ?)`, skill, path, []byte(files[path])); err != nil {
			return err
		}
	}
	return nil
}

// DropCustomSkill removes revision r.Revision of a custom skill, and its name from every allowlist of its principal: both or
// nothing. It returns whose allowlists these were. [catalog.ErrStale] if the skill has another revision or is there no more.
func (s *Store) DropCustomSkill(ctx context.Context, r catalog.Record) ([]catalog.AllowlistRow, error) {
	if err := s.present(); err != nil {
		return nil, err
	}
	var scrubbed []catalog.AllowlistRow // the writer's until ask returns without an error
	err := s.ask(ctx, func(tx *sql.Tx) (err error) {
		if err := unchanged(tx, r.ID, r.Revision); err != nil {
			return err
		}
		if scrubbed, err = s.scrub(tx, r.Principal, r.Name); err != nil {
			return err
		}
		for _, from := range []string{`custom_files WHERE skill = ?`, `custom_skills WHERE id = ?`} {
			if _, err := tx.Exec(`DELETE FROM `+from, r.ID); err != nil {
				return err
			}
		}
		if _, err = touch(tx, r.Principal); err != nil {
			return err
		}
		return s.actOnSkill(ctx, tx, audit.SkillDelete, r, scrubbed...)
	})
	if err != nil {
		return nil, err
	}
	return scrubbed, nil
}

// actOnSkill enters into the audit what became of a custom skill.
func (s *Store) actOnSkill(ctx context.Context, tx *sql.Tx, kind string, r catalog.Record, scrubbed ...catalog.AllowlistRow) error {
	data := map[string]any{"revision": r.Revision, "provenance": r.Provenance, "files": len(r.Content.Files)}
	if len(scrubbed) > 0 {
		data["allowlists"] = len(scrubbed) // that had it, and have it no more
	}
	return s.own(ctx, tx, control.AuditRow{Kind: kind, Skill: r.Name}, r.Principal, data)
}
