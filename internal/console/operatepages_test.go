package console

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
)

// oracle explains what tests put there.
type oracle map[string]*control.Explained

func (o oracle) Explain(_ context.Context, skill string) (*control.Explained, error) {
	if skill == "odd" {
		return nil, &control.Fault{Message: "the policy of this skill can't be worked out: " + strangers}
	}
	if e := o[skill]; e != nil {
		return e, nil
	}
	return nil, control.ErrNoSkill
}

func TestPolicies(t *testing.T) {
	c := newCrew(t)
	c.options.Explain = oracle{"typst": {
		Skill: "typst", Status: "Blocked", Why: "bad " + strangers, Image: "img" + strangers, Model: "small of fake", Budget: "a call: 7 requests", Secrets: "TOKEN",
		Tools: []string{"time", strangers},
		Choices: []control.Choice{
			{Field: "limits.memory", Value: "256Mi", From: "default"}, {Field: "limits.cpu", Value: "1500m", From: "operator"}, {Field: "timeout", Value: "30s", From: "call"},
			{Field: "network", Value: strangers, From: "skill"}, {Field: "writes", Value: "false", From: "host"}, {Field: strangers, Value: "", From: strangers},
		},
		Clamps: []control.Clamp{{Field: "limits.memory", By: "operator", Asker: "skill", Asked: "1Gi", Granted: "256Mi"}, {Field: "limits.out", By: "limits.memory", Asker: "call", Asked: strangers, Granted: "8Mi"}},
	}}
	b := c.as(t, "root")
	page := pageOf(t, b.get("/console/policies"), 200)
	has(t, page, "Choose a skill.")
	if len(all(page, "option", "value", "typst")) != 1 {
		t.Error("the skills are not offered")
	}
	page = pageOf(t, b.get("/console/policies?skill=typst"), 200)
	has(t, page, "Policy of typst", "It can't be called (Blocked).", "small of fake", "a call: 7 requests", "TOKEN (names alone)",
		"Memory limits.memory 256 MiB hotcell's default", "1.5 CPU the operator", "30 s the call", "no hotcell, which allows no more",
		"Memory limits.memory 1 GiB by the skill 256 MiB by the operator", "8 MiB by the memory")
	has(t, pageOf(t, b.get("/console/policies?skill=none"), 404), "No shipped skill is called none.")
	has(t, pageOf(t, b.get("/console/policies?skill=odd"), 409), "can't be worked out")
	if w := c.as(t, "alice").get("/console/policies"); w.Code != 403 {
		t.Errorf("%d", w.Code)
	}
}

// ledger is an audit that has what tests put there.
type ledger struct {
	report control.AuditReport
	err    error
	wait   chan struct{}
	anchor control.AuditHead
}

func (l *ledger) AuditRows(context.Context, control.AuditQuery) ([]control.AuditRow, error) {
	return []control.AuditRow{{
		N: 7, At: time.Now(), Kind: "k" + strangers, Call: strangers, Principal: strangers, Agent: strangers, Door: strangers, Skill: strangers, Data: []byte(`{"a":"<script>alert(2)</script>"}`), Hash: []byte{1},
	}}, l.err
}

func (l *ledger) VerifyAudit(_ context.Context, anchor control.AuditHead) (control.AuditReport, error) {
	if l.wait != nil {
		l.wait <- struct{}{}
		<-l.wait
	}
	l.anchor = anchor
	return l.report, l.err
}

func TestAudit(t *testing.T) {
	c := newCrew(t)
	b := c.as(t, "root")
	has(t, pageOf(t, b.get("/console/audit"), 200), "Nothing is written yet.")
	ctx := audit.By(t.Context(), audit.Actor{Principal: "alice", Door: "console"})
	for i := range 60 {
		if err := c.db.Record(ctx, audit.Entry{Kind: audit.ImagePin, Skill: fmt.Sprintf("s-%02d", i), Data: map[string]any{"image": strangers, "i": i}}); err != nil {
			t.Fatal(err)
		}
	}
	page := pageOf(t, b.get("/console/audit"), 200)
	has(t, page, "s-59", "s-10", "Older", "alice by console", "60:")
	lacks(t, page, "s-09")
	older := all(page, "a", "rel", "next")
	if len(older) != 1 {
		t.Fatal("no older page")
	}
	page = pageOf(t, b.get(attr(older[0], "href")), 200)
	has(t, page, "s-09", "s-00", "Newest rows")
	lacks(t, page, "s-10", "Older")
	page = pageOf(t, b.get("/console/audit?kind=image.pin&principal=alice&skill=s-07&since=2020-01-01T00:00&until=2999-01-01T00:00"), 200)
	has(t, page, "s-07", "All rows")
	lacks(t, page, "s-08")
	has(t, pageOf(t, b.get("/console/audit?call=none"), 200), "No row fits the filter.")
	has(t, pageOf(t, b.get("/console/audit/12"), 200), "Audit row 12", "image.pin", `"i": 11`, "<script>alert(2)</script>", "Row 11", "Row 13")
	for path, code := range map[string]int{"/console/audit/61": 404, "/console/audit/0": 404, "/console/audit/x": 404, "/console/audit?before=x": 400, "/console/audit?since=soon": 400} {
		if w := b.get(path); w.Code != code {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	page = pageOf(t, b.post("/console/audit/verify"), 200)
	has(t, page, "The audit is as it was written", "All 60 rows fit together", "none was given")
	head := said(all(page, "code", "class", "chain-head")[0])
	has(t, pageOf(t, b.post("/console/audit/verify", "head", " "+head+" "), 200), "The head that you gave is one of them")
	wrong := strings.Replace(head, head[len(head)-4:], "0000", 1)
	has(t, pageOf(t, b.post("/console/audit/verify", "head", wrong), 200), "The audit is not as it was written")
	for _, bad := range []string{"x", "1:", "1:zz", ":" + head, "0:" + strings.Repeat("a", 64), "60"} {
		if w := b.post("/console/audit/verify", "head", bad); w.Code != 400 {
			t.Errorf("%q: %d", bad, w.Code)
		}
	}
}

func TestAuditThatSomebodyChanged(t *testing.T) {
	c := newCrew(t)
	l := &ledger{report: control.AuditReport{Rows: 9, First: 4, BadRow: 7, Fault: "the hash is another " + strangers, Head: control.AuditHead{N: 12, Hash: []byte{1}}, Keyed: true}}
	c.options.Audit = l
	b := c.as(t, "root")
	pageOf(t, b.get("/console/audit"), 200)
	pageOf(t, b.get("/console/audit/7"), 200)
	page := pageOf(t, b.post("/console/audit/verify"), 200)
	has(t, page, "Row 7 is the first that is wrong.", "the hash is another", "from row 4 on", "Look at row 7", "checked with the key")
	// One at a time.
	l.wait = make(chan struct{})
	first := make(chan int, 1)
	other := &browser{t: t, h: b.h, cookie: b.cookie, mark: b.mark}
	go func() { first <- other.post("/console/audit/verify").Code }()
	<-l.wait
	if w := b.post("/console/audit/verify"); w.Code != 503 || !strings.Contains(w.Body.String(), "verified already") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	l.wait <- struct{}{}
	if code := <-first; code != 200 {
		t.Errorf("%d", code)
	}
	l.wait, l.err = nil, errors.New("secret path")
	if w := b.post("/console/audit/verify"); w.Code != 500 || strings.Contains(w.Body.String(), "secret path") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := c.as(t, "alice").post("/console/audit/verify"); w.Code != 403 {
		t.Errorf("%d", w.Code)
	}
}

// physician examines as often as it is let.
type physician struct {
	began chan struct{}
	let   chan error
}

var errPanics = errors.New("boom")

func (p *physician) Examine(ctx context.Context) (*control.Examination, error) {
	p.began <- struct{}{}
	select {
	case err := <-p.let:
		if err == errPanics {
			panic(err)
		}
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &control.Examination{At: time.Now(), Findings: []control.Finding{
		{ID: "fine", Level: "ok", Found: "good " + strangers}, {ID: "odd", Level: "skip", Found: "not checked"}, {ID: "look", Level: "warn", Found: "hm", Hint: "do " + strangers},
		{ID: "broken", Level: "fail", Found: "no " + strangers, Hint: "mend it"},
	}}, nil
}

func TestDoctor(t *testing.T) {
	c := newCrew(t)
	p := &physician{began: make(chan struct{}, 100), let: make(chan error)}
	c.options.Doctor = p
	con, err := New(c.options)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, h: con}
	b.get("/console/login")
	b.post("/console/login", "token", "root")
	b.get("/console/skills")
	go func() { p.let <- nil }()
	page := pageOf(t, b.get("/console/doctor"), 200)
	has(t, page, "Something is broken", "Examined", "Look again", "1broken", "1worth a look", "Do: mend it")
	if text := said(all(page, "ul", "class", "checks")[0]); strings.Index(text, "mend it") > strings.Index(text, "hm") || strings.Index(text, "hm") > strings.Index(text, "good") {
		t.Error("what failed does not come first")
	}
	pageOf(t, b.get("/console/doctor"), 200)
	if len(p.began) != 1 {
		t.Errorf("examined %d times", len(p.began))
	}
	// Ten who ask at once get one examination, and see the old result meanwhile.
	for range 10 {
		if w := b.post("/console/doctor"); w.Code != 303 {
			t.Fatalf("%d", w.Code)
		}
	}
	<-p.began
	<-p.began
	if view := con.exams.view(); !view.Running || view.Examination == nil {
		t.Errorf("%+v", view)
	}
	con.exams.mu.Lock()
	done := con.exams.running
	con.exams.mu.Unlock()
	p.let <- errors.New("secret path")
	<-done
	if len(p.began) != 0 {
		t.Errorf("%d more examinations", len(p.began))
	}
	page = pageOf(t, b.get("/console/doctor"), 200)
	has(t, page, "The examination failed inside hotcell", "Something is broken")
	lacks(t, page, "secret path")
	w := b.get("/console/doctor/live")
	if body := w.Body.String(); !strings.Contains(body, "event: result") || !strings.Contains(body, "event: end") || strings.Contains(body, "<script>") {
		t.Errorf("%s", body)
	}
	b.post("/console/doctor")
	<-p.began
	p.let <- errPanics
	// The end of the console ends an examination.
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- con.Run(ctx) }()
	con.exams.mu.Lock()
	done = con.exams.running
	con.exams.mu.Unlock()
	if done != nil {
		<-done
	}
	b.post("/console/doctor")
	<-p.began
	stop()
	if err := <-ended; err != nil || con.exams.view().Running || !strings.Contains(con.exams.view().Fault, "did not end") {
		t.Errorf("%v %+v", err, con.exams.view())
	}
	if w := c.as(t, "alice").get("/console/doctor"); w.Code != 403 {
		t.Errorf("%d", w.Code)
	}
}
