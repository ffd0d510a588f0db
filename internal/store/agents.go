package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

const agentColumns = "id, principal, name, tools, allowed, created, updated, revision"

// AddAgent keeps a new agent of r.Principal, or of by where that is 0, and returns it as it is kept. [catalog.ErrFull] if the
// principal has most already, [catalog.ErrTaken] if one of that name.
func (s *Store) AddAgent(ctx context.Context, by catalog.Owner, r catalog.AgentRecord, most int) (catalog.AgentRecord, error) {
	if err := s.present(); err != nil {
		return r, err
	}
	kept := r // the writer's until ask returns without an error
	err := s.ask(ctx, func(tx *sql.Tx) (err error) {
		kept = r
		if kept.Principal == 0 {
			if kept.Principal, err = ensure(tx, by); err != nil {
				return err
			}
		}
		var have, same int
		err = tx.QueryRow(`SELECT count(*), coalesce(sum(CASE WHEN name = ? THEN 1 ELSE 0 END), 0) FROM agents WHERE principal = ?`, r.Name, kept.Principal).Scan(&have, &same)
		switch {
		case err != nil:
			return err
		case same > 0:
			return catalog.ErrTaken
		case have >= most:
			return catalog.ErrFull
		}
		if err := s.stamp(tx, &kept); err != nil {
			return err
		}
		kept.Created = kept.Updated
		tools, allowed, err := encodeAgent(kept)
		if err != nil {
			return err
		}
		err = tx.QueryRow(`INSERT INTO agents (principal, name, tools, allowed, created, updated, revision) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
			kept.Principal, kept.Name, tools, allowed, kept.Created.UnixMicro(), kept.Updated.UnixMicro(), kept.Revision).Scan(&kept.ID)
		if err != nil {
			return err
		}
		return s.actOnAgent(ctx, tx, audit.AgentCreate, kept)
	})
	if err != nil {
		return r, err
	}
	return kept, nil
}

// stamp enters when an agent changes, and the revision that this makes.
func (s *Store) stamp(tx *sql.Tx, r *catalog.AgentRecord) (err error) {
	r.Updated = moment(s.now().UnixMicro())
	r.Revision, err = touch(tx, r.Principal)
	return err
}

func encodeAgent(r catalog.AgentRecord) (tools, allowed []byte, err error) {
	if r.Tools == nil {
		r.Tools = map[string]bool{}
	}
	if tools, err = json.Marshal(r.Tools); err != nil || r.Allowed == nil {
		return tools, nil, err
	}
	allowed, err = json.Marshal(*r.Allowed)
	return tools, allowed, err
}

// Agent returns an agent. [catalog.ErrNone] if there is none.
func (s *Store) Agent(ctx context.Context, id int64) (catalog.AgentRecord, error) {
	if err := s.present(); err != nil {
		return catalog.AgentRecord{}, err
	}
	r, err := scanAgent(s.read.QueryRowContext(ctx, `SELECT `+agentColumns+` FROM agents WHERE id = ?`, id))
	return r, none(err)
}

func scanAgent(row interface{ Scan(...any) error }) (catalog.AgentRecord, error) {
	var r catalog.AgentRecord
	var tools, allowed []byte
	var created, updated int64
	if err := row.Scan(&r.ID, &r.Principal, &r.Name, &tools, &allowed, &created, &updated, &r.Revision); err != nil {
		return r, err
	}
	r.Created, r.Updated = moment(created), moment(updated)
	list, err := catalog.ParseAllowed(allowed)
	r.Allowed = list
	if err := cmp.Or(err, json.Unmarshal(tools, &r.Tools)); err != nil {
		r.Tools, r.Allowed = nil, &[]string{}
		return r, fmt.Errorf("agent %d %w: %w", r.ID, errUnreadable, err)
	}
	return r, nil
}

// errUnreadable: a row is there, and what is in it makes no sense.
var errUnreadable = errors.New("can't be read")

// scanHeld is scanAgent for who reads the agents of everybody: one that can't be read may use nothing, and is nobody else's
// problem.
func scanHeld(row interface{ Scan(...any) error }) (catalog.AgentRecord, error) {
	r, err := scanAgent(row)
	if errors.Is(err, errUnreadable) {
		err = nil
	}
	return r, err
}

// ChangeAgent changes revision match of an agent, or any with [catalog.AnyRevision], and returns it as it is kept; an agent
// that change leaves as it is keeps its revision. change is told what agents of the principal may use that have no list of their
// own, may be run more than once, and its error is the answer. [catalog.ErrNone] if there is none, [catalog.ErrStale] if it has
// another revision.
func (s *Store) ChangeAgent(ctx context.Context, id, match int64, change func(r *catalog.AgentRecord, inherited *[]string) (changed bool, err error)) (catalog.AgentRecord, error) {
	if err := s.present(); err != nil {
		return catalog.AgentRecord{}, err
	}
	var kept catalog.AgentRecord // the writer's until ask returns without an error
	err := s.ask(ctx, func(tx *sql.Tx) (err error) {
		if kept, err = agentAt(tx, id, match); err != nil {
			return err
		}
		inherited, err := defaultOf(tx, kept.Principal)
		if err != nil {
			return err
		}
		if changed, err := change(&kept, inherited); err != nil || !changed {
			return err
		}
		if err := s.stamp(tx, &kept); err != nil {
			return err
		}
		tools, allowed, err := encodeAgent(kept)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE agents SET tools = ?, allowed = ?, updated = ?, revision = ? WHERE id = ?`,
			tools, allowed, kept.Updated.UnixMicro(), kept.Revision, id)
		if err != nil {
			return err
		}
		return s.actOnAgent(ctx, tx, audit.AgentChange, kept)
	})
	if err != nil {
		return catalog.AgentRecord{}, err
	}
	return kept, nil
}

// agentAt returns an agent that has the revision match.
func agentAt(tx *sql.Tx, id, match int64) (catalog.AgentRecord, error) {
	r, err := scanAgent(tx.QueryRow(`SELECT `+agentColumns+` FROM agents WHERE id = ?`, id))
	if err == nil && match != catalog.AnyRevision && match != r.Revision {
		err = catalog.ErrStale
	}
	return r, none(err)
}

// DropAgent removes revision match of an agent, or any. [catalog.ErrInUse] as long as live tokens of owner, whose it is, are
// bound to it.
func (s *Store) DropAgent(ctx context.Context, id, match int64, owner catalog.Owner) error {
	if err := s.present(); err != nil {
		return err
	}
	return s.ask(ctx, func(tx *sql.Tx) error {
		r, err := agentAt(tx, id, match)
		if err != nil {
			return err
		}
		if err := s.unbound(tx, r.Name, owner); err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM agents WHERE id = ?`, id); err != nil {
			return err
		}
		if _, err = touch(tx, r.Principal); err != nil {
			return err
		}
		return s.actOnAgent(ctx, tx, audit.AgentDelete, r)
	})
}

// actOnAgent enters into the audit what became of an agent.
func (s *Store) actOnAgent(ctx context.Context, tx *sql.Tx, kind string, r catalog.AgentRecord) error {
	data := map[string]any{"agent": r.Name, "revision": r.Revision}
	if kind == audit.AgentChange {
		data["tools"], data["allowed"] = r.Tools, fewNames(r.Allowed)
	}
	return s.own(ctx, tx, control.AuditRow{Kind: kind}, r.Principal, data)
}

// mostNamed bounds the names of an allowlist that a row of the audit has.
const mostNamed = 100

// fewNames is an allowlist as a row has it: nil where nothing is set.
func fewNames(list *[]string) any {
	switch {
	case list == nil:
		return nil
	case len(*list) <= mostNamed:
		return *list
	}
	return append(slices.Clone((*list)[:mostNamed]), fmt.Sprintf("and %d more", len(*list)-mostNamed))
}

// unbound makes sure that no token of owner, or of a group that is owner, that can still be used speaks as an agent.
func (s *Store) unbound(tx *sql.Tx, agent string, owner catalog.Owner) error {
	rows, err := tx.Query(`SELECT `+tokenColumns+` FROM tokens WHERE agent = ? AND revoked = 0`, agent)
	if err != nil {
		return err
	}
	tokens, err := scanAll(rows, scanToken)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if t.Lives(s.now()) && bound(t, owner) {
			return catalog.ErrInUse
		}
	}
	return nil
}

func bound(t auth.Token, owner catalog.Owner) bool {
	if owner.Kind == catalog.KindUser {
		return t.Principal == owner.Name
	}
	for _, m := range t.Groups {
		if m.Group == owner.Name {
			return true
		}
	}
	return false
}

// SetAgentDefault sets what the agents of a principal may use where they have no list of their own; nil: nothing is set. It
// returns the new revision. [catalog.ErrStale] if the present one is not match, which is 0 where nothing is set.
func (s *Store) SetAgentDefault(ctx context.Context, principal, match int64, allowed *[]string) (int64, error) {
	if err := s.present(); err != nil {
		return 0, err
	}
	var revision int64 // the writer's until ask returns without an error
	err := s.ask(ctx, func(tx *sql.Tx) error {
		var now int64
		err := tx.QueryRow(`SELECT revision FROM agent_defaults WHERE principal = ?`, principal).Scan(&now)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if match != catalog.AnyRevision && match != now {
			return catalog.ErrStale
		}
		if revision, err = touch(tx, principal); err != nil {
			return err
		}
		if allowed == nil {
			revision = 0
			_, err = tx.Exec(`DELETE FROM agent_defaults WHERE principal = ?`, principal)
		} else {
			err = putDefault(tx, principal, *allowed, revision)
		}
		if err != nil {
			return err
		}
		return s.own(ctx, tx, control.AuditRow{Kind: audit.AgentDefault}, principal, map[string]any{"allowed": fewNames(allowed)})
	})
	if err != nil {
		return 0, err
	}
	return revision, nil
}

func putDefault(tx *sql.Tx, principal int64, allowed []string, revision int64) error {
	raw, err := json.Marshal(allowed)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO agent_defaults (principal, allowed, revision) VALUES (?, ?, ?)
		ON CONFLICT (principal) DO UPDATE SET allowed = excluded.allowed, revision = excluded.revision`, principal, raw, revision)
	return err
}

// AgentHoldings returns the agents of those principals whose property has changed since a version, and the version now. Since
// 0 it is those that have any agent or default.
func (s *Store) AgentHoldings(ctx context.Context, since int64) (all []catalog.AgentHolding, version int64, err error) {
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
	which := ` WHERE p.changed > ?`
	if since == 0 {
		which = ` WHERE p.changed >= ? AND (d.principal IS NOT NULL OR EXISTS (SELECT 1 FROM agents a WHERE a.principal = p.id))`
	}
	rows, err := tx.QueryContext(ctx, `SELECT p.id, p.kind, p.name, d.allowed, coalesce(d.revision, 0)
		FROM principals p LEFT JOIN agent_defaults d ON d.principal = p.id`+which+` ORDER BY p.id`, since)
	if err != nil {
		return nil, 0, err
	}
	if all, err = scanAll(rows, scanAgentHolding); err != nil {
		return nil, 0, err
	}
	for i := range all {
		rows, err := tx.QueryContext(ctx, `SELECT `+agentColumns+` FROM agents WHERE principal = ? ORDER BY name`, all[i].ID)
		if err != nil {
			return nil, 0, err
		}
		if all[i].Agents, err = scanAll(rows, scanHeld); err != nil {
			return nil, 0, err
		}
	}
	return all, version, nil
}

func scanAgentHolding(row interface{ Scan(...any) error }) (catalog.AgentHolding, error) {
	var h catalog.AgentHolding
	var allowed []byte
	if err := row.Scan(&h.ID, &h.Owner.Kind, &h.Owner.Name, &allowed, &h.DefaultRevision); err != nil {
		return h, err
	}
	var err error
	if h.Default, err = catalog.ParseAllowed(allowed); err != nil {
		h.Default = &[]string{} // as scanHeld has it
	}
	return h, nil
}

// defaultOf is what agents of a principal may use that have no list of their own; nil: nothing is set.
func defaultOf(tx querier, principal int64) (*[]string, error) {
	var raw []byte
	err := tx.QueryRow(`SELECT allowed FROM agent_defaults WHERE principal = ?`, principal).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := catalog.ParseAllowed(raw)
	if err != nil {
		return nil, fmt.Errorf("the allowlist of principal %d %w: %w", principal, errUnreadable, err)
	}
	return list, nil
}
