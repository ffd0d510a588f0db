package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

// How many approvals are kept of one principal and how many bytes of arguments, of those that wait and again of those that are
// decided, and how long the latter.
const (
	mostApprovals = 1000
	mostArguments = 8 << 20
	oldApprovals  = 90 * 24 * time.Hour
	carrying      = time.Minute // to carry a write out; who takes longer is gone
)

const approvalColumns = "id, principal, agent, tool, action, skill, arguments, state, why, created, expires, decided, decided_by"

// AskApproval keeps a request for a write of a.Principal, or of by where that is 0, unless the same agent's same request
// waits there already: then it returns that one. [catalog.ErrFull] if most requests of the principal wait, or too many bytes.
func (s *Store) AskApproval(ctx context.Context, by catalog.Owner, a catalog.Approval, digest []byte, most int) (catalog.Approval, error) {
	if err := s.present(); err != nil {
		return a, err
	}
	kept := a // the writer's until ask returns without an error
	err := s.ask(ctx, func(tx *sql.Tx) (err error) {
		kept = a
		if kept.Principal == 0 {
			if kept.Principal, err = ensure(tx, by); err != nil {
				return err
			}
		}
		now := s.now().UnixMicro()
		const waits = `principal = ? AND state = 'pending' AND expires > ?`
		old, err := s.scanApproval(tx.QueryRow(`SELECT `+approvalColumns+` FROM approvals WHERE `+waits+` AND agent = ? AND digest = ?`,
			kept.Principal, now, a.Agent, digest))
		if !errors.Is(err, sql.ErrNoRows) {
			kept = old
			return err
		}
		var n, bytes int
		if err := tx.QueryRow(`SELECT count(*), coalesce(sum(length(arguments)), 0) FROM approvals WHERE `+waits, kept.Principal, now).Scan(&n, &bytes); err != nil {
			return err
		}
		if n >= most || bytes+len(a.Arguments) > mostArguments {
			return catalog.ErrFull
		}
		if err := s.forgetApprovals(tx, kept.Principal); err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO approvals (id, principal, agent, tool, action, skill, arguments, digest, state, created, expires)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)`, a.ID, kept.Principal, a.Agent, a.Tool, a.Action, a.Skill, []byte(a.Arguments), digest,
			a.Created.UnixMicro(), a.Expires.UnixMicro())
		return err
	})
	if err != nil {
		return a, err
	}
	return kept, nil
}

// forgetApprovals makes room: what is decided or expired goes when it is old, and the oldest of it when there is too much.
func (s *Store) forgetApprovals(tx *sql.Tx, principal int64) error {
	now := s.now()
	const done = `principal = ?1 AND (state NOT IN ('pending', 'deciding') OR state = 'pending' AND expires <= ?2 OR state = 'deciding' AND decided <= ?3)`
	over := []any{principal, now.UnixMicro(), now.Add(-carrying).UnixMicro()}
	for _, and := range []struct {
		which string
		bound int64
	}{
		{`decided < ?4 AND expires < ?4`, now.Add(-oldApprovals).UnixMicro()},
		{`n <= (SELECT n FROM approvals WHERE principal = ?1 ORDER BY n DESC LIMIT 1 OFFSET ?4)`, mostApprovals - 2},
		{`n IN (SELECT n FROM (SELECT n, sum(length(arguments)) OVER (ORDER BY n DESC) AS bytes FROM approvals WHERE ` + done + `) AS mine WHERE bytes > ?4)`, mostArguments},
	} {
		if _, err := tx.Exec(`DELETE FROM approvals WHERE `+done+` AND `+and.which, append(over, and.bound)...); err != nil {
			return err
		}
	}
	return nil
}

// dropApprovals removes what was decided or expired before a time, whoever's: of those who ask no more nothing is left.
func dropApprovals(before time.Time) trimStep {
	return func(tx *sql.Tx) (bool, error) {
		n, err := affected(tx.Exec(`DELETE FROM approvals WHERE n IN (SELECT n FROM approvals WHERE decided < ?1 AND expires < ?1 ORDER BY n LIMIT ?2)`,
			before.UnixMicro(), trimEvents))
		return n == trimEvents, err
	}
}

// Approvals returns the requests for writes of principals, newest first. agent narrows them to those of one agent; "" means
// all. Where they are too long for one answer, the older ones have no arguments: each by itself has.
func (s *Store) Approvals(ctx context.Context, principals []int64, agent string) ([]catalog.Approval, error) {
	if err := s.present(); err != nil || len(principals) == 0 {
		return nil, err
	}
	args := []any{agent, agent}
	for _, p := range principals {
		args = append(args, p)
	}
	in := strings.TrimSuffix(strings.Repeat("?, ", len(principals)), ", ")
	rows, err := s.read.QueryContext(ctx, `SELECT `+approvalColumns+` FROM approvals WHERE (agent = ? OR ? = '') AND principal IN (`+in+`) ORDER BY n DESC LIMIT ?`,
		append(args, mostApprovals)...)
	if err != nil {
		return nil, err
	}
	return s.scanApprovals(rows)
}

// EveryApproval returns the requests of all principals, as Approvals does.
func (s *Store) EveryApproval(ctx context.Context) ([]catalog.Approval, error) {
	if err := s.present(); err != nil {
		return nil, err
	}
	rows, err := s.read.QueryContext(ctx, `SELECT `+approvalColumns+` FROM approvals ORDER BY n DESC LIMIT ?`, mostApprovals)
	if err != nil {
		return nil, err
	}
	return s.scanApprovals(rows)
}

// scanApprovals reads requests, and so many bytes of what they ask for as one answer may have.
func (s *Store) scanApprovals(rows *sql.Rows) ([]catalog.Approval, error) {
	room := mostArguments
	return scanAll(rows, func(row interface{ Scan(...any) error }) (catalog.Approval, error) {
		a, err := s.scanApproval(row)
		if room -= len(a.Arguments); room < 0 {
			a.Arguments = nil
		}
		return a, err
	})
}

// Approval returns a request. [catalog.ErrNone] if there is none.
func (s *Store) Approval(ctx context.Context, id string) (catalog.Approval, error) {
	if err := s.present(); err != nil {
		return catalog.Approval{}, err
	}
	a, err := s.scanApproval(s.read.QueryRowContext(ctx, `SELECT `+approvalColumns+` FROM approvals WHERE id = ?`, id))
	return a, none(err)
}

// DecideApproval moves a request that waits: to "denied", or to "deciding", which its decider ends with SettleApproval. One of
// several who do it at the same time succeeds. [catalog.ErrStale] if it waits no more.
func (s *Store) DecideApproval(ctx context.Context, id, state, why string, by catalog.Owner) error {
	if err := s.present(); err != nil {
		return err
	}
	return s.ask(ctx, func(tx *sql.Tx) error {
		whose, err := ensure(tx, by)
		if err != nil {
			return err
		}
		now := s.now().UnixMicro()
		n, err := affected(tx.Exec(`UPDATE approvals SET state = ?, why = ?, decided = ?, decided_by = ? WHERE id = ? AND state = 'pending' AND expires > ?`,
			state, why, now, whose, id, now))
		if err == nil && n == 0 {
			err = catalog.ErrStale
		}
		if err != nil {
			return err
		}
		return s.actOnApproval(ctx, tx, audit.ApprovalDecide, id, state)
	})
}

// actOnApproval enters into the audit what became of a request.
func (s *Store) actOnApproval(ctx context.Context, tx *sql.Tx, kind, id, state string) error {
	var principal int64
	var agent, action, skill string
	err := tx.QueryRow(`SELECT principal, agent, action, skill FROM approvals WHERE id = ?`, id).Scan(&principal, &agent, &action, &skill)
	if err != nil {
		return err
	}
	return s.own(ctx, tx, control.AuditRow{Kind: kind, Skill: skill}, principal, map[string]any{
		"approval": id, "state": state, "action": action, "agent": agent,
	})
}

// SettleApproval says how the write of a request that is being decided went: "approved" or "failed".
func (s *Store) SettleApproval(ctx context.Context, id, state, why string) error {
	if err := s.present(); err != nil {
		return err
	}
	return s.ask(ctx, func(tx *sql.Tx) error {
		n, err := affected(tx.Exec(`UPDATE approvals SET state = ?, why = ? WHERE id = ? AND state = 'deciding'`, state, why, id))
		if err == nil && n == 0 {
			err = catalog.ErrStale
		}
		if err != nil {
			return err
		}
		return s.actOnApproval(ctx, tx, audit.ApprovalSettle, id, state)
	})
}

// scanApproval reads a request as it stands at this moment.
func (s *Store) scanApproval(row interface{ Scan(...any) error }) (catalog.Approval, error) {
	var a catalog.Approval
	var arguments []byte
	var created, expires, decided int64
	if err := row.Scan(&a.ID, &a.Principal, &a.Agent, &a.Tool, &a.Action, &a.Skill, &arguments, &a.State, &a.Why, &created, &expires, &decided, &a.DecidedBy); err != nil {
		return a, err
	}
	a.Arguments, a.Created, a.Expires, a.Decided = arguments, moment(created), moment(expires), moment(decided)
	switch now := s.now(); {
	case a.State == "pending" && !now.Before(a.Expires):
		a.State = "expired"
	case a.State == "deciding" && now.Sub(a.Decided) > carrying:
		a.State, a.Why = "failed", "hotcell stopped while it carried the write out: look whether it was done"
	case a.State == "deciding":
		a.State, a.Decided, a.DecidedBy = "pending", time.Time{}, 0
	}
	return a, nil
}
