package host

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/skills"
)

// book keeps what it is told, or can't.
type book struct {
	kept []audit.Entry
	who  []audit.Actor
	fail error
}

func (b *book) Record(ctx context.Context, e audit.Entry) error {
	who, _ := audit.ActorOf(ctx)
	b.kept, b.who = append(b.kept, e), append(b.who, who)
	return b.fail
}

func TestRemovedImagesAreInTheAudit(t *testing.T) {
	all := []images.Verdict{{ID: "sha256:1", Ref: "r.example/a:1", Removed: true}, {ID: "sha256:2", Ref: "r.example/b:1", Kept: "in use"}}
	var b book
	if err := RecordPruned(t.Context(), &b, all); err != nil {
		t.Fatal(err)
	}
	want := []audit.Entry{{Kind: audit.ImageRemove, Data: map[string]any{"image": "r.example/a:1", "id": "sha256:1"}}}
	if diff := cmp.Diff(want, b.kept); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]audit.Actor{{Principal: "uid:" + strconv.Itoa(os.Getuid()), Door: operatorDoor}}, b.who); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.fail = errors.New("no room")
	if err := RecordPruned(t.Context(), &b, all); !errors.Is(err, b.fail) {
		t.Errorf("got %v, want that there is no room", err)
	}
}

// What a loaded skill or the configuration names is not collected.
func TestNeededImages(t *testing.T) {
	digest := "sha256:" + strings.Repeat("ab", 32)
	dir := fstest.MapFS{
		"own/SKILL.md":       {Data: []byte("---\nname: own\ndescription: has an image\n---\n")},
		"own/skill.yaml":     {Data: []byte("run: {image: 'r.example/own@" + digest + "', frames: true, command: [/x]}\n")},
		"script/SKILL.md":    {Data: []byte("---\nname: script\ndescription: has the default one\n---\n")},
		"script/main.py":     {Data: []byte("pass\n")},
		"blocked/SKILL.md":   {Data: []byte("---\nname: blocked\ndescription: may be called again\n---\n")},
		"blocked/skill.yaml": {Data: []byte("status: Blocked\nrun: {image: 'r.example/blocked:1', frames: true, command: [/x]}\n")},
	}
	lib, err := skills.Load([]skills.Source{{Label: skills.SourceProject, FS: dir, Path: "test"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default(false, t.TempDir(), t.TempDir())
	cfg.Images.Defaults = map[string]string{"python": "r.example/python@" + digest}
	cfg.Policy.Images.Digests = []string{"*", digest}
	want := map[string]string{
		"r.example/own@" + digest: "skill own", "r.example/blocked:1": "skill blocked", "r.example/python@" + digest: "images.defaults.python", digest: "policy.images.digests",
	}
	if diff := cmp.Diff(want, NeededImages(cfg, lib)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
