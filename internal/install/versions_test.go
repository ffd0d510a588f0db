package install

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

var ctx = context.Background()

// listed are the versions of a skill, the current one with a star.
func listed(t *testing.T, in *Installer, name string) string {
	t.Helper()
	list, err := in.Versions(ctx, name)
	must(t, err)
	var out []string
	for _, v := range list {
		text := v.Version
		if v.Current {
			text += "*"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// The newest versions are kept, any of them can be the current one again, and what is current is what is published.
func TestVersions(t *testing.T) {
	dir := t.TempDir()
	var changes []string
	in, err := Open(ctx, dir, Options{Changed: func(name string) { changes = append(changes, name) }})
	must(t, err)
	for i := range keepNewest + 2 {
		if got := install(t, in, "greet", fmt.Sprint("Text ", i+1, ".")); got.Version != fmt.Sprint("v", i+1) {
			t.Errorf("%d: %+v", i, got)
		}
	}
	install(t, in, "other", "Another.")
	if got := listed(t, in, "greet"); got != "v12* v11 v10 v9 v8 v7 v6 v5 v4 v3" {
		t.Errorf("versions %s", got)
	}
	if len(changes) != keepNewest+3 {
		t.Errorf("%d changes", len(changes))
	}
	got, err := in.Rollback(ctx, "greet", "v4", "")
	must(t, err)
	if got.Version != "v4" || !got.Current || about(t, dir, "greet") != "Text 4." || in.published("greet") != got.Digest {
		t.Errorf("%+v %s", got, about(t, dir, "greet"))
	}
	for version, want := range map[string]catalog.Code{"v2": catalog.VersionNotFound, "": catalog.VersionNotFound, "../v4": catalog.VersionNotFound} {
		if _, err := in.Rollback(ctx, "greet", version, ""); code(err) != string(want) {
			t.Errorf("%q: %v", version, err)
		}
	}
	before := len(changes)
	again, err := in.Rollback(ctx, "greet", "v4", "")
	must(t, err)
	if diff := cmp.Diff(got, again); diff != "" || len(changes) != before {
		t.Errorf("again: %s", diff)
	}
	if same := install(t, in, "greet", "Text 4."); same.Version != "v4" || len(changes) != before {
		t.Errorf("the same again: %+v", same)
	}
	install(t, opened(t, dir), "greet", "Text 13.") // as another process
	if got := listed(t, in, "greet"); got != "v13* v12 v11 v10 v9 v8 v7 v6 v5 v4" || about(t, dir, "greet") != "Text 13." {
		t.Errorf("versions %s", got)
	}
	must(t, in.Remove(ctx, "greet", ""))
	if about(t, dir, "greet") != "" || about(t, dir, "other") != "Another." {
		t.Error("not removed, or too much")
	}
	for name, err := range map[string]error{"remove": in.Remove(ctx, "greet", ""), "remove what is none": in.Remove(ctx, "../other", "")} {
		if code(err) != string(catalog.SkillNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := in.Versions(ctx, "greet"); code(err) != string(catalog.SkillNotFound) {
		t.Errorf("%v", err)
	}
	if _, err := in.Rollback(ctx, "greet", "v4", ""); code(err) != string(catalog.SkillNotFound) {
		t.Errorf("%v", err)
	}
	if got := install(t, in, "greet", "New."); got.Version != "v1" {
		t.Errorf("%+v", got)
	}
}

// A write that names another version than the current one changes nothing.
func TestMatch(t *testing.T) {
	dir := t.TempDir()
	in := opened(t, dir)
	upload := func(about, match string) error {
		_, err := in.Install(ctx, "greet", Zip, bytes.NewReader(zipped(t, bundle("greet", about))), match)
		return err
	}
	const conflict = string(catalog.Conflict)
	for _, match := range []string{"*", "abc"} {
		if err := upload("First.", match); code(err) != conflict || about(t, dir, "greet") != "" {
			t.Errorf("%s: %v", match, err)
		}
	}
	first := install(t, in, "greet", "First.")
	must(t, upload("Second.", `"`+first.Digest+`"`))
	if err := upload("Third.", first.Digest); code(err) != conflict || about(t, dir, "greet") != "Second." {
		t.Errorf("%v", err)
	}
	if _, err := in.Rollback(ctx, "greet", "v1", first.Digest); code(err) != conflict {
		t.Errorf("%v", err)
	}
	if err := in.Remove(ctx, "greet", first.Digest); code(err) != conflict || about(t, dir, "greet") != "Second." {
		t.Errorf("%v", err)
	}
	must(t, upload("Third.", "*"))
	must(t, in.Remove(ctx, "greet", "*"))
}

// A folder that somebody else put there is nobody's to replace.
func TestFoldersOfOthers(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "greet"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "greet/SKILL.md"), []byte(skillText("greet", "By hand.")), 0o644))
	in := opened(t, dir)
	_, err := in.Install(ctx, "greet", Zip, bytes.NewReader(zipped(t, bundle("greet", "x"))), "")
	if code(err) != string(catalog.NameTaken) || about(t, dir, "greet") != "By hand." {
		t.Errorf("%v", err)
	}
	if _, err := in.Versions(ctx, "greet"); code(err) != string(catalog.SkillNotFound) {
		t.Errorf("%v", err)
	}
}

// A published folder that was removed or changed by hand comes back with the next upload of the same files.
func TestChangedByHand(t *testing.T) {
	dir := t.TempDir()
	in := opened(t, dir)
	for _, damage := range []func(string) error{os.RemoveAll, func(d string) error { return os.Remove(d + "/scripts/main.py") }} {
		want := install(t, in, "greet", "Text.")
		must(t, damage(filepath.Join(dir, "greet")))
		if got := install(t, in, "greet", "Text."); got.Digest != want.Digest || in.published("greet") != want.Digest {
			t.Errorf("%+v", got)
		}
	}
	for _, skill := range []string{"upload", "bundle", "files"} { // names of ours in the folders of uploads
		install(t, in, skill, "x")
	}
}

// A version that is kept and was changed is not used, and says so. The skill can be removed all the same.
func TestDamagedVersions(t *testing.T) {
	dir := t.TempDir()
	in := opened(t, dir)
	install(t, in, "greet", "First.")
	install(t, in, "greet", "Second.")
	must(t, os.WriteFile(in.kept("greet", "v1"), tarred(t, bundle("greet", "Other.")), 0o600))
	if _, err := in.Rollback(ctx, "greet", "v1", ""); err == nil || !strings.Contains(err.Error(), "v1.tar.gz has changed") || about(t, dir, "greet") != "Second." {
		t.Errorf("%v", err)
	}
	must(t, os.WriteFile(filepath.Join(in.versions("greet"), indexFile), []byte("{"), 0o600))
	opened(t, dir) // a damaged index is nobody else's trouble
	if _, err := in.Versions(ctx, "greet"); err == nil || !strings.Contains(err.Error(), "index.json") {
		t.Errorf("%v", err)
	}
}

// Many at a time, of several processes: each upload is a version, or the same as the one before.
func TestUploadsAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for i := range 8 {
		in := opened(t, dir)
		group.Go(func() {
			data := tarred(t, bundle("greet", fmt.Sprint("Text ", i)))
			if _, err := in.Install(ctx, "greet", TarGz, bytes.NewReader(data), ""); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	group.Wait()
	in := opened(t, dir)
	list, err := in.Versions(ctx, "greet")
	must(t, err)
	if len(list) != 8 || !list[0].Current || in.published("greet") != list[0].Digest || left(t, dir) != nil {
		t.Errorf("%+v, left %q", list, left(t, dir))
	}
}

// Whoever looks while versions change sees one of them, whole.
func TestReadersSeeWholeBundles(t *testing.T) {
	dir := t.TempDir()
	in := opened(t, dir)
	one, two := install(t, in, "greet", "One."), install(t, in, "greet", "Two.")
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				if _, err := in.Rollback(ctx, "greet", fmt.Sprint("v", i%2+1), ""); err != nil {
					t.Error(err)
				}
			}
		}
	})
	lib, err := skills.Load([]skills.Source{skills.Dir(skills.SourceInstalled, dir)}, nil)
	must(t, err)
	for range 60 {
		must(t, lib.Refresh())
		s, _ := lib.Find("greet")
		if s == nil || s.Status != skills.Published || s.Bundle.Digest != one.Digest && s.Bundle.Digest != two.Digest {
			t.Errorf("%+v", s)
		}
	}
	close(stop)
	group.Wait()
}

// The index is small whatever was uploaded.
func TestIndexIsSmall(t *testing.T) {
	dir := t.TempDir()
	in := opened(t, dir)
	for i := range keepNewest + 1 {
		var keys strings.Builder
		for k := range 90 {
			fmt.Fprintf(&keys, "k%s%d: x\n", strings.Repeat("x", 60), k)
		}
		text := fmt.Sprintf("---\nname: greet\ndescription: Text %d.\n%s---\n", i, &keys)
		_, err := in.Install(ctx, "greet", Zip, bytes.NewReader(zipped(t, []file{{name: "SKILL.md", text: text}})), "")
		must(t, err)
	}
	text, err := os.ReadFile(filepath.Join(in.versions("greet"), indexFile))
	must(t, err)
	x := &index{}
	must(t, json.Unmarshal(text, x))
	if len(text) > 200_000 || len(x.Versions) != keepNewest || len(x.Versions[0].Warnings) != maxWarnings || x.Doing != "" {
		t.Errorf("%d bytes, %d versions", len(text), len(x.Versions))
	}
}
