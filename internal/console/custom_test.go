package console

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

func evilDraft(name string) catalog.Draft {
	return catalog.Draft{
		Name: ptr(name), Description: ptr(evil), License: ptr(evil), Compatibility: ptr(evil), Body: ptr(evil), AllowedTools: ptr("read_url"),
		Metadata: &map[string]string{"<b>": evil, "x": "y"}, Files: &map[string]string{"references/<img src=x onerror=alert(1)>.md": evil}, Provenance: "agent",
	}
}

// editorOf returns the fields of the editor on a page.
func editorOf(t *testing.T, w *httptest.ResponseRecorder, status int) (*html.Node, []string) {
	t.Helper()
	page := pageOf(t, w, status)
	form := find(page, "editor")
	if form == nil {
		t.Fatalf("no editor: %s", said(find(page, "main")))
	}
	return page, filled(form)
}

func TestCustomList(t *testing.T) {
	s := newShelf(t)
	b := s.as(t, "alice")
	has(t, pageOf(t, b.get("/console/custom"), 200), "alice has no custom skills yet", "Write one here", "manage_skill")
	s.write(t, "alice", 0, evilDraft("evil"))
	page := pageOf(t, b.get("/console/custom"), 200)
	has(t, page, "1 skill of alice; at most 25", "evil", "by agent", "<script>alert(1)</script>")
	team := s.number(t, "olga", 1)
	s.write(t, "olga", team, catalog.Draft{Name: ptr("ours"), Description: ptr("Ours.")})
	at := fmt.Sprintf("/console/custom?principal=%d", team)
	has(t, pageOf(t, s.as(t, "olga").get(at), 200), "group team", "ours", "Write a skill")
	member := pageOf(t, s.as(t, "mia").get(at), 200)
	has(t, member, "ours", "to read")
	lacks(t, member, "Write a skill")
	pageOf(t, b.get(at), 404)
	lacks(t, pageOf(t, s.as(t, "read").get("/console/custom"), 200), "Write a skill")
}

func TestCustomPage(t *testing.T) {
	s := newShelf(t)
	s.write(t, "alice", 0, evilDraft("evil"))
	b := s.as(t, "alice")
	page := pageOf(t, b.get("/console/custom/evil"), 200)
	has(t, page, "Last edited by an agent of alice", "Edit", "Delete…", "read_url", "no list names it", "<script>alert(1)</script>")
	lacks(t, page, "Last change")
	has(t, pageOf(t, b.get("/console/custom/evil/files/references/%3Cimg%20src=x%20onerror=alert(1)%3E.md"), 200), "<script>", "Download")
	if w := b.get("/console/custom/evil/files/SKILL.md?download=1"); w.Header().Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(w.Body.String(), "---\n") {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	pageOf(t, b.get("/console/custom/none"), 404)
	team := s.number(t, "olga", 1)
	s.write(t, "olga", team, catalog.Draft{Name: ptr("ours"), Description: ptr("Ours.")})
	at := fmt.Sprintf("?principal=%d", team)
	m := s.as(t, "mia")
	page = pageOf(t, m.get("/console/custom/ours"+at), 200)
	has(t, page, "You can read this skill but not change it", "Last edited by olga")
	lacks(t, page, "Edit", "Delete")
	if w := m.get("/console/custom/ours/edit" + at); w.Code != 303 {
		t.Errorf("%d", w.Code)
	}
	for _, path := range []string{"edit", "delete", "restore"} {
		if w := m.post("/console/custom/ours/"+path+at, "action", "save", "description", "x", "revision", "1"); w.Code != 403 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// Whoever may not write finds the doors shut.
func TestCustomWritesAreForPeople(t *testing.T) {
	s := newShelf(t)
	s.write(t, "alice", 0, evilDraft("evil"))
	if _, err := s.agents.Create(t.Context(), caller("alice"), 0, "helper"); err != nil {
		t.Fatal(err)
	}
	for _, who := range []string{"read", "bound"} {
		b := s.as(t, who)
		for _, path := range []string{"/-/new", "/evil/edit", "/evil/changes", "/evil/delete"} {
			if w := b.get("/console/custom" + path); w.Code != 403 {
				t.Errorf("%s GET %s: %d", who, path, w.Code)
			}
		}
		for _, path := range []string{"/-/new", "/-/check", "/evil/edit", "/evil/restore", "/evil/delete"} {
			if w := b.post("/console/custom" + path); w.Code != 403 {
				t.Errorf("%s POST %s: %d", who, path, w.Code)
			}
		}
	}
}

func TestWritingASkill(t *testing.T) {
	s := newShelf(t, "shipped/SKILL.md", skillMD("shipped", "Shipped.", "x"))
	b := s.as(t, "alice")
	_, fields := editorOf(t, b.get("/console/custom/-/new"), 200)
	has(t, pageOf(t, b.post("/console/custom/-/new", with(fields, "action", "save", "description", evil)...), 422), "It can't be saved like this.", "name is required", "<script>")
	for name, want := range map[string]string{"shipped": "is the name of a shipped skill", "Not A Name": "failed frontmatter validation"} {
		page, kept := editorOf(t, b.post("/console/custom/-/new", with(fields, "action", "save", "name", name, "description", "Does it.", "body", evil+"\r\n")...), map[string]int{"shipped": 409, "Not A Name": 422}[name])
		has(t, page, want)
		if got := valueOf(kept, "body"); got != evil+"\r\n" {
			t.Errorf("what was typed is lost: %q", got)
		}
		if name == "shipped" && attr(labelled(t, page, "name"), "aria-invalid") != "true" {
			t.Error("the name is not marked")
		}
	}
	page, fields := editorOf(t, b.post("/console/custom/-/new", with(fields, "action", "add", "name", "notes", "description", "Does it.")...), 200)
	labelled(t, page, "file-0-path")
	_, fields = editorOf(t, b.post("/console/custom/-/new", with(fields, "action", "add", "file-0-path", "a.md", "file-0-content", "A\r\n")...), 200)
	has(t, pageOf(t, b.post("/console/custom/-/new", with(fields, "action", "check", "file-1-content", "lost?")...), 200), "A file has no path")
	has(t, pageOf(t, b.post("/console/custom/-/new", with(fields, "action", "check", "file-1-path", "a.md")...), 200), "Two files have the path a.md")
	has(t, pageOf(t, b.post("/console/custom/-/new", with(fields, "action", "check", "metadata", "no colon")...), 200), "Metadata, line 1")
	has(t, pageOf(t, b.post("/console/custom/-/new", with(fields, "action", "check")...), 200), "It can be saved.")
	w := b.post("/console/custom/-/new", with(fields, "action", "save", "metadata", "team: data\r\nurl: http://x:1", "tools", "read_url")...)
	if w.Code != 303 {
		t.Fatalf("%d %s", w.Code, said(mainOf(w)))
	}
	has(t, pageOf(t, b.get(w.Header().Get("Location")), 200), "The skill is made", "notes", "team", "http://x:1")
	o, err := s.custom.Open(t.Context(), caller("alice"), 0, "notes")
	if err != nil || o.Content.Files["a.md"] != "A\n" || len(o.Content.Files) != 1 || o.Content.Body != sample || *o.AllowedTools != "read_url" || o.Provenance != "human" {
		t.Errorf("%+v %v", o, err)
	}
	has(t, pageOf(t, b.post("/console/custom/-/new", with(fields, "action", "save")...), 409), "already exists")
}

func valueOf(fields []string, name string) (value string) {
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == name {
			value = fields[i+1]
		}
	}
	return value
}

// A skill that is saved without a change is the same to the byte, whatever browsers make of it.
func TestSavingChangesNothingByItself(t *testing.T) {
	s := newShelf(t)
	d := catalog.Draft{
		Name: ptr("odd"), Description: ptr("Two\nlines: and <more>."), License: ptr("MIT,\nor not"), Body: ptr("\n\nfirst\r\nsecond\rthird\n\x00\t end"), AllowedTools: ptr("read_url  write\nbash"),
		Metadata: &map[string]string{"a": "b: c", "m": "two\nlines"}, Files: &map[string]string{"crlf.txt": "a\r\nb\r\n", "lead.txt": "\n\nx", "empty.txt": "", "none.txt": "no end"},
	}
	made := s.write(t, "alice", 0, d)
	b := s.as(t, "alice")
	_, fields := editorOf(t, b.get("/console/custom/odd/edit"), 200)
	if w := b.post("/console/custom/odd/edit", with(fields, "action", "save")...); w.Code != 303 {
		t.Fatalf("%d %s", w.Code, said(mainOf(w)))
	}
	o, err := s.custom.Open(t.Context(), caller("alice"), 0, "odd")
	if err != nil || o.Revision == made.Revision {
		t.Fatal(o, err)
	}
	if all := changes(o.Previous, &o.Content); len(all) > 0 {
		t.Errorf("%+v", all)
	}
	has(t, pageOf(t, b.get("/console/custom/odd/changes"), 200), "Nothing: it was saved without a change")
}

func TestEditingASkill(t *testing.T) {
	s := newShelf(t)
	s.write(t, "alice", 0, evilDraft("evil"))
	b := s.as(t, "alice")
	page, fields := editorOf(t, b.get("/console/custom/evil/edit"), 200)
	has(t, page, "Last edited by an agent of alice")
	old := fields
	w := b.post("/console/custom/evil/edit", with(fields, "action", "save", "body", "one\r\ntwo\r\n", "tools", "", "file-0-path", "renamed.md")...)
	if w.Code != 303 {
		t.Fatalf("%d %s", w.Code, said(mainOf(w)))
	}
	has(t, pageOf(t, b.get(w.Header().Get("Location")), 200), "Saved.", "Last edited by alice", "renamed.md", "none are named", "Last change")
	page = pageOf(t, b.get("/console/custom/evil/changes"), 200)
	has(t, page, "Instructions changed", "+added: one", "-removed: </td><script>alert(1)</script>", "renamed.md added", "removed", "Allowed tools changed", "Restore what was before")

	// Somebody else's save meanwhile is not overwritten, and what was typed stays.
	page, kept := editorOf(t, b.post("/console/custom/evil/edit", with(old, "action", "save", "body", "mine\r\n")...), 412)
	has(t, page, "Somebody saved this skill while you were editing", "-removed: one", "+added: mine")
	if valueOf(kept, "body") != "mine\r\n" {
		t.Errorf("what was typed is lost: %q", valueOf(kept, "body"))
	}
	if w := b.post("/console/custom/evil/edit", with(kept, "action", "save")...); w.Code != 303 {
		t.Errorf("saving over theirs, knowingly: %d %s", w.Code, said(mainOf(w)))
	}
	if o, err := s.custom.Open(t.Context(), caller("alice"), 0, "evil"); err != nil || o.Body != "mine\n" {
		t.Errorf("%+v %v", o, err)
	}

	_, fields = editorOf(t, b.get("/console/custom/evil/edit"), 200)
	page, kept = editorOf(t, b.post("/console/custom/evil/edit", with(fields, "action", "save", "body", strings.Repeat("x", 60_000))...), 422)
	has(t, page, "exceeds the 50000-byte per-file limit")
	if len(valueOf(kept, "body")) != 60_000 {
		t.Error("what was typed is lost")
	}
	w = b.post("/console/custom/evil/edit", with(fields, "action", "save", "file-0-remove", "1")...)
	if o, err := s.custom.Open(t.Context(), caller("alice"), 0, "evil"); w.Code != 303 || err != nil || len(o.Content.Files) != 0 {
		t.Errorf("%d %+v %v", w.Code, o, err)
	}

	// It is deleted while somebody edits it.
	if _, err := s.custom.Delete(t.Context(), caller("alice"), 0, "evil", catalog.AnyRevision); err != nil {
		t.Fatal(err)
	}
	page, kept = editorOf(t, b.post("/console/custom/evil/edit", with(fields, "action", "save", "body", "precious")...), 404)
	has(t, page, "somebody has deleted it")
	if valueOf(kept, "body") != "precious" {
		t.Error("what was typed is lost")
	}
}

// broken is a catalog whose writes fail for a reason that is not the page's to tell.
type broken struct{ catalog.Custom }

func (broken) Update(context.Context, a2e.Caller, int64, string, int64, catalog.Draft) (*catalog.CustomSkill, error) {
	return nil, errors.New("disk /var/secret is full")
}

func TestNothingTypedIsLost(t *testing.T) {
	s := newShelf(t)
	s.write(t, "alice", 0, evilDraft("evil"))
	s.options.Custom = broken{s.custom}
	b := s.as(t, "alice")
	_, fields := editorOf(t, b.get("/console/custom/evil/edit"), 200)
	page, kept := editorOf(t, b.post("/console/custom/evil/edit", with(fields, "action", "save", "body", "precious")...), 500)
	has(t, page, "Something failed inside hotcell")
	lacks(t, page, "/var/secret")
	if valueOf(kept, "body") != "precious" {
		t.Error("what was typed is lost")
	}
}

func TestChecksWhileTyping(t *testing.T) {
	s := newShelf(t)
	s.write(t, "alice", 0, evilDraft("evil"))
	b := s.as(t, "alice")
	page, fields := editorOf(t, b.get("/console/custom/evil/edit"), 200)
	form := find(page, "editor")
	if attr(form, "hx-post") != "/console/custom/-/check" || !strings.Contains(attr(form, "hx-trigger"), "delay") || find(page, attr(form, "hx-target")[1:]) == nil {
		t.Errorf("%v", form.Attr)
	}
	b.htmx = true
	for _, tt := range []struct{ field, value, want string }{
		{"body", "fine", "It can be saved"}, {"body", strings.Repeat("x", 60_000), "per-file limit"}, {"tools", "A B", "It can't be saved like this"},
		{"description", strings.Repeat("x", 1025), "at most 1024 characters"}, {"body", "a\u202eb", "characters that nobody sees"}, {"file-0-path", "../<script>", "'../<script>' is not a plain relative path"},
	} {
		w := b.post("/console/custom/-/check", with(fields, tt.field, tt.value)...)
		part := pageOf(t, w, 200)
		has(t, part, tt.want)
		if strings.Contains(w.Body.String(), "<html") {
			t.Error("a whole page")
		}
	}
	if o, err := s.custom.Open(t.Context(), caller("alice"), 0, "evil"); err != nil || o.Body != evil {
		t.Errorf("a check has written: %+v %v", o, err)
	}
	if w := b.post("/console/custom/-/check", with(fields, "existing", "none")...); w.Code != 404 {
		t.Errorf("%d", w.Code)
	}
}

func TestRestoring(t *testing.T) {
	s := newShelf(t)
	s.write(t, "alice", 0, evilDraft("evil"))
	b := s.as(t, "alice")
	has(t, pageOf(t, b.get("/console/custom/evil/changes"), 409), "not been changed since it was made")
	if _, err := s.custom.Update(t.Context(), caller("alice"), 0, "evil", catalog.AnyRevision, catalog.Draft{Body: ptr("new")}); err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, b.get("/console/custom/evil/changes"), 200)
	revision := attr(labelled(t, page, "revision"), "value")
	has(t, pageOf(t, b.post("/console/custom/evil/restore", "revision", "1000"), 412), "saved this skill since the page was made")
	has(t, pageOf(t, b.post("/console/custom/evil/restore"), 412), "saved this skill since the page was made")
	w := b.post("/console/custom/evil/restore", "revision", revision)
	if w.Code != 303 {
		t.Fatalf("%d %s", w.Code, said(mainOf(w)))
	}
	has(t, pageOf(t, b.get(w.Header().Get("Location")), 200), "Restored.", "<script>alert(1)</script>")
}

func TestDeleting(t *testing.T) {
	s := newShelf(t)
	made := s.write(t, "alice", 0, evilDraft("evil"))
	agent, err := s.agents.Create(t.Context(), caller("alice"), 0, "helper-<b>x</b>")
	if err != nil {
		if agent, err = s.agents.Create(t.Context(), caller("alice"), 0, "helper"); err != nil {
			t.Fatal(err)
		}
	}
	allow := []string{"evil", "other"}
	for _, id := range []int64{agent.ID, 0} {
		if _, err := s.agents.SetOverride(t.Context(), caller("alice"), id, made.Principal, catalog.SkillToolName, catalog.AnyRevision, &allow); err != nil {
			t.Fatal(err)
		}
	}
	b := s.as(t, "alice")
	has(t, pageOf(t, b.get("/console/custom/evil"), 200), agent.Name, "all agents that have no list of their own")
	page := pageOf(t, b.get("/console/custom/evil/delete"), 200)
	has(t, page, "Delete evil?", "taken from these lists", agent.Name, "all agents that have no list of their own")
	has(t, pageOf(t, b.post("/console/custom/evil/delete", "revision", strconv.FormatInt(made.Revision+7, 10)), 412), "nothing was deleted", "Delete evil?")
	page = pageOf(t, b.post("/console/custom/evil/delete", "revision", attr(labelled(t, page, "revision"), "value")), 200)
	has(t, page, "evil is deleted", agent.Name, "all agents that have no list of their own")
	pageOf(t, b.get("/console/custom/evil"), 404)
	has(t, pageOf(t, b.get("/console/custom"), 200), "no custom skills yet")
}

func TestMetadataText(t *testing.T) {
	for _, all := range []map[string]string{
		nil, {"a": "b", "c": "d: e"}, {"a:b": "c"}, {"": "x"}, {"a": " x "}, {"a": "two\nlines"}, {"{": "}"}, {"a": ""}, {" a": "b"}, {"a": "\u2028"},
	} {
		got, err := readMetadata(metadataText(all))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(all) {
			t.Errorf("%q: %q %v", all, got, err)
		}
	}
	for _, text := range []string{"a", ": b", "a: b\na: c", "{", `{"a": 1}`} {
		if _, err := readMetadata(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
