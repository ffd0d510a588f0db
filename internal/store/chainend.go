package store

import (
	"cmp"
	"database/sql"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
)

// ended is the data of a row of the kind [audit.CallEnd].
type ended struct {
	Request string        `json:"request"`
	State   control.State `json:"state"`
	Code    a2e.Code      `json:"code"` // "ok" for success
	Reason  string        `json:"reason,omitempty"`

	*control.Account

	Hosted     bool           `json:"hosted,omitempty"`
	Cell       string         `json:"cell,omitempty"`
	Instance   string         `json:"instance"`
	Confidence string         `json:"confidence,omitempty"`
	Unenforced []string       `json:"unenforced,omitempty"` // controls that its cell was without
	Usage      *control.Usage `json:"usage,omitempty"`
	Events     int            `json:"events"`
	Accepted   time.Time      `json:"accepted"`
	Started    time.Time      `json:"started,omitzero"`
	Ended      time.Time      `json:"ended"`

	Used *sealed `json:"used,omitempty"` // what it used by then, entry by entry
}

// sealed covers the first entries of what a call used.
type sealed struct {
	Rows int64       `json:"rows"`
	Hash control.Sum `json:"hash"`
}

// enterEnd puts the end of a call into the audit, in the transaction that keeps its answer.
func (s *Store) enterEnd(tx *sql.Tx, r control.Record) error {
	nth, hash, err := s.usedSoFar(tx, r.ID)
	if err != nil {
		return err
	}
	account := r.Account
	if account == nil { // as far as it was noted before its supervisor was gone
		account = &control.Account{}
	}
	data := ended{
		Request: audit.Text(r.ReqID), State: r.State, Code: cmp.Or(r.Code, "ok"), Reason: audit.Text(r.Reason), Account: account,
		Hosted: r.Hosted, Cell: r.Cell, Instance: r.Instance, Confidence: r.Confidence, Unenforced: r.Unenforced, Usage: r.Usage, Events: r.Events,
		Accepted: r.Accepted.UTC(), Started: utc(r.Started), Ended: r.Ended.UTC(),
	}
	if nth > 0 {
		data.Used = &sealed{nth, hash}
	}
	return s.link(tx, control.AuditRow{
		At: r.Ended, Kind: audit.CallEnd, Call: r.ID, Principal: r.Principal, Agent: r.Agent, Door: r.Door, Skill: r.Skill,
	}, data)
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
