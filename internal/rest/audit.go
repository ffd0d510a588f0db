package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

type auditBody struct {
	Rows []control.AuditRow `json:"rows"`
}

const (
	maxAuditRows = 1000
	maxAuditText = 256 // bytes of a filter
)

// auditRoutes are what ran and what operators did.
func (a *api) auditRoutes() []route {
	if a.audit == nil {
		return nil
	}
	return []route{
		{
			method: http.MethodGet, path: "/v1/audit", id: "list-audit", tag: tagAudit, scope: auth.Admin,
			summary: "List how calls ended and what operators did", about: "The newest first. With after they come in the order of their numbers, as who ships " +
				"them wants it: ask again with the last number, there is no more once an answer is empty.",
			params: []param{
				{"limit", "query", "integer", "At most so many: 100 if absent, 1,000 at most."},
				{"after", "query", "integer", "Only rows with a larger number, the smallest first."},
				{"before", "query", "integer", "Only rows with a smaller number."},
				{"since", "query", "string", "Only from this time on, as RFC 3339."},
				{"until", "query", "string", "Only before this time."},
				{"principal", "query", "string", "Only of this principal."},
				{"skill", "query", "string", "Only about this skill."},
				{"kind", "query", "string", "Only of this kind: call.end, token.create, ..."},
				{"call", "query", "string", "Only about the call of this id."},
			},
			outs: []out{good(auditBody{})}, fails: []int{http.StatusBadRequest}, serve: a.listAudit,
		},
		{
			method: http.MethodGet, path: "/v1/audit/verify", id: "verify-audit", tag: tagAudit, scope: auth.Admin,
			summary: "Look whether the audit is as it was written", about: "One at a time. head.n and head.hash of the answer, kept elsewhere, are head of a later request: N:HASH.",
			params: []param{{"head", "query", "string", "A row that must be there, N:HASH."}},
			outs:   []out{good(control.AuditReport{})}, fails: []int{http.StatusBadRequest, http.StatusServiceUnavailable}, serve: a.verifyAudit,
		},
	}
}

func (a *api) listAudit(w http.ResponseWriter, r *http.Request) error {
	limit, err := number(r, "limit", defaultList, maxAuditRows)
	if err != nil {
		return err
	}
	q := control.AuditQuery{Limit: limit, Newest: !r.URL.Query().Has("after")}
	if limit == 0 {
		reply(w, http.StatusOK, auditBody{[]control.AuditRow{}})
		return nil
	}
	for _, n := range []struct {
		name string
		to   *int64
	}{{"after", &q.After}, {"before", &q.Before}} {
		if *n.to, err = rowNumber(r, n.name); err != nil {
			return err
		}
	}
	for _, t := range []struct {
		name string
		to   *time.Time
	}{{"since", &q.Since}, {"until", &q.Until}} {
		if *t.to, err = moment(r, t.name); err != nil {
			return err
		}
	}
	for _, s := range []struct {
		name string
		to   *string
	}{{"principal", &q.Principal}, {"skill", &q.Skill}, {"kind", &q.Kind}, {"call", &q.Call}} {
		if *s.to = r.URL.Query().Get(s.name); len(*s.to) > maxAuditText {
			return badArgument(fmt.Errorf("%s: expected at most %d bytes, got %d", s.name, maxAuditText, len(*s.to)))
		}
	}
	rows, err := a.audit.AuditRows(r.Context(), q)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, auditBody{listed(rows)})
	return nil
}

func rowNumber(r *http.Request, name string) (int64, error) {
	if !r.URL.Query().Has(name) {
		return 0, nil
	}
	n, err := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
	if err != nil || n < 0 {
		return 0, badArgument(fmt.Errorf("%s: expected the number of a row", name))
	}
	return n, nil
}

func moment(r *http.Request, name string) (time.Time, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, badArgument(fmt.Errorf("%s: expected a time such as 2030-01-31T12:00:00Z", name))
	}
	return t, nil
}

// verifyAudit reads the whole chain, which may take a while: one request at a time does.
func (a *api) verifyAudit(w http.ResponseWriter, r *http.Request) error {
	anchor, err := anchorOf(r)
	if err != nil {
		return err
	}
	select {
	case a.verifying <- struct{}{}:
		defer func() { <-a.verifying }()
	default:
		p := problemf(http.StatusServiceUnavailable, "busy", "the audit is being verified already: try again later")
		p.retryAfter = busyFor
		return p
	}
	lifted(w)
	report, err := a.audit.VerifyAudit(r.Context(), anchor)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, report)
	return nil
}

var errHead = errors.New("head: expected N:HASH, the hash as 64 hex digits")

// anchorOf reads the anchor. One that is empty is not one that was left out: without it the answer would be another.
func anchorOf(r *http.Request) (h control.AuditHead, err error) {
	if !r.URL.Query().Has("head") {
		return h, nil
	}
	n, hash, _ := strings.Cut(r.URL.Query().Get("head"), ":")
	if h.N, err = strconv.ParseInt(n, 10, 64); err == nil {
		err = h.Hash.UnmarshalText([]byte(hash))
	}
	if err != nil || h.N <= 0 || len(h.Hash) != 32 {
		return h, badArgument(errHead)
	}
	return h, nil
}
