package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/service"
	sqlite "github.com/hotcell/hotcell/internal/store"
)

// rowsOf are all rows of the audit, which is as it was written.
func rowsOf(t *testing.T, j *sqlite.Store) []control.AuditRow {
	t.Helper()
	if r, err := j.VerifyAudit(t.Context(), control.AuditHead{}); err != nil || !r.OK {
		t.Fatalf("%+v, %v", r, err)
	}
	rows, err := j.AuditRows(t.Context(), control.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Each call that was taken in has one row, whatever became of it, which says who called, what ran, with what and how it ended, and
// nothing that was said.
func TestEachCallHasARowInTheAudit(t *testing.T) {
	j := journalAt(t, dbPath(t))
	b := setUp(t, well, func(c *Config) { c.Journal, c.Audit = j, audit.NewTally(j) })
	who := a2e.Caller{Principal: "alice", Agent: "bot", Door: "test", Groups: map[string]string{"team": "admin", "all": "member"}}
	call := func(name string, args map[string]any) {
		t.Helper()
		b.Call(t.Context(), who, &a2e.CallRequest{Header: a2e.Header{ID: name}, Name: name, Arguments: args, CorrelationID: "c-" + name}, nil)
	}
	call("echo-text", map[string]any{"text": "my private argument"})
	call("strict", nil)
	call("nowhere", nil)
	call("gone", nil)
	call("echo-text", map[string]any{"text": "my private argument"}) // the same again: no call of its own
	rows := rowsOf(t, j)
	want := []string{"echo-text ok", "strict skill_error/output_schema", "nowhere unknown_skill", "gone unknown_skill"}
	if len(rows) != len(want) {
		t.Fatalf("%d rows: %v", len(rows), rows)
	}
	for i, r := range rows {
		var d struct {
			control.Account
			Request, Code, Reason, Instance string
		}
		if err := json.Unmarshal(r.Data, &d); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(fmt.Sprintf("%s %s/%s", r.Skill, d.Code, d.Reason), "/"); got != want[i] || r.Kind != audit.CallEnd || r.Call == "" {
			t.Errorf("row %d: %s, want %s", r.N, got, want[i])
		}
		if r.Principal != "alice" || r.Agent != "bot" || r.Door != "test" || fmt.Sprint(d.Groups) != "[all=member team=admin]" || d.Correlation != "c-"+r.Skill {
			t.Errorf("row %d: by %s", r.N, r.Data)
		}
		if ran := i < 2; ran != (len(d.Bundle) == 64 && len(d.Policy) == 64 && strings.HasPrefix(d.Image, "sha256:") && d.Ref == "img" && d.Driver == "fake" && d.Exit != nil) {
			t.Errorf("row %d: with %s", r.N, r.Data)
		}
		for _, private := range []string{"private argument", "fine", "half", `"n":1`} {
			if strings.Contains(string(r.Data), private) {
				t.Errorf("row %d has %q: %s", r.N, private, r.Data)
			}
		}
	}
}

// meter is a service that says what a stream used a moment after it was cut, or once it may.
type meter struct {
	log  audit.Log
	open chan struct{} // gets a value for each stream
	cut  chan struct{} // closed by the end of the right
	may  chan struct{} // nil: at once
}

type metered struct {
	deskGrant
	*meter
	call string
	once sync.Once
}

func (m *meter) Grant(ask service.Ask) (service.Grant, error) {
	return &metered{deskGrant: deskGrant{desk: &desk{}}, meter: m, call: ask.Call}, nil
}

func (m *metered) Serve(string, net.Conn) {
	m.open <- struct{}{}
	<-m.cut
	if m.may != nil {
		<-m.may
	}
	time.Sleep(50 * time.Millisecond)
	m.log.Write(audit.Entry{At: time.Now(), Call: m.call, Kind: "llm.request", Data: map[string]any{"provider": "main", "status": 403, "reason": "ended", "tokens_in": int64(7), "tokens_out": int64(40)}})
}

func (m *metered) Revoke() { m.once.Do(func() { close(m.cut) }) }

// What a call used last is in its account, though it was cut off by the call's end. Nobody waits long for it.
func TestTheAccountHasWhatWasCutOff(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		j := journalAt(t, dbPath(t))
		tally := audit.NewTally(j)
		m := &meter{log: tally, open: make(chan struct{}, 1), cut: make(chan struct{})}
		if stuck {
			m.may = make(chan struct{})
		}
		b := serviced(t, nil, func(c *insider, _ <-chan []byte) {
			if _, err := c.tunnel.Dial(t.Context(), "a.echo"); err != nil {
				c.done(err.Error())
			}
		}, func(c *Config) { c.Journal, c.Audit, c.Services = j, tally, []service.Service{m} })
		ctx, hangUp := context.WithCancel(t.Context())
		go func() { <-m.open; hangUp() }()
		began := time.Now()
		b.Call(ctx, a2e.Caller{Principal: "alice", Door: "test"}, sent("patient", "r1"), nil)
		if took := time.Since(began); stuck && took < settleLimit || took > 30*time.Second {
			t.Errorf("stuck %t: the answer took %v", stuck, took)
		}
		if stuck {
			close(m.may)
		}
		rows := rowsOf(t, j)
		if len(rows) == 0 {
			t.Fatal("no row")
		}
		for _, r := range rows {
			if whole := strings.Contains(string(r.Data), `"tokens_out":40`); whole == stuck && r.Kind == audit.CallEnd {
				t.Errorf("stuck %t: %s", stuck, r.Data)
			}
		}
	}
}

// An operator who cancels a call is in the audit, its owner who does so is not: the call's own row says that.
func TestAnOperatorsCancellationIsInTheAudit(t *testing.T) {
	for _, operator := range []bool{true, false} {
		j := journalAt(t, dbPath(t))
		b := setUp(t, hang, func(c *Config) { c.Journal, c.Audit = j, audit.NewTally(j) })
		ended := make(chan *a2e.CallResponse, 1)
		go func() {
			ended <- b.Call(context.Background(), a2e.Caller{Principal: "alice", Door: "test"}, sent("patient", "r1"), nil)
		}()
		id := ""
		for id == "" {
			if all, err := b.List(t.Context(), 0); err == nil && len(all) == 1 && all[0].State == control.Running {
				id = all[0].ID
			}
			time.Sleep(time.Millisecond)
		}
		ctx, from := auth.NewContext(t.Context(), auth.Identity{Principal: "ops", Scopes: []auth.Scope{auth.Admin}}), control.Control(b)
		if !operator {
			from = b.Of("alice")
		}
		if err := from.Cancel(ctx, id); err != nil {
			t.Fatal(err)
		}
		<-ended
		kinds := map[string]string{}
		for _, r := range rowsOf(t, j) {
			kinds[r.Kind] = r.Principal + " " + r.Call + " " + r.Skill
		}
		if kinds[audit.CallEnd] != "alice "+id+" patient" || operator != (kinds[audit.CallCancel] == "ops "+id+" patient") || !operator && len(kinds) != 1 {
			t.Errorf("operator %t: %v", operator, kinds)
		}
	}
}

// What a dead supervisor had noted of a call is in the row that another one writes about its end.
func TestTheRowOfACallWhoseSupervisorDied(t *testing.T) {
	path := dbPath(t)
	j := journalAt(t, path)
	a := setUp(t, hang, func(c *Config) { c.Journal, c.Instance = j, "first" })
	ctx, hangUp := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); a.Call(ctx, a2e.Caller{Principal: "alice"}, sent("patient", "r1"), nil) }()
	for noted := false; !noted; {
		r, err := j.Find(t.Context(), "r1", control.Whose{})
		noted = err == nil && r.Account != nil
		time.Sleep(time.Millisecond)
	}
	other := journalAt(t, path)
	dead := &owners{known: map[string]bool{"first": false}}
	b := setUp(t, hang, func(c *Config) { c.Journal, c.Instance, c.Owners = other, "second", dead })
	if err := b.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	hangUp()
	<-ended
	rows := rowsOf(t, j)
	if len(rows) != 1 || !strings.Contains(string(rows[0].Data), a2e.ReasonSupervisorRestart) || !strings.Contains(string(rows[0].Data), `"bundle":"`) ||
		!strings.Contains(string(rows[0].Data), `"policy":"`) {
		t.Errorf("%d rows: %s", len(rows), rows[0].Data)
	}
}
