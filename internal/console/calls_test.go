package console

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

func TestCallsAreFiltered(t *testing.T) {
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for query, want := range map[string]control.CallQuery{
		"": {}, "skill=x&verdict=&agent=": {Skill: "x"}, "verdict=failed&door=mcp": {Verdict: "failed", Door: "mcp"}, "verdict=out_of_memory": {Verdict: "out_of_memory"},
		"principal=bob&agent=a": {Principal: "bob", Agent: "a"}, "since=2026-01-31T12:00": {Since: noon}, "until=2026-01-31T13:00:00%2B01:00": {Until: noon},
		"since=2026-01-31&until=2026-01-31T12:00:00Z": {Since: noon.Add(-12 * time.Hour), Until: noon}, "before=older&skill=%20x%20": {Skill: "x", Before: "older"},
	} {
		c := newClerk()
		if w := open(t, c.options()).get("/console/calls?" + query); w.Code != 200 {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
			continue
		}
		want.Limit = perPage
		if diff := cmp.Diff(want, c.asked[0]); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", query, diff)
		}
	}
	c := newClerk()
	open(t, c.options()).get("/console/calls?last=15m&until=2026-01-31")
	if q := c.asked[0]; time.Since(q.Since) < 15*time.Minute || time.Since(q.Since) > 16*time.Minute || !q.Until.IsZero() {
		t.Errorf("the last 15 minutes: %+v", q)
	}
}

func TestFiltersThatAreNone(t *testing.T) {
	for query, want := range map[string]string{
		"verdict=great": "verdict: expected running", "last=2h": "last: expected 15m, 1h, 24h or 7d", "since=yesterday": "since: expected a time such as",
		"until=12": "until: expected a time such as", "since=2026-02-01&until=2026-01-01": "since: expected a time before until", "before=x": "Begin again at its start",
		"since=" + strings.Repeat("9", 500): "since: expected a time such as",
	} {
		b := open(t, newClerk().options())
		for _, path := range []string{"/console/calls?", "/console/live/calls?"} {
			if w := b.get(path + query); (w.Code != 400 && w.Code != 404) || !strings.Contains(w.Body.String(), want) && !strings.HasPrefix(query, "before") {
				t.Errorf("%s%s: %d %s", path, query, w.Code, w.Body)
			}
		}
	}
}

func TestCallsAreListed(t *testing.T) {
	c := newClerk()
	c.calls[4].Agent = "helper"
	c.put(aCall("C1", "", control.Canceled, ""), aCall("I1", "dave", control.Failed, a2e.RuntimeError))
	c.calls[1].Reason = a2e.ReasonQueueFull
	b := open(t, c.options())
	page := b.get("/console/calls").Body.String()
	tells(t, page,
		"running [/console/calls/R1] skill-of-R1 alice", "queued [/console/calls/Q1] skill-of-Q1 bob", "1 min 0 s so far",
		"succeeded [/console/calls/S1] skill-of-S1 alice", "1.5 s – 3 http", "out_of_memory [/console/calls/F1] skill-of-F1 bob", "it used more memory than it may",
		"timeout [/console/calls/F2] skill-of-F2 alice as helper", "canceled [/console/calls/C1] skill-of-C1 nobody", "runtime_error [/console/calls/I1]", "too many calls waited",
	)
	if !strings.Contains(page, `<option value="slow">`) || !strings.Contains(page, `<option value="mcp">`) {
		t.Error("no names to choose from")
	}
	page = b.get("/console/calls?verdict=timeout&skill=skill-of-F2").Body.String()
	tells(t, page, "skill-of-F2", "[/console/calls] Clear")
	hides(t, page, "skill-of-F1", "skill-of-R1")
	if !strings.Contains(page, `<option value="timeout" selected>`) || !strings.Contains(page, `value="skill-of-F2"`) {
		t.Error("the form does not say what is listed")
	}
	page = b.get("/console/calls?since=2026-01-31T12:00:30%2B01:00&until=2026-01-31T13:00").Body.String()
	if !strings.Contains(page, `value="2026-01-31T11:00:30"`) || !strings.Contains(page, `value="2026-01-31T13:00"`) {
		t.Error("the form does not say from when until when")
	}
	tells(t, b.get("/console/calls?skill=none").Body.String(), "No call matches. [/console/calls] Show all calls")
	tells(t, b.get("/console/calls?since=2026-01-31T12:00&until=2026-01-31T13:00").Body.String(), "Not updated by itself: it has an end in time.")
}

// A list has as many calls as a page, and leads to older ones and back with the filter as it was.
func TestCallsByPages(t *testing.T) {
	c := newClerk()
	for i := range perPage + 5 {
		c.put(aCall(fmt.Sprintf("N%03d", i), "bob", control.Succeeded, ""))
	}
	b := open(t, c.options())
	page := b.get("/console/calls?principal=bob&last=24h").Body.String()
	tells(t, page, "[/console/calls?before=older&last=24h&principal=bob] Older calls", "skill-of-N054")
	hides(t, page, "Newest calls", "skill-of-N004")
	if n := strings.Count(page, "<td data-label=\"Verdict\""); n != perPage {
		t.Errorf("%d calls", n)
	}
	page = b.get("/console/calls?before=older&principal=bob").Body.String()
	tells(t, page, "[/console/calls?principal=bob] ← Newest calls", "Not updated by itself: this is an older page.")
	hides(t, page, "sse-connect")
}

// New calls come by themselves, the list stays as long as a page, and what can't change is not kept up to date.
func TestCallsAreLive(t *testing.T) {
	c := newClerk()
	page := open(t, c.options()).get("/console/calls?principal=bob").Body.String()
	if !strings.Contains(page, `sse-connect="/console/live/calls?principal=bob"`) || !strings.Contains(page, `href="/console/calls?live=off&amp;principal=bob"`) {
		t.Errorf("%s", page)
	}
	hides(t, open(t, c.options()).get("/console/calls?live=off&principal=bob").Body.String(), "sse-connect")
	messages := listen(t, c.options(), "/console/live/calls?principal=bob")
	first := await(t, messages, "table", "skill-of-Q1")
	hides(t, first, "skill-of-R1")
	for i := range perPage {
		c.put(aCall(fmt.Sprintf("N%03d", i), "bob", control.Running, ""), aCall(fmt.Sprintf("O%03d", i), "alice", control.Running, ""))
	}
	next := await(t, messages, "table", "skill-of-N049")
	hides(t, next, "skill-of-Q1", "skill-of-O")
	if n := strings.Count(next, "<tr>"); n != perPage+1 {
		t.Errorf("%d rows", n)
	}
	for _, query := range []string{"before=older", "until=2026-01-31", "verdict=great"} {
		if w := open(t, c.options()).get("/console/live/calls?" + query); w.Code != 400 {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
}

// An address says what is listed, so that it can be handed on.
func TestFilterAddresses(t *testing.T) {
	for _, query := range []string{"", "skill=a%26b&verdict=timeout", "agent=x&door=y&last=7d&principal=z", "since=2026-01-31T12%3A00%3A00Z&until=2026-02-01T00%3A00%3A00Z"} {
		b := open(t, newClerk().options())
		page := b.get("/console/calls?live=off&" + query).Body.String()
		want := "/console/calls"
		if query != "" {
			want += "?" + query
		}
		got, err := url.Parse(want)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(pageText(t, page), "["+got.String()+"] Update by itself") && !strings.Contains(pageText(t, page), "Not updated by itself") {
			t.Errorf("%s: %s", query, pageText(t, page))
		}
	}
}
