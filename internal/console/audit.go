package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

const (
	maxAuditText = 256 // bytes of a filter; as in REST
	verifyLimit  = 15 * time.Minute
)

func (c *Console) auditPages() []page {
	if c.o.Audit == nil {
		return nil
	}
	const base = Base + "/audit"
	return []page{
		{pattern: "GET " + base, scope: auth.Admin, serve: (*visit).auditRows},
		{pattern: "GET " + base + "/{n}", scope: auth.Admin, serve: (*visit).auditRow},
		{pattern: "POST " + base + "/verify", scope: auth.Admin, serve: (*visit).verifyAudit},
	}
}

// auditView is a page of the audit, the newest row first.
type auditView struct {
	Rows    []control.AuditRow
	Kinds   []string // that are on the page
	Kind    string
	Who     string
	Skill   string
	Call    string
	Since   string
	Until   string
	Head    string // N:HASH of the newest row of all
	Any     bool   // a filter is set
	Older   string // the page that follows, "" for none
	Newest  string // the first page, "" on it
	Nothing bool   // was ever written
}

func (v *visit) auditRows() error {
	view := auditView{
		Kind: v.query("kind", maxAuditText), Who: v.query("principal", maxAuditText), Skill: v.query("skill", maxAuditText),
		Call: v.query("call", maxAuditText), Since: v.query("since", 40), Until: v.query("until", 40),
	}
	q := control.AuditQuery{Kind: view.Kind, Principal: view.Who, Skill: view.Skill, Call: view.Call, Newest: true, Limit: perPage + 1}
	var err error
	if q.Since, err = moment("since", view.Since); err != nil {
		return err
	}
	if q.Until, err = moment("until", view.Until); err != nil {
		return err
	}
	if text := v.query("before", 20); text != "" {
		if q.Before, err = strconv.ParseInt(text, 10, 64); err != nil || q.Before < 1 {
			return wrong("before: expected the number of a row.")
		}
	}
	if view.Rows, err = v.o.Audit.AuditRows(v.ctx(), q); err != nil {
		return err
	}
	head, err := v.auditHead()
	if err != nil {
		return err
	}
	view.Nothing, view.Head = head.N == 0, head.String()
	view.turn(q)
	return v.render("audit", "Audit", view)
}

// turn works out the pages beside, from one row more than a page has.
func (a *auditView) turn(q control.AuditQuery) {
	filter := url.Values{}
	for name, text := range map[string]string{"kind": a.Kind, "principal": a.Who, "skill": a.Skill, "call": a.Call, "since": a.Since, "until": a.Until} {
		if text != "" {
			filter.Set(name, text)
			a.Any = true
		}
	}
	if q.Before > 0 {
		a.Newest = at("audit") + "?" + filter.Encode()
	}
	if len(a.Rows) > perPage {
		a.Rows = a.Rows[:perPage]
		filter.Set("before", strconv.FormatInt(a.Rows[perPage-1].N, 10))
		a.Older = at("audit") + "?" + filter.Encode()
	}
	seen := map[string]bool{}
	for _, r := range a.Rows {
		if !seen[r.Kind] {
			seen[r.Kind] = true
			a.Kinds = append(a.Kinds, r.Kind)
		}
	}
}

// auditHead is the end of the chain.
func (v *visit) auditHead() (control.AuditHead, error) {
	rows, err := v.o.Audit.AuditRows(v.ctx(), control.AuditQuery{Newest: true, Limit: 1})
	if err != nil || len(rows) == 0 {
		return control.AuditHead{}, err
	}
	return control.AuditHead{N: rows[0].N, Hash: rows[0].Hash, At: rows[0].At}, nil
}

// auditRowView is one row.
type auditRowView struct {
	control.AuditRow
	Text string // its data
}

func (v *visit) auditRow() error {
	n := v.number("n")
	if n == 0 {
		return noRow()
	}
	rows, err := v.o.Audit.AuditRows(v.ctx(), control.AuditQuery{After: n - 1, Before: n + 1, Limit: 1})
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].N != n {
		return noRow()
	}
	return v.render("auditrow", "Audit row "+strconv.FormatInt(n, 10), auditRowView{rows[0], readable(rows[0].Data)})
}

// readable is JSON for people: indented, and its characters as they are.
func readable(data []byte) string {
	from := json.NewDecoder(bytes.NewReader(data))
	from.UseNumber()
	var all any
	if from.Decode(&all) != nil {
		return string(data)
	}
	return jsonText(all)
}

func noRow() error {
	return &trouble{status: http.StatusNotFound, title: "No such row", message: "The audit has no row of this number. Old rows are taken away at the front, as audit.keep says."}
}

// verifyView is what a verification found.
type verifyView struct {
	control.AuditReport
	Anchor string // that had to be there
	Took   time.Duration
}

func (v *visit) verifyAudit() error {
	text := strings.TrimSpace(v.form("head"))
	anchor, err := anchorOf(text)
	if err != nil {
		return err
	}
	select {
	case v.verify <- struct{}{}:
		defer func() { <-v.verify }()
	default:
		return &trouble{status: http.StatusServiceUnavailable, title: "Busy", message: "The audit is being verified already. Try again later."}
	}
	v.patient(verifyLimit)
	ctx, cancel := context.WithTimeout(v.ctx(), verifyLimit)
	defer cancel()
	began := time.Now()
	report, err := v.o.Audit.VerifyAudit(ctx, anchor)
	if err != nil {
		return err
	}
	return v.render("verify", "Audit verified", verifyView{report, text, time.Since(began)})
}

var errHead = errors.New("head")

// anchorOf reads a head that was kept elsewhere, N:HASH; "" is none.
func anchorOf(text string) (h control.AuditHead, err error) {
	if text == "" {
		return h, nil
	}
	n, hash, ok := strings.Cut(text, ":")
	if !ok {
		err = errHead
	}
	if err == nil {
		h.N, err = strconv.ParseInt(n, 10, 64)
	}
	if err == nil {
		err = h.Hash.UnmarshalText([]byte(hash))
	}
	if err != nil || h.N <= 0 || len(h.Hash) != 32 {
		return control.AuditHead{}, wrong("Head: expected N:HASH, the hash as 64 hex digits, as this page has shown it before.")
	}
	return h, nil
}

// Before and After are the numbers of the rows beside.
func (r auditRowView) Before() int64 { return r.N - 1 }

// After is the number of the next row.
func (r auditRowView) After() int64 { return r.N + 1 }
