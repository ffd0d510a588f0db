package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/config"
)

// A daemon hears of skills that come; nobody has to ask for them first.
func TestADaemonHearsOfChanges(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nowhere.sock") // answers nothing
	cfg := config.Default(false, t.TempDir(), "")
	sys, err := open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	stop := sys.watched(t.Context())
	writeFile(t, filepath.Join(cfg.InstalledSkills(), "fresh/SKILL.md"), "---\nname: fresh\ndescription: x\n---\n")
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if s, _ := sys.skills.Find("fresh"); s != nil && s.Source == "installed" {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the skill never came")
		}
	}
	stop()
	if err := sys.supervisor.Drain(context.Background()); err != nil {
		t.Error(err)
	}
	if err := sys.close(); err != nil {
		t.Error(err)
	}
}
