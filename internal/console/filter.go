package console

import (
	"net/url"
	"slices"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// filter is which calls are listed, as the address says it.
type filter struct {
	Skill, Verdict, Principal, Agent, Door string
	Last                                   string // the key of a window; it stands before Since and Until
	Since, Until                           time.Time
	before                                 string // the cursor of a page
}

// filter reads the address. Fields that are empty count as not there.
func (v *visit) filter() (f filter, err error) {
	f = filter{
		Skill: v.query("skill", 200), Verdict: v.query("verdict", 60), Agent: v.query("agent", 200), Door: v.query("door", 60),
		Last: v.query("last", 10), before: v.query("before", 300),
	}
	if v.who.May(auth.Admin) { // others see their own calls alone
		f.Principal = v.query("principal", 200)
	}
	if f.Verdict != "" && !slices.Contains(verdictNames, f.Verdict) && !slices.Contains(codeNames, f.Verdict) {
		return f, wrong("verdict: expected running, succeeded, failed, canceled or the code of an error such as timeout.")
	}
	if f.Last != "" {
		if windowOf(f.Last).Key != f.Last {
			return f, wrong("last: expected 15m, 1h, 24h or 7d.")
		}
		return f, nil
	}
	if f.Since, err = moment("since", v.query("since", 60)); err != nil {
		return f, err
	}
	if f.Until, err = moment("until", v.query("until", 60)); err != nil {
		return f, err
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return f, wrong("since: expected a time before until. Move one of the two.")
	}
	return f, nil
}

// moment reads a time as forms and addresses have it; without a zone it is UTC.
func moment(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil && t.Year() >= 2000 && t.Year() < 3000 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, wrong(name + ": expected a time such as 2026-01-31T15:04 (UTC) or 2026-01-31T15:04:00+01:00.")
}

// values is the filter as an address has it, without the page.
func (f filter) values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"skill": f.Skill, "verdict": f.Verdict, "principal": f.Principal, "agent": f.Agent, "door": f.Door, "last": f.Last,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, t := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !t.IsZero() {
			q.Set(name, isoSeconds(t))
		}
	}
	return q
}

// query is the filter at a moment.
func (f filter) query(now time.Time) control.CallQuery {
	q := control.CallQuery{
		Skill: f.Skill, Verdict: f.Verdict, Principal: f.Principal, Agent: f.Agent, Door: f.Door, Since: f.Since, Until: f.Until, Before: f.before,
		Limit: perPage,
	}
	if f.Last != "" {
		q.Since, q.Until = now.Add(-windowOf(f.Last).length), time.Time{}
	}
	return q
}

// still says why a list does not change by itself; "": it does.
func (f filter) still() string {
	switch {
	case f.before != "":
		return "this is an older page"
	case !f.Until.IsZero():
		return "it has an end in time"
	}
	return ""
}

// Field is a time as a datetime-local field has it, in UTC.
func (f filter) Field(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	if t.Second() == 0 {
		return t.UTC().Format("2006-01-02T15:04")
	}
	return t.UTC().Format("2006-01-02T15:04:05")
}
