package console

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

const evil = `</td><script>alert(1)</script><img src=x onerror=alert(1)><a href="javascript:alert(1)">x</a>` + "\u202e" + `" onmouseover="alert(1)`

func TestCatalogue(t *testing.T) {
	files := []string{"broken/SKILL.md", "nothing", "evil/SKILL.md", skillMD("evil", evil, evil), "evil/skill.yaml", "version: '<script>1'\n"}
	for i := range 120 {
		name := fmt.Sprintf("skill-%03d", i)
		files = append(files, name+"/SKILL.md", skillMD(name, "Counts things number "+fmt.Sprint(i), "Do it."))
	}
	s := newShelf(t, files...)
	s.write(t, "alice", 0, catalog.Draft{Name: ptr("mine"), Description: ptr(evil), Body: ptr(evil)})
	b := s.as(t, "alice")
	page := pageOf(t, b.get("/console/skills"), 200)
	has(t, page, "123 skills, 1 to 50", "After these", "Blocked", "findings", "project", "custom-skills", "Write a skill")
	lacks(t, page, "skill-100")
	has(t, pageOf(t, b.get("/console/skills?page=3"), 200), "101 to 123", "skill-119", "Before these")
	has(t, pageOf(t, b.get("/console/skills?page=99"), 200), "101 to 123")
	has(t, pageOf(t, b.get("/console/skills?q=COUNTS+007"), 200), "1 skill of 123", "skill-007")
	has(t, pageOf(t, b.get("/console/skills?q=things&page=2"), 200), "120 skills of 123, 51 to 100", "skill-099")
	has(t, pageOf(t, b.get("/console/skills?source=custom-skills"), 200), "1 skill of 123", "mine")
	has(t, pageOf(t, b.get("/console/skills?status=Blocked"), 200), "1 skill of 123", "broken")
	has(t, pageOf(t, b.get("/console/skills?q=%3Cscript%3E&source=%22onx&status=%00"), 200), "No skill is like that", "Show all 123")
	b.htmx = true
	r := httptest.NewRequest("GET", "/console/skills?q=skill-007", nil)
	r.Header.Set("HX-History-Restore-Request", "true")
	if w := b.do(r); !strings.Contains(w.Body.String(), "<html") {
		t.Error("the way back in a browser's history leads to a part of a page")
	}
	if w := b.get("/console/skills?q=skill-007"); w.Code != 200 || strings.Contains(w.Body.String(), "<html") || !strings.Contains(w.Body.String(), `<div id="catalogue">`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	has(t, pageOf(t, s.as(t, "mia").get("/console/skills?source=custom-skills"), 200), "No skill is like that")
	if w := newShelf(t).as(t, "read").get("/console/skills"); w.Code != 200 || !strings.Contains(w.Body.String(), "hotcell skills init") || strings.Contains(w.Body.String(), "-/new") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestOneSkill(t *testing.T) {
	s := newShelf(t, "evil/SKILL.md", skillMD("evil", evil, "# Title\n\n"+evil+"\n\n[x](javascript:alert(1)) and "+"https://evil.example"),
		"evil/skill.yaml", "version: '1'\n", "evil/references/a<b>.md", evil, "evil/data.bin", "\x00\x01\xff", "evil/large.txt", strings.Repeat("x", 50_001), "evil/empty.txt", "")
	s.desk.calls = []control.Call{
		{ID: "c1", Skill: "evil", Principal: "alice", Agent: evil, State: control.Failed, Code: "timeout", Accepted: time.Now(), Ended: time.Now()},
		{ID: "c2", Skill: "evil", Principal: "mia", State: control.Succeeded, Accepted: time.Now(), Ended: time.Now()},
	}
	s.desk.stats.Skills = []control.SkillStat{{Skill: "evil", Tally: control.Tally{Calls: 5, Failed: 1, P50: time.Second, P95: 3 * time.Second}}}
	b := s.as(t, "alice")
	page := pageOf(t, b.get("/console/skills/evil"), 200)
	has(t, page, "Title", "<script>alert(1)</script>", "5 calls, 1 failed (20 %)", "timeout", "50,000 bytes", "references/a<b>.md", "Digest of the bundle", "(javascript:alert(1))")
	lacks(t, page, "Versions", "What a call gets", "The last 2 calls")
	lacks(t, pageOf(t, s.as(t, "read").get("/console/skills/evil"), 200), "Calls", "Try it")
	has(t, pageOf(t, b.get("/console/skills/EVIL"), 200), "Title")
	has(t, pageOf(t, b.get("/console/skills/none"), 404), "not found")
	s.reader.Plugins = []a2e.Plugin{served{}}
	has(t, pageOf(t, b.get("/console/skills/served"), 200), "served by hotcell itself", "Itself <b>")
	pageOf(t, s.as(t, "read").get("/console/skills/served"), 404)

	has(t, pageOf(t, b.get("/console/skills/evil/files/references/a%3Cb%3E.md"), 200), "<img src=x", "Download")
	has(t, pageOf(t, b.get("/console/skills/evil/files/data.bin"), 200), "no text")
	has(t, pageOf(t, b.get("/console/skills/evil/files/empty.txt"), 200), "empty")
	pageOf(t, b.get("/console/skills/evil/files/large.txt"), 404)
	pageOf(t, b.get("/console/skills/evil/files/..%2f..%2fetc%2fpasswd"), 404)
	w := b.get("/console/skills/evil/files/references/a%3Cb%3E.md?download=1")
	if h := w.Header(); w.Code != 200 || h.Get("Content-Type") != "application/octet-stream" || h.Get("Content-Disposition") != `attachment; filename="a<b>.md"` ||
		h.Get("X-Content-Type-Options") != "nosniff" || w.Body.String() != evil {
		t.Errorf("%d %v %q", w.Code, h, w.Body)
	}
}

// served is a plugin with one skill.
type served struct{ a2e.Plugin }

func (served) ListSkills(context.Context, a2e.Caller) ([]a2e.Definition, error) {
	return []a2e.Definition{{Name: "served", Description: "Itself <b>"}}, nil
}

// Whose skill it is decides what is shown, and to whom.
func TestSkillsOfOthers(t *testing.T) {
	s := newShelf(t)
	team := s.number(t, "olga", 1)
	s.write(t, "olga", team, catalog.Draft{Name: ptr("notes"), Description: ptr("The team's notes."), Body: ptr("ours")})
	s.write(t, "olga", 0, catalog.Draft{Name: ptr("notes"), Description: ptr("My own notes."), Body: ptr("mine")})
	at := fmt.Sprintf("/console/skills/notes?principal=%d", team)
	has(t, pageOf(t, s.as(t, "olga").get(at), 200), "The team's notes.")
	has(t, pageOf(t, s.as(t, "olga").get("/console/skills/notes"), 200), "My own notes.")
	has(t, pageOf(t, s.as(t, "mia").get(at), 200), "The team's notes.")
	pageOf(t, s.as(t, "alice").get(at), 404)
	pageOf(t, s.as(t, "root").get(at), 404)
	s.options.Handler = &maker{desk: s.desk}
	lacks(t, pageOf(t, s.as(t, "olga").get(at), 200), "Try it") // a call of the name gets her own
	has(t, pageOf(t, s.as(t, "mia").get(at), 200), "Try it")
	has(t, pageOf(t, s.as(t, "olga").get(strings.Replace(at, "notes?", "notes/try?", 1)), 409), "Another skill comes first")
}

// versions is an installer of one skill.
type versions struct {
	catalog.Installer
	current string
	asked   [3]string
}

func (v *versions) Versions(_ context.Context, name string) ([]catalog.Installed, error) {
	if name != "up" {
		return nil, &catalog.Error{Code: catalog.SkillNotFound, Message: "no"}
	}
	return []catalog.Installed{{Name: name, Version: "v2", Digest: "bb", Current: v.current == "v2"}, {Name: name, Version: "v1", Digest: "aa", Current: v.current == "v1"}}, nil
}

func (v *versions) Rollback(_ context.Context, name, version, match string) (*catalog.Installed, error) {
	v.asked = [3]string{name, version, match}
	if match != "bb" {
		return nil, &catalog.Error{Code: catalog.Conflict, Message: "Another version is current."}
	}
	v.current = version
	return &catalog.Installed{}, nil
}

type explainer struct{}

func (explainer) Explain(_ context.Context, name string) (*control.Explained, error) {
	if name != "up" {
		return nil, control.ErrNoSkill
	}
	return &control.Explained{Skill: name, Image: evil, Choices: []control.Choice{{Field: "memory", Value: "128 MiB", From: "operator"}},
		Clamps: []control.Clamp{{Field: "time-out", By: "hotcell", Asker: evil, Asked: "1 h", Granted: "5 min"}}}, nil
}

func TestVersionsAndPolicy(t *testing.T) {
	s := newShelf(t, "up/SKILL.md", skillMD("up", "Uploaded.", "x"), "other/SKILL.md", skillMD("other", "Not.", "x"))
	kept := &versions{current: "v2"}
	s.options.Installer, s.options.Explain = kept, explainer{}
	b := s.as(t, "root")
	page := pageOf(t, b.get("/console/skills/up"), 200)
	has(t, page, "v2 current", "Go back to v1", "128 MiB", "operator", "What was cut", "5 min")
	lacks(t, pageOf(t, b.get("/console/skills/other"), 200), "Versions", "What a call gets")
	lacks(t, pageOf(t, s.as(t, "alice").get("/console/skills/up"), 200), "Versions", "What a call gets")
	if w := s.as(t, "alice").post("/console/skills/up/rollback", "version", "v1", "match", "bb"); w.Code != 403 {
		t.Errorf("%d", w.Code)
	}
	pageOf(t, b.post("/console/skills/up/rollback", "match", "bb"), 400)
	has(t, pageOf(t, b.post("/console/skills/up/rollback", "version", "v1", "match", "old"), 412), "Another version is current")
	w := b.post("/console/skills/up/rollback", "version", "v1", "match", "bb")
	if w.Code != 303 || kept.asked != [3]string{"up", "v1", "bb"} {
		t.Errorf("%d %v", w.Code, kept.asked)
	}
	has(t, pageOf(t, b.get(w.Header().Get("Location")), 200), "earlier version is the current one", "v1 current")
}

func BenchmarkCatalogue(b *testing.B) {
	var files []string
	for i := range 1000 {
		name := fmt.Sprintf("skill-%03d", i)
		files = append(files, name+"/SKILL.md", skillMD(name, "Counts things.", "Do it."))
	}
	s := newShelf(b, files...)
	s.options.Auth, s.options.Handler = nil, &maker{desk: s.desk}
	c, err := New(s.options)
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range []string{"/console/skills", "/console/skills?q=skill-5", "/console/skills/skill-500"} {
		b.Run(path, func(b *testing.B) {
			br := &browser{h: c}
			for b.Loop() {
				if w := br.request("GET", path); w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
