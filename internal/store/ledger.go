package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// Accept journals a call before anything is made for it. If the same caller sent the same request id in a call that has no
// answer yet, or that ended after since with an answer that says something about the request, that earlier call is returned instead and
// nothing is written. A [control.OverError] says that it was written though its principal has its share of calls already.
func (s *Store) Accept(ctx context.Context, r control.Record, since time.Time) (*control.Record, error) {
	if err := s.present(); err != nil {
		return nil, err
	}
	if s.intake != nil {
		return s.acceptFirst(ctx, r, since)
	}
	view, err := encode(r.Call)
	if err != nil {
		return nil, err
	}
	var earlier *control.Record // the writer's until ask returns without an error, as is over
	var over *control.OverError
	err = s.ask(ctx, func(tx *sql.Tx) error {
		earlier, over = nil, nil
		old, err := scan(tx.Stmt(s.stmts.earlier).QueryRow(r.ReqID, r.Principal, r.Agent, since.UnixMicro()))
		if err == nil {
			earlier = &old
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		counted := int64(0)
		if counted, over, err = s.share(tx, &r); err != nil {
			return err
		}
		return s.insert(tx, &r, view, counted)
	})
	switch {
	case err != nil:
		return nil, err
	case over != nil:
		return nil, over
	}
	return earlier, nil
}

// End journals a call's answer and returns the record that stands: another one if the call had its answer already.
func (s *Store) End(ctx context.Context, r control.Record) (control.Record, error) {
	p, err := policyOf(r.Ran)
	if err != nil {
		return control.Record{}, err
	}
	view, err := json.Marshal(view{r.Call, r.Account, p.digest})
	if err != nil {
		return control.Record{}, err
	}
	news := s.policies.news(p, r.Accepted)
	var stands control.Record // the writer's until ask returns without an error
	wrote := false
	err = s.ask(ctx, func(tx *sql.Tx) error {
		stands, wrote = r, false
		done, err := tx.Stmt(s.stmts.end).Exec(r.ID, r.ReqID, r.Principal, r.Agent, r.Digest, r.Instance, r.Accepted.UnixMicro(), view,
			max(r.Ended.UnixMicro(), 1), r.Again, []byte(r.Answer))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil {
			return err
		} else if n > 0 {
			if err := s.enterEnd(tx, r); err != nil {
				return err
			}
			wrote = true
			return errors.Join(s.index(tx, &r), s.putPolicy(tx, news))
		}
		stands, err = scan(tx.Stmt(s.stmts.stands).QueryRow(r.ID))
		return err
	})
	if err != nil {
		return r, err
	}
	if s.company != nil {
		s.company.ended(r.ID)
	}
	if wrote {
		s.policies.wrote(news)
	}
	return stands, nil
}
