package host

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/instance"
)

// Supervisors of one data folder know of one another as long as they are open, and leave no file when they are closed.
func TestOpenMakesAnInstance(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nowhere.sock") // answers nothing
	cfg := config.Default(false, t.TempDir(), "")
	dir := filepath.Join(cfg.DataDir, InstancesDir)
	log := slog.New(slog.DiscardHandler)
	var opened []*System
	for range 2 {
		sys, err := Open(t.Context(), cfg, Options{Log: log})
		if err != nil {
			t.Fatal(err)
		}
		opened = append(opened, sys)
	}
	all, err := instance.List(dir)
	if err != nil || len(all) != 2 || !all[0].Alive || !all[1].Alive || all[0].PID != os.Getpid() {
		t.Errorf("open: %+v, %v", all, err)
	}
	for _, sys := range opened {
		if err := sys.Supervisor.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		if err := sys.Close(); err != nil {
			t.Error(err)
		}
	}
	if all, err := instance.List(dir); err != nil || len(all) != 0 {
		t.Errorf("closed: %+v, %v", all, err)
	}
}

// What was opened before something failed is closed again.
func TestOpenFails(t *testing.T) {
	cfg := config.Default(false, t.TempDir(), "")
	dir := filepath.Join(cfg.DataDir, InstancesDir)
	for name, tt := range map[string]struct {
		breaks func() error
		want   string
	}{
		"the engine's address": {func() error { t.Setenv("DOCKER_HOST", "nonsense://"); return nil }, "nonsense"},
		"the journal":          {func() error { return os.MkdirAll(cfg.JournalPath(), 0o700) }, "journal"},
		"the instances": {func() error {
			_ = os.RemoveAll(dir)
			return os.WriteFile(dir, nil, 0o600)
		}, "is not a folder: remove it"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg = config.Default(false, t.TempDir(), "")
			dir = filepath.Join(cfg.DataDir, InstancesDir)
			if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := tt.breaks(); err != nil {
				t.Fatal(err)
			}
			sys, err := Open(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler)})
			if err == nil || sys != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if all, err := instance.List(dir); err == nil && len(all) != 0 {
				t.Errorf("left: %+v", all)
			}
		})
	}
}

// Locks lie in nobody's folder who could take them away.
func TestWhoseFolderOfLocks(t *testing.T) {
	dir := t.TempDir()
	own, link := filepath.Join(dir, "own"), filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(own, 0o700), os.Symlink(own, link)); err != nil {
		t.Fatal(err)
	}
	if !trusted(own) || trusted(link) || trusted(filepath.Join(dir, "none")) {
		t.Errorf("own %v, a link %v, none %v", trusted(own), trusted(link), trusted(filepath.Join(dir, "none")))
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(own, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if trusted(own) {
		t.Error("another user's")
	}
}
