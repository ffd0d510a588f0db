package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/control"
)

// shelved is a book of calls, the newest first.
type shelved []control.Call

func (s shelved) Search(_ context.Context, whose control.Whose, q control.CallQuery) (page control.CallPage, err error) {
	if err := q.Check(); err != nil {
		return page, err
	}
	before, top := control.PlaceOf(q.Before)
	for _, c := range s {
		switch {
		case !whose.Has(c.Principal) || !q.Matches(&c) || top == nil && c.Place().Compare(before) >= 0:
		case len(page.Calls) == q.Most():
			page.Next = page.Calls[len(page.Calls)-1].Place().Cursor()
			return page, nil
		default:
			page.Calls = append(page.Calls, c)
		}
	}
	return page, nil
}

func (s shelved) Stats(context.Context, control.Whose, control.StatsQuery) (*control.Stats, error) {
	return nil, errors.New("nobody asks")
}

func (s shelved) find(whose control.Whose, id string) error {
	for _, c := range s {
		if c.ID == id && whose.Has(c.Principal) {
			return nil
		}
	}
	return fmt.Errorf("%q: %w", id, control.ErrNotFound)
}

func (s shelved) Request(_ context.Context, whose control.Whose, id string) (*control.Request, error) {
	return &control.Request{Args: json.RawMessage(`{"code":"<x>"}`), Timeout: time.Second, Files: 1, Missing: "its input file"}, s.find(whose, id)
}

func (s shelved) Policy(_ context.Context, whose control.Whose, id string) (*control.Ran, error) {
	return &control.Ran{
		Digest: "d", Choices: []control.Choice{{Field: "timeout", Value: "5s", From: "skill"}},
		Clamps: []control.Clamp{{Field: "timeout", By: "skill", Asker: "call", Asked: "9s", Granted: "5s"}},
	}, s.find(whose, id)
}

func olderCall() control.Call {
	c := aCall()
	c.ID, c.ReqID, c.State, c.Accepted = "01H", "r0", control.Succeeded, c.Accepted.Add(-time.Hour)
	c.Phases = []control.Phase{{Name: "plan", Took: time.Millisecond}, {Name: "run", From: time.Millisecond, Took: time.Second}}
	return c
}

// manyCalls are those of two principals, the newest first.
func manyCalls(n int) (all shelved) {
	for i := range n {
		c := aCall()
		c.ID, c.Accepted, c.Principal = fmt.Sprintf("c%04d", i), c.Accepted.Add(-time.Duration(i)*time.Second), []string{"alice", "bob"}[i%2]
		if i%3 == 0 {
			c.State, c.Code = control.Failed, "timeout"
		}
		all = append(all, c)
	}
	return all
}

// The list is narrowed by each parameter, and its pages together are all of it, whatever they are made of.
func TestSearch(t *testing.T) {
	calls := manyCalls(1000)
	calls[7].Skill, calls[8].Agent, calls[9].Door = "other", "bot", "mcp"
	h := New(Options{Control: &fake{}, Auth: house, Book: calls})
	for query, want := range map[string]int{
		"limit=0": 1000, "": 100, "limit=777": 777, "limit=0&verdict=timeout": 334, "limit=0&verdict=failed": 334, "limit=0&verdict=running": 666,
		"verdict=succeeded": 0, "skill=other": 1, "agent=bot": 1, "door=mcp": 1, "limit=0&principal=bob": 500, "principal=eve": 0,
		"limit=0&since=2026-01-02T03:04:00Z": 6, "limit=0&since=2026-01-02T03:04:00Z&until=2026-01-02T03:04:02Z": 2,
	} {
		total, seen := 0, map[string]bool{}
		var body listBody
		for more := true; more; more = body.Next != "" && want == 1000 {
			target := "/v1/calls?" + query
			if body.Next != "" {
				target += "&before=" + body.Next
			}
			w := ask(h, "GET", target, shows("Bearer root"))
			body = listBody{}
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != 200 {
				t.Fatalf("%s: %d, %v", query, w.Code, err)
			}
			for _, c := range body.Calls {
				seen[c.ID] = true
			}
			total += len(body.Calls)
		}
		if total != want || len(seen) != want || body.Next != "" && strings.Contains(query, "limit=0") {
			t.Errorf("%s: %d calls, %d different ones, next %q", query, total, len(seen), body.Next)
		}
	}
	w := ask(h, "GET", "/v1/calls?limit=0", shows("Bearer alice"))
	if n := strings.Count(w.Body.String(), `"principal":"alice"`); n != 500 || strings.Contains(w.Body.String(), "bob") {
		t.Errorf("one's own: %d", n)
	}
}

// What means nothing is refused in words that name it.
func TestSearchesThatAreRefused(t *testing.T) {
	h := New(Options{Control: &fake{}, Auth: house, Book: manyCalls(3)})
	for target, want := range map[string]string{
		"/v1/calls?limit=-1":        "limit: expected one number from 0 to 10000",
		"/v1/calls?verdict=bad":     "verdict: expected running, succeeded, failed, canceled or the code of an error such as timeout",
		"/v1/calls?since=yesterday": "since: expected a time such as",
		"/v1/calls?until=1":         "until: expected a time such as",
		"/v1/calls?before=bad":      "before: expected next of an earlier answer",
		"/v1/calls?skill=a&skill=b": "skill: expected one text of at most 256 bytes",
		"/v1/calls?principal=bob":   "principal: expected your own",
		"/v1/calls?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z": "since: expected a time before until",
		"/v1/calls?agent=" + strings.Repeat("x", 257):                     "agent: expected one text of at most 256 bytes",
	} {
		w := ask(h, "GET", target, shows("Bearer alice"))
		if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	for _, target := range []string{"/v1/calls/c0001/request", "/v1/calls/c0001/policy"} { // bob's
		if w := ask(h, "GET", target, shows("Bearer alice")); w.Code != 404 || !strings.Contains(w.Body.String(), "no such call") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
		if w := ask(h, "GET", target, shows("Bearer root")); w.Code != 200 {
			t.Errorf("%s for an admin: %d %s", target, w.Code, w.Body)
		}
		if w := ask(New(Options{Control: &fake{}}), "GET", target); w.Code != 404 {
			t.Errorf("%s without a book: %d %s", target, w.Code, w.Body)
		}
	}
}

// The client asks for what it is asked for.
func TestClientSearches(t *testing.T) {
	calls := manyCalls(500)
	c := dial(t, New(Options{Control: &fake{}, Book: calls}))
	for _, q := range []control.CallQuery{
		{}, {Limit: 3}, {Limit: 300}, {Skill: "code-review", Principal: "bob", Verdict: "timeout", Since: calls[100].Accepted, Until: calls[10].Accepted},
		{Agent: "none"}, {Door: "none"},
	} {
		page, err := c.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		want := []control.Call{}
		for _, one := range calls {
			if q.Matches(&one) && (q.Limit == 0 || len(want) < q.Limit) {
				want = append(want, one)
			}
		}
		if d := cmp.Diff(want, page.Calls); d != "" || (page.Next == "") != (q.Limit == 0) {
			t.Errorf("%+v: %s, next %q", q, d, page.Next)
		}
		if page.Next == "" {
			continue
		}
		q.Before = page.Next
		if older, err := c.Search(t.Context(), q); err != nil || older.Calls[0].ID != calls[q.Limit].ID {
			t.Errorf("the next page: %+v, %v", older, err)
		}
	}
}
