package host

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/testutil/registry"
)

// The life of a pin at the desk: what an admin does there is in the audit under his name.
func TestImageDesk(t *testing.T) {
	r := registry.New(t)
	ref, digest := r.Push(t, "team/tool:1", registry.Image(t, registry.Native, 1000))
	cfg := config.Default(false, t.TempDir(), "")
	kept, _, err := OwnImages(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	var b book
	desk := imageDesk{cfg, kept, &b, OneSkill(&skills.Skill{})}
	ctx := auth.NewContext(t.Context(), auth.Identity{Principal: "olga", Scopes: []auth.Scope{auth.Admin}})
	if all, err := desk.List(ctx, true); err != nil || len(all) != 0 || all == nil {
		t.Errorf("%v, %v", all, err)
	}
	var steps []control.PullProgress
	got, err := desk.Pull(ctx, ref, func(p control.PullProgress) { steps = append(steps, p) })
	if err != nil || got.Digest != digest || got.State != images.StatePinned || got.Pinned.IsZero() || len(steps) == 0 {
		t.Fatalf("%+v, %v, %d steps", got, err, len(steps))
	}
	if all, err := desk.List(ctx, true); err != nil || len(all) != 1 || all[0].Ref != ref || all[0].State != images.StatePinned || all[0].Pinned.IsZero() || all[0].Bytes == 0 {
		t.Errorf("%+v, %v", all, err)
	}
	_, moved := r.Push(t, "team/tool:1", registry.Image(t, registry.Native, 1000))
	if all, err := desk.List(ctx, true); err != nil || all[0].State != images.StateStale || !strings.Contains(all[0].Note, images.Short(moved)) {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := desk.Pin(ctx, ref); err != nil {
		t.Error(err)
	}
	if all, err := desk.Prune(ctx, true); err != nil || len(all) != 1 || all[0].Removed || all[0].Kept == "" {
		t.Errorf("%+v, %v", all, err)
	}
	if was, err := desk.Unpin(ctx, ref); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	if was, err := desk.Unpin(ctx, ref); was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	var kinds []string
	for i, e := range b.kept {
		kinds = append(kinds, e.Kind)
		if diff := cmp.Diff(audit.Actor{Principal: "olga", Door: "console"}, b.who[i]); diff != "" || e.Data["image"] != ref {
			t.Errorf("%+v: %s", e, diff)
		}
	}
	if diff := cmp.Diff([]string{audit.ImagePin, audit.ImagePin, audit.ImageUnpin}, kinds); diff != "" {
		t.Error(diff)
	}
}

// What goes wrong is told such that an admin can mend it.
func TestImageDeskSaysWhatIsWrong(t *testing.T) {
	cfg := config.Default(false, t.TempDir(), "")
	cfg.Policy.Images.Registries = []string{"ghcr.io"}
	kept, _, err := OwnImages(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	var b book
	desk := imageDesk{cfg, kept, &b, OneSkill(&skills.Skill{})}
	quiet := func(control.PullProgress) {}
	for ref, want := range map[string]string{
		"X!": "expected NAME:TAG", "127.0.0.1:1/x:1": "policy.images.registries does not allow", "127.0.0.1:1/x:1@sha256:" + strings.Repeat("a", 64): "does not allow",
	} {
		var fault *control.Fault
		if _, err := desk.Pull(t.Context(), ref, quiet); !errors.As(err, &fault) || !strings.Contains(fault.Message, want) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if _, err := desk.Unpin(t.Context(), "x@sha256:12"); err == nil {
		t.Error("unpinned a digest")
	}
	if len(b.kept) != 0 {
		t.Errorf("%+v", b.kept)
	}
}
