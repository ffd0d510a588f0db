package curator

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// use runs one of the catalog's own skills, and returns the data of its answer, or its code and message.
func (a *agency) use(t testing.TB, who a2e.Caller, name, arguments string) (data map[string]any, fault string) {
	t.Helper()
	var args map[string]any
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		t.Fatal(err)
	}
	res, err := a.hosted.ExecuteSkill(t.Context(), who, a2e.Execution{Name: name, Arguments: args})
	var e *a2e.Error
	switch {
	case errors.As(err, &e):
		return nil, string(e.Code) + ": " + e.Message
	case err != nil:
		return nil, err.Error()
	}
	raw, err := json.Marshal(res.Data)
	if err == nil {
		err = json.Unmarshal(raw, &data)
	}
	if err != nil || !res.Success {
		t.Fatalf("%+v, %v", res, err)
	}
	return data, ""
}

// ask has an agent ask for a write, and returns the id of what waits.
func (a *agency) ask(t testing.TB, who a2e.Caller, arguments string) string {
	t.Helper()
	data, fault := a.use(t, who, manageTool, arguments)
	if fault != "" {
		t.Fatal(fault)
	}
	return data["approval"].(map[string]any)["id"].(string)
}

const wish = `{"action":"create","name":"notes","description":"Keeps notes.","body":"# Notes","files":{"more.md":"More."}}`

// What an agent asks for is done once a person has approved it, and carries its provenance; the agent is told.
func TestAnApprovedWriteIsDone(t *testing.T) {
	a := newAgency(t, true)
	bot := as(alice, "bot")
	a.agent(t, alice, 0, "bot")
	id := a.ask(t, bot, wish)
	if again := a.ask(t, bot, wish); again != id {
		t.Errorf("the same again is %s, not %s", again, id)
	}
	if all, err := a.approvals.List(t.Context(), alice, pending); err != nil || len(all) != 1 || all[0].Agent != "bot" || all[0].Skill != "notes" {
		t.Errorf("%+v, %v", all, err)
	}
	_, err := a.Custom.Show(t.Context(), alice, 0, "notes")
	refused(t, err, catalog.SkillNotFound)
	got, err := a.approvals.Approve(t.Context(), alice, id)
	if err != nil || got.State != approved || got.DecidedBy == 0 || got.Decided.IsZero() {
		t.Fatalf("%+v, %v", got, err)
	}
	s, err := a.Custom.Show(t.Context(), alice, 0, "notes")
	if err != nil || s.Provenance != "agent" || s.Body != "# Notes" || len(s.Files) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	data, _ := a.use(t, bot, manageTool, `{"action":"status","approval_id":"`+id+`"}`)
	if want := "Created skill [notes]. Add it to an agent's allowed_skills to make it available."; data["message"] != want {
		t.Errorf("told %q", data["message"])
	}
	id = a.ask(t, bot, `{"action":"update","name":"notes","description":"Keeps more notes.","allowed_tools":"read_url"}`)
	if got, err = a.approvals.Approve(t.Context(), alice, id); err != nil || got.State != approved {
		t.Fatalf("%+v, %v", got, err)
	}
	if s, _ = a.Custom.Show(t.Context(), alice, 0, "notes"); s.Description != "Keeps more notes." || s.Body != "# Notes" || s.AllowedTools == nil || *s.AllowedTools != "read_url" {
		t.Errorf("%+v", s)
	}
	id = a.ask(t, bot, `{"action":"update","name":"notes","allowed_tools":null}`)
	if _, err = a.approvals.Approve(t.Context(), alice, id); err != nil {
		t.Fatal(err)
	}
	if s, _ = a.Custom.Show(t.Context(), alice, 0, "notes"); s.AllowedTools != nil {
		t.Errorf("revoked: %+v", s)
	}
	id = a.ask(t, bot, `{"action":"delete","name":"notes"}`)
	if got, err = a.approvals.Approve(t.Context(), alice, id); err != nil || got.State != approved {
		t.Fatalf("%+v, %v", got, err)
	}
	_, err = a.Custom.Show(t.Context(), alice, 0, "notes")
	refused(t, err, catalog.SkillNotFound)
}

// Who controls the principal decides, and never an agent; for those who can't see the principal there is nothing to decide.
func TestWhoDecides(t *testing.T) {
	a := newAgency(t, false)
	group := a.group(t, admin)
	a.agent(t, admin, group, "bot")
	id := a.ask(t, as(member, "bot"), wish) // the group's agent, so the group's skill
	for _, c := range []struct {
		name      string
		who       a2e.Caller
		see, want catalog.Code
	}{
		{"member", member, "", catalog.Forbidden}, {"stranger", bob, catalog.ApprovalNotFound, catalog.ApprovalNotFound},
		{"operator", boss, catalog.ApprovalNotFound, catalog.ApprovalNotFound}, {"the agent", as(member, "bot"), "", catalog.Forbidden},
		{"the agent of an owner", as(owner, "bot"), "", catalog.Forbidden}, {"another agent", as(owner, "other"), catalog.ApprovalNotFound, catalog.ApprovalNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, second(a.approvals.Show(t.Context(), c.who, id)), c.see)
			refused(t, second(a.approvals.Approve(t.Context(), c.who, id)), c.want)
			refused(t, second(a.approvals.Deny(t.Context(), c.who, id, "")), c.want)
			all, err := a.approvals.List(t.Context(), c.who, "")
			if err != nil || len(all) > 0 != (c.see == "") {
				t.Errorf("lists %v, %v", all, err)
			}
		})
	}
	got, err := a.approvals.Deny(t.Context(), owner, id, "not now")
	if err != nil || got.State != denied || got.Why != "not now" {
		t.Errorf("%+v, %v", got, err)
	}
	refused(t, second(a.approvals.Approve(t.Context(), admin, id)), catalog.ApprovalDecided)
	data, _ := a.use(t, as(member, "bot"), manageTool, `{"action":"status"}`)
	if want := fmt.Sprintf("The request to create skill [notes] (%s) was denied: not now", id); data["message"] != want {
		t.Errorf("told %q", data["message"])
	}
	if _, err := a.Custom.Show(t.Context(), owner, group, "notes"); codeOf(err) != catalog.SkillNotFound {
		t.Errorf("a denied write was done: %v", err)
	}
}

// Of several who approve at the same time one does it, and the write is done once.
func TestAWriteIsDoneOnce(t *testing.T) {
	a := newAgency(t, false)
	id := a.ask(t, as(alice, "bot"), wish)
	var done atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			switch got, err := a.approvals.Approve(t.Context(), alice, id); {
			case err == nil && got.State == approved:
				done.Add(1)
			case codeOf(err) != catalog.ApprovalDecided:
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	all.Wait()
	if done.Load() != 1 {
		t.Errorf("approved %d times", done.Load())
	}
}

// A write that fails after all says why; one that was meant for another state of the skill is among them.
func TestAnApprovedWriteMayFail(t *testing.T) {
	a := newAgency(t, false)
	bot := as(alice, "bot")
	approve := func(id, why string) {
		t.Helper()
		got, err := a.approvals.Approve(t.Context(), alice, id)
		if err != nil || got.State != failed || !strings.Contains(got.Why, why) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	id := a.ask(t, bot, wish)
	mine := a.create(t, alice, 0, draft("notes"))
	approve(id, "SKILL_NAME_TAKEN")
	approve(a.ask(t, bot, `{"action":"create","name":"Bad--Name","description":"x","body":"y"}`), "NAME_")
	approve(a.ask(t, bot, `{"action":"create","name":"coded","description":"x","body":"y","files":{"skill.yaml":"run: {}"}}`), "")
	id = a.ask(t, bot, `{"action":"update","name":"notes","body":"the agent's"}`)
	d := catalog.Draft{Body: ptr("the person's")}
	if _, err := a.Custom.Update(t.Context(), alice, 0, "notes", mine.Revision, d); err != nil {
		t.Fatal(err)
	}
	approve(id, "PRECONDITION_FAILED")
	if s, _ := a.Custom.Show(t.Context(), alice, 0, "notes"); s.Body != "the person's" {
		t.Errorf("an update was lost: %q", s.Body)
	}
	data, _ := a.use(t, bot, manageTool, `{"action":"status","approval_id":"`+id+`"}`)
	if !strings.Contains(data["message"].(string), "was approved and failed: PRECONDITION_FAILED") {
		t.Errorf("told %q", data["message"])
	}
}

// What can be said at once is said at once, and never more than the caller may know.
func TestRequestsThatAreRefused(t *testing.T) {
	a := newAgency(t, false)
	bot := as(alice, "bot")
	a.create(t, alice, 0, draft("mine"))
	theirs := a.number(t, bob)
	a.create(t, bob, 0, draft("his"))
	for arguments, want := range map[string]string{
		`{"action":"create"}`:                                                              "schema_violation: name is required.",
		`{"action":"update","name":" "}`:                                                   "schema_violation: name is required.",
		`{"action":"delete","name":"mine"}`:                                                "unauthorized: Deleting skills is not allowed to agents on this host (approvals.delete).",
		`{"action":"create","name":"mine"}`:                                                "skill_error: A skill named 'mine' already exists on this principal.",
		`{"action":"update","name":"his"}`:                                                 "skill_error: Skill 'his' was not found.",
		`{"action":"update","name":5}`:                                                     "schema_violation: The arguments can't be read.",
		`{"action":"status","approval_id":"apr-nothing"}`:                                  "skill_error: Approval 'apr-nothing' not found.",
		fmt.Sprintf(`{"action":"update","name":"his","principal_id":%d}`, theirs):          "unauthorized: " + forbidden().(*catalog.Error).Message,
		`{"action":"update","name":"his","principal_id":4711}`:                             "unauthorized: " + forbidden().(*catalog.Error).Message,
		`{"action":"create","name":"big","body":"` + strings.Repeat("x", mostAsked) + `"}`: "skill_error: The request has 524330 bytes, at most 524288 are taken.",
	} {
		if _, got := a.use(t, bot, manageTool, arguments); got != want {
			t.Errorf("%.60s: got %s", arguments, got)
		}
	}
	if data, _ := a.use(t, as(bob, "bot"), manageTool, `{"action":"status"}`); data["message"] != "You have asked for nothing yet." {
		t.Errorf("another's: %v", data)
	}
}

// As many requests wait as may, and one that was decided makes room.
func TestHowManyRequestsWait(t *testing.T) {
	a := newAgency(t, false)
	bot := as(alice, "bot")
	create := func(i int) string { return fmt.Sprintf(`{"action":"create","name":"n%d","description":"x"}`, i) }
	first := a.ask(t, bot, create(0))
	for i := range mostPending - 1 {
		a.ask(t, bot, create(i+1))
	}
	if _, got := a.use(t, bot, manageTool, create(mostPending)); !strings.HasPrefix(got, "skill_error: 100 requests wait") {
		t.Errorf("one too many: %s", got)
	}
	a.ask(t, as(bob, "bot"), create(mostPending)) // another principal has its own
	if _, err := a.approvals.Deny(t.Context(), alice, first, ""); err != nil {
		t.Fatal(err)
	}
	a.ask(t, bot, create(mostPending))
}
