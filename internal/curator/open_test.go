package curator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/catalog"
)

// What a check says is what the write then says, and a check writes nothing.
func TestChecksSayWhatWritesSay(t *testing.T) {
	r := newRig(t)
	r.create(t, alice, 0, draft("notes"))
	group := r.group(t, member)
	long := draft("long")
	long.Body = ptr(strings.Repeat("x", 60_000))
	odd := draft("odd")
	odd.AllowedTools = ptr("Bash(git:*)")
	for name, tt := range map[string]struct {
		d    catalog.Draft
		name string
	}{
		"good": {draft("fine"), ""}, "warned": {odd, ""}, "taken": {draft("notes"), ""}, "reserved": {draft("word-count"), ""}, "no name": {catalog.Draft{}, ""},
		"too long": {long, ""}, "bad name": {draft("Not A Name"), ""}, "unsafe file": {withFiles(draft("files"), "../x", ""), ""},
		"code": {withFiles(draft("code"), "run.py", ""), ""}, "update": {catalog.Draft{Body: ptr("new")}, "notes"},
		"rename": {catalog.Draft{Name: ptr("other")}, "notes"}, "none": {catalog.Draft{}, "nothing"}, "long update": {catalog.Draft{Body: long.Body}, "notes"},
	} {
		t.Run(name, func(t *testing.T) {
			before := r.Version()
			findings, err := r.Check(t.Context(), alice, 0, tt.name, tt.d)
			if r.Version() != before {
				t.Error("the check has written")
			}
			var s *catalog.CustomSkill
			var want error
			if tt.name == "" {
				s, want = r.Create(t.Context(), alice, 0, tt.d)
			} else {
				s, want = r.Update(t.Context(), alice, 0, tt.name, catalog.AnyRevision, tt.d)
			}
			if d := cmp.Diff(want, err); d != "" {
				t.Error(d)
			}
			if want == nil && !cmp.Equal(findings, s.Warnings) {
				t.Errorf("%v, want %v", findings, s.Warnings)
			}
		})
	}
	_, err := r.Check(t.Context(), member, group, "", draft("theirs"))
	refused(t, err, catalog.Forbidden)
}

// Who may restore a skill sees what it was; others see what it is.
func TestOpen(t *testing.T) {
	r := newRig(t)
	group := r.group(t, owner)
	r.create(t, owner, group, withFiles(draft("ours"), "a.md", "A"))
	if o, err := r.Open(t.Context(), owner, group, "ours"); err != nil || o.Previous != nil || o.Content.Files["a.md"] != "A" || o.Creator != "olga" || o.Updater != "olga" {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := r.Update(t.Context(), admin, group, "ours", catalog.AnyRevision, catalog.Draft{Body: ptr("new")}); err != nil {
		t.Fatal(err)
	}
	o, err := r.Open(t.Context(), owner, group, "ours")
	if err != nil || o.Previous == nil || o.Previous.Body != "# ours\n" || o.Content.Body != "new" || o.Updater != "ada" {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = r.Open(t.Context(), member, group, "ours"); err != nil || o.Previous != nil || o.Content.Body != "new" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, who := range []string{"alice", "root"} {
		stranger := alice
		stranger.Principal, stranger.Admin = who, who == "root"
		_, err = r.Open(t.Context(), stranger, group, "ours")
		refused(t, err, catalog.SkillNotFound)
	}
}
