package console

import (
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/catalog"
)

func TestApprovals(t *testing.T) {
	c := newCrew(t)
	b := c.as(t, "alice")
	has(t, pageOf(t, b.get("/console/approvals"), 200), "Nothing has been asked for.", "manage_skill")
	c.agent(t, "alice", "bot", "manage_skill")
	made := c.ask(t, "alice", "bot", map[string]any{"action": "create", "name": "notes", "description": "Keeps " + strangers, "body": "# Notes\n\nBe kind.\n", "files": map[string]any{"more.md": strangers}})
	page := pageOf(t, b.get("/console/approvals/"+made), 200)
	has(t, page, "Create skill notes", "pending", "bot", "Be kind.", "<script>alert(2)</script>", "more.md", "Approve, and write it now")
	w := b.post("/console/approvals/" + made + "/approve")
	if w.Code != 303 || w.Header().Get("Location") != "/console/approvals/"+made+"?done=approved" {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	page = pageOf(t, b.get("/console/approvals/"+made+"?done=approved"), 200)
	has(t, page, "approved", "Approved, and done.", "Be kind.")
	lacks(t, page, "Deny", "Approve, and write it now")
	if s, err := c.custom.Show(t.Context(), caller("alice"), 0, "notes"); err != nil || s.Provenance != "agent" {
		t.Errorf("%+v, %v", s, err)
	}
	if w := b.post("/console/approvals/" + made + "/deny"); w.Code != 409 {
		t.Errorf("deciding twice: %d", w.Code)
	}
	// An update is shown as what it changes, and the oldest that waits comes first.
	update := c.ask(t, "alice", "bot", map[string]any{"action": "update", "name": "notes", "body": "# Notes\n\nBe short.\n"})
	second := c.ask(t, "alice", "bot", map[string]any{"action": "create", "name": "poems", "description": "Poems.", "body": "Rhyme.\n"})
	list := pageOf(t, b.get("/console/approvals"), 200)
	var order []string
	for _, a := range all(mainOf(b.get("/console/approvals")), "a", "class", "wrap") {
		order = append(order, said(a))
	}
	if strings.Join(order, ", ") != "update skill notes, create skill poems, create skill notes" {
		t.Errorf("%v", order)
	}
	has(t, list, "2 requests wait for a decision.")
	page = pageOf(t, b.get("/console/approvals/"+update), 200)
	has(t, page, "Update skill notes", "removed: Be kind.", "added: Be short.")
	lacks(t, page, "more.md", "Description")
	// Denied with a reason.
	if w := b.post("/console/approvals/"+second+"/deny", "why", strings.Repeat("x", maxWhy+1)); w.Code != 422 {
		t.Errorf("%d", w.Code)
	}
	if w := b.post("/console/approvals/"+second+"/deny", "why", " No "+strangers); w.Code != 303 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	has(t, pageOf(t, b.get("/console/approvals/"+second), 200), "denied", "Reason: No ", "<script>alert(2)</script>")
	page = pageOf(t, b.get("/console/approvals?state=denied"), 200)
	has(t, page, "create skill poems")
	lacks(t, page, "update skill notes")
	has(t, pageOf(t, b.get("/console/approvals?state=expired"), 200), "No request is expired.")
	if w := b.get("/console/approvals?state=else"); w.Code != 400 {
		t.Errorf("%d", w.Code)
	}
}

// A write that would fail says so before anybody decides, and what failed says why.
func TestApprovalsThatFail(t *testing.T) {
	c := newCrew(t)
	c.agent(t, "alice", "bot", "manage_skill")
	c.write(t, "alice", 0, catalog.Draft{Name: ptr("notes"), Description: ptr("Notes."), Body: ptr("One.\n")})
	update := c.ask(t, "alice", "bot", map[string]any{"action": "update", "name": "notes", "body": "Two.\n"})
	remove := c.ask(t, "alice", "bot", map[string]any{"action": "delete", "name": "notes"})
	b := c.as(t, "alice")
	has(t, pageOf(t, b.get("/console/approvals/"+remove), 200), "Delete skill notes", "removed: One.")
	if _, err := c.custom.Update(t.Context(), caller("alice"), 0, "notes", catalog.AnyRevision, catalog.Draft{Body: ptr("Mine.\n")}); err != nil {
		t.Fatal(err)
	}
	has(t, pageOf(t, b.get("/console/approvals/"+update), 200), "The skill has been changed since the agent asked")
	if w := b.post("/console/approvals/" + update + "/approve"); w.Code != 303 || w.Header().Get("Location") != "/console/approvals/"+update {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	has(t, pageOf(t, b.get("/console/approvals/"+update), 200), "failed", "It was approved, and the write failed.", "PRECONDITION_FAILED")
	if _, err := c.custom.Delete(t.Context(), caller("alice"), 0, "notes", catalog.AnyRevision); err != nil {
		t.Fatal(err)
	}
	has(t, pageOf(t, b.get("/console/approvals/"+remove), 200), "There is no skill of this name any more")
}

// People decide, and only those who may write what the agent wants to write.
func TestApprovalsAreForPeople(t *testing.T) {
	c := newCrew(t)
	team := c.number(t, "olga", 1)
	id := c.ask(t, "mia", "bot", map[string]any{"action": "create", "name": "shared", "description": "Shared.", "body": "x\n", "principal_id": team})
	own := c.ask(t, "alice", "helper", map[string]any{"action": "create", "name": "mine", "description": "Mine.", "body": "x\n"})
	for _, tt := range []struct {
		token, id, says string
		see, decide     int
	}{
		{"mia", id, "Its owners and admins decide.", 200, 403}, {"alice", id, "", 404, 404}, {"root", id, "", 404, 404},
		{"read", own, "its scopes do not include skills:write", 200, 403}, {"bound", own, "speaks for the agent helper", 200, 403},
		{"olga", id, "Approve, and write it now", 200, 303},
	} {
		b := c.as(t, tt.token)
		page := pageOf(t, b.get("/console/approvals/"+tt.id), tt.see)
		if tt.see == 200 {
			has(t, page, tt.says)
		}
		for _, what := range []string{"/deny", "/approve"} {
			if w := b.post("/console/approvals/" + tt.id + what); w.Code != tt.decide {
				t.Errorf("%s %s: %d, want %d", tt.token, what, w.Code, tt.decide)
			}
			if tt.decide == 303 {
				break
			}
		}
	}
}
