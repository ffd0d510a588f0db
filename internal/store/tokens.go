package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

var _ auth.Finder = (*Store)(nil)

// Bounds on tokens.
const (
	mostTokens = 10_000
	deadTokens = 90 * 24 * time.Hour // how long one that expired or was revoked is still listed
)

// ErrNoToken: no token has this id.
var ErrNoToken = errors.New("no such token")

const tokenColumns = "id, note, principal, groups_, agent, scopes, created, expires, revoked"

// AddToken keeps a token, by its digest alone. Those that ended long ago make room.
func (s *Store) AddToken(ctx context.Context, t auth.Token, d auth.Digest) error {
	groups, err := json.Marshal(t.Groups)
	if err != nil {
		return err
	}
	scopes, err := json.Marshal(t.Scopes)
	if err := errors.Join(err, s.present()); err != nil {
		return err
	}
	return s.ask(ctx, func(tx *sql.Tx) error {
		long := s.now().Add(-deadTokens).UnixMicro()
		if _, err := tx.Exec(`DELETE FROM tokens WHERE revoked BETWEEN 1 AND ? OR expires BETWEEN 1 AND ?`, long, long); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRow(`SELECT count(*) FROM tokens`).Scan(&n); err != nil {
			return err
		}
		if n >= mostTokens {
			return fmt.Errorf("there are %d tokens, more are not kept: revoked and expired ones go after 90 days", n)
		}
		_, err := tx.Exec(`INSERT INTO tokens (digest, `+tokenColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`,
			d[:], t.ID, t.Note, t.Principal, groups, t.Agent, scopes, t.Created.UnixMicro(), micro(t.Expires))
		if err != nil {
			return err
		}
		what := map[string]any{"token": t.ID, "principal": t.Principal, "agent": t.Agent, "groups": t.Groups, "scopes": t.Scopes, "expires": t.Expires}
		if t.Expires.IsZero() {
			what["expires"] = "never"
		}
		return s.act(ctx, tx, control.AuditRow{Kind: audit.TokenCreate}, what)
	})
}

// FindToken implements [auth.Finder]. It reads the file each time, so what another process has revoked is found revoked.
func (s *Store) FindToken(ctx context.Context, d auth.Digest) (auth.Token, error) {
	if err := s.present(); err != nil {
		return auth.Token{}, err
	}
	t, err := scanToken(s.read.QueryRowContext(ctx, `SELECT `+tokenColumns+` FROM tokens WHERE digest = ?`, d[:]))
	if errors.Is(err, sql.ErrNoRows) {
		err = auth.ErrRefused
	}
	return t, err
}

// Tokens returns all tokens, oldest first.
func (s *Store) Tokens(ctx context.Context) ([]auth.Token, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT `+tokenColumns+` FROM tokens ORDER BY created, id LIMIT ?`, mostTokens)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var tokens []auth.Token
	for rows.Next() {
		t, err := scanToken(rows)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
	}
	return tokens, rows.Err()
}

// RevokeToken ends a token for good, and does nothing to one that is revoked already. [ErrNoToken] if there is none.
func (s *Store) RevokeToken(ctx context.Context, id string) error {
	if err := s.present(); err != nil {
		return err
	}
	return s.ask(ctx, func(tx *sql.Tx) error {
		n, err := affected(tx.Exec(`UPDATE tokens SET revoked = CASE revoked WHEN 0 THEN ? ELSE revoked END WHERE id = ?`, s.now().UnixMicro(), id))
		if n == 0 && err == nil {
			err = ErrNoToken
		}
		if err != nil {
			return err
		}
		return s.act(ctx, tx, control.AuditRow{Kind: audit.TokenRevoke}, map[string]any{"token": id})
	})
}

func scanToken(row interface{ Scan(...any) error }) (auth.Token, error) {
	var t auth.Token
	var groups, scopes []byte
	var created, expires, revoked int64
	if err := row.Scan(&t.ID, &t.Note, &t.Principal, &groups, &t.Agent, &scopes, &created, &expires, &revoked); err != nil {
		return auth.Token{}, err
	}
	t.Created, t.Expires, t.Revoked = moment(created), moment(expires), moment(revoked)
	if err := errors.Join(json.Unmarshal(groups, &t.Groups), json.Unmarshal(scopes, &t.Scopes)); err != nil {
		return auth.Token{}, fmt.Errorf("token %s can't be read: %w", t.ID, err)
	}
	return t, nil
}

// micro and moment keep the zero time as 0.
func micro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func moment(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
