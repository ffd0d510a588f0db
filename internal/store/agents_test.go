package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

var (
	ann  = catalog.Owner{Kind: catalog.KindUser, Name: "ann"}
	team = catalog.Owner{Kind: catalog.KindGroup, Name: "team"}
)

// number gives a principal a number.
func number(t testing.TB, s *Store, o catalog.Owner) int64 {
	t.Helper()
	ids, err := s.EnsurePrincipals(context.Background(), []catalog.Owner{o})
	if err != nil {
		t.Fatal(err)
	}
	return ids[0]
}

func addAgent(t testing.TB, s *Store, principal int64, name string, allowed ...string) catalog.AgentRecord {
	t.Helper()
	r := catalog.AgentRecord{Principal: principal, Name: name}
	if allowed != nil {
		r.Allowed = &allowed
	}
	kept, err := s.AddAgent(context.Background(), ann, r, 100)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func TestAgentsAreKept(t *testing.T) {
	ctx := context.Background()
	s := opened(t, Options{})
	first := addAgent(t, s, 0, "bot")
	if first.ID == 0 || first.Principal != number(t, s, ann) || first.Revision == 0 {
		t.Fatalf("kept %+v", first)
	}
	if _, err := s.AddAgent(ctx, ann, catalog.AgentRecord{Name: "bot"}, 100); !errors.Is(err, catalog.ErrTaken) {
		t.Errorf("the same name: %v", err)
	}
	if _, err := s.AddAgent(ctx, ann, catalog.AgentRecord{Name: "more"}, 1); !errors.Is(err, catalog.ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	addAgent(t, s, number(t, s, team), "bot") // another principal's
	on := func(r *catalog.AgentRecord, _ *[]string) (bool, error) {
		r.Tools, r.Allowed = map[string]bool{"skill": true}, &[]string{"a"}
		return true, nil
	}
	changed, err := s.ChangeAgent(ctx, first.ID, first.Revision, on)
	if err != nil || changed.Revision <= first.Revision {
		t.Fatalf("changed %+v, %v", changed, err)
	}
	if _, err := s.ChangeAgent(ctx, first.ID, first.Revision, on); !errors.Is(err, catalog.ErrStale) {
		t.Errorf("an old revision: %v", err)
	}
	same, err := s.ChangeAgent(ctx, first.ID, catalog.AnyRevision, func(*catalog.AgentRecord, *[]string) (bool, error) { return false, nil })
	if err != nil || same.Revision != changed.Revision {
		t.Errorf("nothing changed: %+v, %v", same, err)
	}
	got, err := s.Agent(ctx, first.ID)
	if diff := cmp.Diff(changed, got); err != nil || diff != "" {
		t.Errorf("%v (-kept +read):\n%s", err, diff)
	}
	if err := s.DropAgent(ctx, first.ID, catalog.AnyRevision, ann); err != nil {
		t.Error(err)
	}
	if _, err := s.Agent(ctx, first.ID); !errors.Is(err, catalog.ErrNone) {
		t.Errorf("after its end: %v", err)
	}
	if err := s.DropAgent(ctx, first.ID, catalog.AnyRevision, ann); !errors.Is(err, catalog.ErrNone) {
		t.Errorf("twice: %v", err)
	}
}

// An allowlist is read as a JSON list and as a string that holds one.
func TestBothFormsOfAnAllowlistAreRead(t *testing.T) {
	ctx := context.Background()
	s := opened(t, Options{})
	a := addAgent(t, s, 0, "bot")
	for stored, want := range map[string][]string{
		`["a","b"]`: {"a", "b"}, `"[\"a\",\" B \",\"a\"]"`: {"a", "b"}, `[]`: {}, `"[]"`: {},
	} {
		err := s.ask(ctx, func(tx *sql.Tx) error {
			_, err := tx.Exec(`UPDATE agents SET allowed = ? WHERE id = ?`, []byte(stored), a.ID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Agent(ctx, a.ID)
		if err != nil || got.Allowed == nil || cmp.Diff(want, *got.Allowed) != "" {
			t.Errorf("%s: got %v, %v", stored, got.Allowed, err)
		}
	}
}

// An allowlist that can't be read lets nothing through, and hides nobody else's.
func TestAnUnreadableAllowlistIsItsOwnersProblem(t *testing.T) {
	ctx := context.Background()
	s := opened(t, Options{})
	bad, worse := addAgent(t, s, 0, "bad"), addAgent(t, s, 0, "worse")
	other := addAgent(t, s, number(t, s, team), "other", "a")
	err := s.ask(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec(`UPDATE agents SET allowed = ? WHERE id = ?`, []byte(`[""]`), bad.ID)
		_, err2 := tx.Exec(`UPDATE agents SET allowed = NULL, tools = ? WHERE id = ?`, []byte("x"), worse.ID)
		return errors.Join(err, err2)
	})
	if err == nil {
		err = s.ask(ctx, func(tx *sql.Tx) error {
			_, err := tx.Exec(`INSERT INTO agent_defaults (principal, allowed, revision) VALUES (?, ?, 1)`, bad.Principal, []byte("7"))
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := s.AgentHoldings(ctx, 0)
	if err != nil || len(all) != 2 || all[0].Default == nil || len(*all[0].Default) != 0 {
		t.Fatalf("got %+v, %v", all, err)
	}
	for _, r := range all[0].Agents {
		if r.Allowed == nil || len(*r.Allowed) != 0 || len(r.Tools) != 0 {
			t.Errorf("%s may use something: %+v", r.Name, r)
		}
	}
	if diff := cmp.Diff([]catalog.AgentRecord{other}, all[1].Agents, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the other one's (-want +got):\n%s", diff)
	}
	if _, err := s.Agent(ctx, bad.ID); !errors.Is(err, errUnreadable) {
		t.Errorf("by itself: %v", err)
	}
}

// An agent to which a token is bound that can still be used stays.
func TestAnAgentInUseStays(t *testing.T) {
	ctx := context.Background()
	now := start
	s := opened(t, Options{Now: func() time.Time { return now }})
	a := addAgent(t, s, number(t, s, team), "bot")
	issue := func(want auth.Token) auth.Token {
		want.Agent, want.Scopes = "bot", []auth.Scope{auth.Calls}
		tok, secret, err := auth.Issue(want, now)
		if err == nil {
			err = s.AddToken(ctx, tok, secret.Digest())
		}
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	issue(auth.Token{Principal: "stranger"}) // speaks for an agent of that name, and not for this one
	in := []auth.Membership{{Group: "team", Role: auth.RoleMember}}
	revoked := issue(auth.Token{Principal: "x", Groups: in})
	issue(auth.Token{Principal: "y", Groups: in, Expires: now.Add(time.Hour)})
	for range 2 {
		if err := s.DropAgent(ctx, a.ID, catalog.AnyRevision, team); !errors.Is(err, catalog.ErrInUse) {
			t.Errorf("got %v", err)
		}
		if err := s.RevokeToken(ctx, revoked.ID); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(2 * time.Hour)
	if err := s.DropAgent(ctx, a.ID, catalog.AnyRevision, team); err != nil {
		t.Errorf("after the last has expired: %v", err)
	}
}

// The end of a custom skill takes its name off every allowlist of its principal, and of no other.
func TestDroppingASkillScrubsAllowlists(t *testing.T) {
	ctx := context.Background()
	s := opened(t, Options{})
	skill, err := s.AddCustomSkill(ctx, ann, catalog.Record{Name: "mine", Provenance: "human"}, 10)
	if err != nil {
		t.Fatal(err)
	}
	whose := skill.Principal
	one, two := addAgent(t, s, whose, "one", "mine", "other"), addAgent(t, s, whose, "two", "other")
	theirs := addAgent(t, s, number(t, s, team), "theirs", "mine")
	if _, err := s.SetAgentDefault(ctx, whose, 0, &[]string{"mine"}); err != nil {
		t.Fatal(err)
	}
	want := []catalog.AllowlistRow{{ID: one.ID, Name: &one.Name, Scope: "agent"}, {Scope: "principal"}}
	before, err := s.Allowlist(ctx, whose, " MINE ")
	if diff := cmp.Diff(want, before); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err := s.DropCustomSkill(ctx, skill)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, c := range []struct {
		id   int64
		want []string
	}{{one.ID, []string{"other"}}, {two.ID, []string{"other"}}, {theirs.ID, []string{"mine"}}} {
		r, err := s.Agent(ctx, c.id)
		if err != nil || cmp.Diff(c.want, *r.Allowed) != "" {
			t.Errorf("agent %s: %v, %v", r.Name, r.Allowed, err)
		}
	}
	all, _, err := s.AgentHoldings(ctx, 0)
	if err != nil || len(all) != 2 || all[0].Default == nil || len(*all[0].Default) != 0 || len(all[0].Agents) != 2 {
		t.Errorf("holdings %+v, %v", all, err)
	}
}

func TestDefaultsHaveRevisions(t *testing.T) {
	ctx := context.Background()
	s := opened(t, Options{})
	whose := number(t, s, ann)
	first, err := s.SetAgentDefault(ctx, whose, 0, &[]string{"a"})
	if err != nil || first == 0 {
		t.Fatal(first, err)
	}
	if _, err := s.SetAgentDefault(ctx, whose, 0, &[]string{"b"}); !errors.Is(err, catalog.ErrStale) {
		t.Errorf("an old revision: %v", err)
	}
	_, version, _ := s.AgentHoldings(ctx, 0)
	if _, err := s.SetAgentDefault(ctx, whose, first, nil); err != nil {
		t.Error(err)
	}
	changed, _, err := s.AgentHoldings(ctx, version)
	if err != nil || len(changed) != 1 || changed[0].Default != nil || changed[0].DefaultRevision != 0 {
		t.Errorf("since then %+v, %v", changed, err)
	}
}

func TestApprovalsWaitExpireAndAreDecidedOnce(t *testing.T) {
	ctx := context.Background()
	now := start
	s := opened(t, Options{Now: func() time.Time { return now }})
	ask := func(id, digest string, most int) (catalog.Approval, error) {
		return s.AskApproval(ctx, ann, catalog.Approval{
			ID: id, Agent: "bot", Tool: "manage_skill", Action: "create", Skill: "x", Arguments: json.RawMessage(`{}`), Created: now, Expires: now.Add(time.Hour),
		}, []byte(digest), most)
	}
	first, err := ask("a1", "d1", 2)
	if err != nil || first.Principal != number(t, s, ann) {
		t.Fatal(first, err)
	}
	if again, err := ask("a2", "d1", 2); err != nil || again.ID != "a1" || again.State != "pending" {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	if _, err := ask("a3", "d3", 2); err != nil {
		t.Error(err)
	}
	if _, err := ask("a4", "d4", 2); !errors.Is(err, catalog.ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	var decided atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			state := []string{"deciding", "denied"}[i%2]
			switch err := s.DecideApproval(ctx, "a1", state, "", ann); {
			case err == nil:
				decided.Add(1)
			case !errors.Is(err, catalog.ErrStale):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if decided.Load() != 1 {
		t.Errorf("decided %d times", decided.Load())
	}
	now = now.Add(2 * time.Hour)
	if got, err := s.Approval(ctx, "a3"); err != nil || got.State != "expired" {
		t.Errorf("later: %+v, %v", got, err)
	}
	if err := s.DecideApproval(ctx, "a3", "denied", "", ann); !errors.Is(err, catalog.ErrStale) {
		t.Errorf("an expired one: %v", err)
	}
	if got, err := ask("a5", "d3", 1); err != nil || got.ID != "a5" {
		t.Errorf("asked again: %+v, %v", got, err)
	}
	if _, err := s.Approval(ctx, "nothing"); !errors.Is(err, catalog.ErrNone) {
		t.Error(err)
	}
}

// Whoever dies while it carries a write out leaves a request that says so.
func TestAWriteThatWasCutOffIsTold(t *testing.T) {
	ctx := context.Background()
	now := start
	s := opened(t, Options{Now: func() time.Time { return now }})
	a := catalog.Approval{ID: "a1", Arguments: json.RawMessage(`{}`), Created: now, Expires: now.Add(time.Hour)}
	if _, err := s.AskApproval(ctx, ann, a, []byte("d"), 1); err != nil {
		t.Fatal(err)
	}
	if err := s.DecideApproval(ctx, "a1", "deciding", "", ann); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.Approval(ctx, "a1"); got.State != "pending" || !got.Decided.IsZero() {
		t.Errorf("meanwhile: %+v", got)
	}
	now = now.Add(2 * carrying)
	if got, _ := s.Approval(ctx, "a1"); got.State != "failed" || got.Why == "" {
		t.Errorf("later: %+v", got)
	}
}

// What is kept of approvals has a bound, and what waits is never among what goes.
func TestOldApprovalsGo(t *testing.T) {
	ctx := context.Background()
	now := start
	s := opened(t, Options{Now: func() time.Time { return now }})
	ask := func(n int) {
		a := catalog.Approval{ID: fmt.Sprint("a", n), Arguments: json.RawMessage(`{}`), Created: now, Expires: now.Add(time.Hour)}
		if _, err := s.AskApproval(ctx, ann, a, []byte(fmt.Sprint(n)), 10); err != nil {
			t.Fatal(err)
		}
	}
	ask(0)
	err := s.ask(ctx, func(tx *sql.Tx) error {
		for n := range mostApprovals + 20 {
			_, err := tx.Exec(`INSERT INTO approvals (id, principal, agent, tool, action, skill, arguments, digest, state, created, expires, decided)
				VALUES (?, 1, '', '', '', '', ?, ?, 'denied', ?, ?, ?)`, fmt.Sprint("b", n), []byte("{}"), []byte{}, now.UnixMicro(), now.UnixMicro(), now.UnixMicro())
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ask(1)
	var n int
	count := func() int {
		if err := s.read.QueryRow(`SELECT count(*) FROM approvals`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if got := count(); got > mostApprovals+1 {
		t.Errorf("%d are kept", got)
	}
	if a, err := s.Approval(ctx, "a0"); err != nil || a.State != "pending" {
		t.Errorf("the one that waits: %+v, %v", a, err)
	}
	now = now.Add(oldApprovals + 2*time.Hour)
	ask(-1)
	if got := count(); got != 1 {
		t.Errorf("%d are kept after months", got)
	}
	must(t, s.Trim(ctx))
	if a, err := s.Approval(ctx, "a-1"); err != nil || a.State != "pending" {
		t.Errorf("the one that waits, after a trim: %+v, %v", a, err)
	}
	now = now.Add(oldApprovals + 2*time.Hour)
	must(t, s.Trim(ctx))
	if got := count(); got != 0 {
		t.Errorf("%d are left of one who asks no more", got)
	}
}

// Long requests are bounded in bytes: those that wait, those that are kept, and those of one answer.
func TestLongApprovalsAreBounded(t *testing.T) {
	ctx := context.Background()
	now := start
	s := opened(t, Options{Now: func() time.Time { return now }})
	long := json.RawMessage(`"` + strings.Repeat("x", mostArguments/4) + `"`)
	ask := func(id string) error {
		a := catalog.Approval{ID: id, Arguments: long, Created: now, Expires: now.Add(time.Hour)}
		_, err := s.AskApproval(ctx, ann, a, []byte(id), 1000)
		return err
	}
	must(t, ask("a"))
	must(t, ask("b"))
	must(t, ask("c"))
	if err := ask("d"); !errors.Is(err, catalog.ErrFull) {
		t.Errorf("more than fits waits: %v", err)
	}
	for round := range 3 { // whatever is decided makes room again
		for _, id := range []string{"a", "b", "c"} {
			must(t, s.DecideApproval(ctx, id+strings.Repeat("+", round), "denied", "", ann))
		}
		for _, id := range []string{"a", "b", "c"} {
			must(t, ask(id+strings.Repeat("+", round+1)))
		}
	}
	all, err := s.EveryApproval(ctx)
	if err != nil {
		t.Fatal(err)
	}
	waiting, told := 0, 0
	for _, a := range all {
		told += len(a.Arguments)
		if a.State == "pending" {
			waiting++
		}
	}
	if waiting != 3 || len(all) > 7 || len(all) < 6 || told > mostArguments || all[0].Arguments == nil || all[len(all)-1].Arguments != nil {
		t.Errorf("%d wait, %d are kept, %d bytes are told", waiting, len(all), told)
	}
	oldest, err := s.Approval(ctx, all[len(all)-1].ID)
	if err != nil || len(oldest.Arguments) != len(long) {
		t.Errorf("by itself: %d bytes, %v", len(oldest.Arguments), err)
	}
}

// What principals used is added up, told to whoever starts next, and dropped when it counts no more.
func TestSpentIsKeptForADay(t *testing.T) {
	ctx := context.Background()
	now := start
	s := opened(t, Options{Now: func() time.Time { return now }})
	slice := now.UnixNano() / int64(SpentSlice)
	s.Spend("p", slice, time.Second, 5)
	s.Spend("p", slice, time.Second, 6)
	s.Spend("p", slice-1, time.Minute, 0)
	s.Spend("q", slice-200, time.Hour, 1)
	flush(t, s)
	told := func(since int64) (out []string) {
		err := s.Spent(ctx, since, func(p string, n int64, cpu time.Duration, memory int64) {
			out = append(out, fmt.Sprint(p, n-slice, cpu, memory))
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if diff := cmp.Diff([]string{"p-1 1m0s 0", "p0 2s 11"}, told(slice-96)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := s.Trim(ctx); err != nil {
		t.Fatal(err)
	}
	if got := told(0); len(got) != 2 {
		t.Errorf("after a trim: %v", got)
	}
}

// However much is said, what a principal used is written down.
func TestSpentIsNotCrowdedOut(t *testing.T) {
	s := opened(t, Options{})
	s.queue.mu.Lock() // the writer gets nothing meanwhile
	full := &op{late: true, size: mostWaiting, said: &words{call: "c1", data: []byte(`"x"`)}}
	s.queue.late = append(s.queue.late, full)
	s.queue.count(full, +1)
	s.queue.mu.Unlock()
	s.Spend("p", 5, time.Second, 1)
	flush(t, s)
	told := 0
	if err := s.Spent(t.Context(), 0, func(string, int64, time.Duration, int64) { told++ }); err != nil || told != 1 {
		t.Errorf("told %d times, %v", told, err)
	}
}
