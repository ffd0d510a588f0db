package integration

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

func engineRig(t *testing.T, opts rig.Options) *rig.Rig {
	t.Helper()
	testutil.Require(t, "docker")
	opts.Engine = testutil.GoBuild(t, "github.com/hotcell/hotcell/cmd/hotcell-engine")
	return newRig(t, opts)
}

// javaScript is a skill of one script.
func javaScript(name, yaml, script string) fstest.MapFS {
	return fstest.MapFS{
		name + "/SKILL.md":        {Data: []byte("---\nname: " + name + "\ndescription: a skill for tests\n---\nRun it.\n"), Mode: 0o644},
		name + "/skill.yaml":      {Data: []byte(yaml), Mode: 0o644},
		name + "/scripts/main.js": {Data: []byte(script), Mode: 0o644},
	}
}

// JavaScript in cells of the built-in image: the example of the documentation, and what a script may and can't do.
func TestJavaScript(t *testing.T) {
	example := fstest.MapFS{}
	if err := fs.WalkDir(os.DirFS("../docs/examples"), "slug", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile("../docs/examples/" + name)
		example[name] = &fstest.MapFile{Data: data, Mode: 0o644}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	r := engineRig(t, rig.Options{Skills: rig.Merge(example,
		javaScript("files", "", `export default async (args, skill) => {
			const trouble = async (path) => { try { return await skill.readFile(path); } catch (e) { return e.message; } };
			return [await skill.readFile("/workspace/in/a.txt"), skill.inputs(), skill.files(), await trouble("/etc/passwd"), process.env.HOME];
		};`),
		javaScript("ahead", "run: {prestart: true}", `export default (args) => args;`),
		javaScript("endless", "", `export default () => { for (;;); };`),
		javaScript("hungry", "limits: {memory: 64Mi}", `export default () => { const all = []; for (let i = 0; ; i++) all.push("x".repeat(1e6) + i); };`),
	)})
	t.Run("example", func(t *testing.T) { checkExample(t, r) })
	t.Run("example that fails", func(t *testing.T) {
		req := request("slug", 60)
		req.Arguments = map[string]any{"titles": []any{"!!!"}}
		e := ask(t.Context(), r, req, nil).answer.Error
		if e == nil || e.Code != a2e.SkillError || e.Retryable || e.Detail["skill_code"] != "no_words" ||
			!strings.Contains(e.Message, `Error: the title "!!!" has no letter or digit at scripts/main.js:10:27`) {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("files", func(t *testing.T) {
		got := ask(t.Context(), r, request("files", 60), fstest.MapFS{"a.txt": {Data: []byte("hé"), Mode: 0o644}})
		if got.answer.Error != nil {
			t.Fatal(got.answer.Error)
		}
		want := []any{"hé", []any{"/workspace/in/a.txt"}, []any{"/skill/SKILL.md", "/skill/scripts/main.js", "/skill/skill.yaml"}, "/etc/passwd: not in /skill", "/workspace"}
		if diff := cmp.Diff(want, got.data(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	for name, want := range map[string]a2e.Code{"ahead": "", "endless": a2e.Timeout, "hungry": a2e.OutOfMemory} {
		t.Run(name, func(t *testing.T) {
			req := request(name, map[bool]int{true: 1, false: 60}[want == a2e.Timeout])
			if code, reason := ask(t.Context(), r, req, nil).code(); code != want {
				t.Errorf("%s, %s", code, reason)
			}
		})
	}
}

func checkExample(t *testing.T, r *rig.Rig) {
	req := request("slug", 60)
	req.Arguments = map[string]any{"titles": []any{"The Art of Computer Programming", "Café, à la carte!", "the art of computer programming", "The"}}
	got := ask(t.Context(), r, req, nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	want := map[string]any{"slugs": []any{"art-computer-programming", "cafe-la-carte", "art-computer-programming-2", "the"}}
	if diff := cmp.Diff(want, got.data(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if k := got.kinds(); k[a2e.KindProgress] != 4 || k[a2e.KindArtifact] != 1 || k[a2e.KindLog] != 1 {
		t.Errorf("events: %v", k)
	}
}
