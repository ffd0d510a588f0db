package host

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/install"
)

func packed(t *testing.T, about string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	files := fstest.MapFS{
		"SKILL.md": {Data: []byte("---\nname: greet\ndescription: " + about + "\n---\n" + about + "\n")},
		"main.py":  {Data: []byte("print(1)\n")}, "big": {Data: bytes.Repeat([]byte(about), 100_000)},
	}
	if err := install.Pack(&b, files); err != nil {
		t.Fatal(err)
	}
	return &b
}

// An upload is there for whoever asks next, though the daemon watches the folder and looks for nobody; so is a rollback, and a
// removal. What a call holds stays as it was.
func TestUploadsAreThereAtOnce(t *testing.T) {
	cfg := config.Default(false, t.TempDir(), "")
	cfg.Skills.Dirs = nil
	sys := opened(t, cfg)
	defer closed(t, sys)
	ctx, stop := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() { defer close(watched); sys.Watch(ctx) }()
	defer func() { stop(); <-watched }()
	for _, about := range []string{"First version.", "Second version."} {
		if _, err := sys.Installer.Install(ctx, "greet", install.TarGz, packed(t, about), ""); err != nil {
			t.Fatal(err)
		}
		if got := sees(t, sys); got != about {
			t.Errorf("after the upload: %q, want %q", got, about)
		}
	}
	held, err := sys.Catalog.Reader.Skill(ctx, a2e.Caller{}, "greet", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sys.Installer.Rollback(ctx, "greet", "v1", `"`+held.Digest+`"`); err != nil {
		t.Fatal(err)
	}
	if got := sees(t, sys); got != "First version." {
		t.Errorf("after the rollback: %q", got)
	}
	if err := sys.Installer.Remove(ctx, "greet", ""); err != nil {
		t.Fatal(err)
	}
	if got := sees(t, sys); got != "" {
		t.Errorf("after the removal: %q", got)
	}
	if big, err := fs.ReadFile(held.BundleFS, "big"); err != nil || !strings.HasPrefix(string(big), "Second version.") {
		t.Errorf("what was held: %.20q, %v", big, err)
	}
}

// sees is the description of the skill as doors see it, "" where it is not there.
func sees(t *testing.T, sys *System) string {
	t.Helper()
	d, err := sys.Catalog.Reader.Skill(t.Context(), a2e.Caller{}, "greet", 0)
	if err != nil {
		if !errors.Is(err, &catalog.Error{Code: catalog.SkillNotFound}) {
			t.Error(err)
		}
		return ""
	}
	return d.Description
}
