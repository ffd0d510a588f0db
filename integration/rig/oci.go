package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/images/layout"
	"github.com/hotcell/hotcell/sandbox/oci"
)

// EnvDriver names the environment variable that has all cells of a rig made by another driver than docker: "oci", "kubernetes".
const EnvDriver = "HOTCELL_DRIVER"

// withoutEngine has a rig's cells made by the driver oci. Images are the engine's all the same, taken over when they are
// first asked for.
func withoutEngine(r *Rig, cfg *executor.Config, opts Options) error {
	dir, err := os.MkdirTemp("", "hotcell-rig-")
	if err != nil {
		return err
	}
	store, err := layout.New(layout.Options{Dir: filepath.Join(dir, "images")})
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	driver, err := oci.New(oci.Options{
		Instance: opts.Instance, DataDir: filepath.Join(dir, "data"), RunDir: filepath.Join(dir, "run"), Rootfs: store.Rootfs,
		Log: opts.Log, Cgroup: opts.Cgroup,
	})
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	cfg.Driver, cfg.Images = driver, &saved{Store: store}
	r.Cells, r.Folder = driver, dir
	r.end = func() error { return errors.Join(driver.Close(), os.RemoveAll(dir)) }
	r.shoot = func(_ context.Context, id string) error {
		instance, name, _ := strings.Cut(id, ".")
		text, err := os.ReadFile(filepath.Join(dir, "run", instance, name, "state", id, "state.json")) // runc's
		if err != nil {
			return err
		}
		var state struct {
			PID int `json:"init_process_pid"`
		}
		if err := json.Unmarshal(text, &state); err != nil || state.PID < 2 {
			return fmt.Errorf("process id %d of %s: %w", state.PID, id, err)
		}
		return syscall.Kill(state.PID, syscall.SIGKILL)
	}
	r.describe = func(_ context.Context, id string) ([]byte, error) {
		instance, name, _ := strings.Cut(id, ".")
		return os.ReadFile(filepath.Join(dir, "run", instance, name, "config.json"))
	}
	return nil
}

// Describe returns what a cell is, as JSON in the words of what made it: `docker inspect`, or the bundle's config.json.
func (r *Rig) Describe(ctx context.Context, id string) ([]byte, error) { return r.describe(ctx, id) }

func dockerInspect(ctx context.Context, id string) ([]byte, error) {
	return exec.CommandContext(ctx, "docker", "inspect", id).Output()
}

// Shoot kills a cell's first process from outside, behind the supervisor's back.
func (r *Rig) Shoot(ctx context.Context, id string) error { return r.shoot(ctx, id) }

func dockerKill(ctx context.Context, id string) error {
	if out, err := exec.CommandContext(ctx, "docker", "kill", id).CombinedOutput(); err != nil {
		return fmt.Errorf("docker kill: %w %s", err, out)
	}
	return nil
}

// Engineless reports whether the driver oci makes the cells of rigs.
func Engineless() bool { return os.Getenv(EnvDriver) == "oci" }

// saved takes images over from the engine.
type saved struct {
	*layout.Store
	give func(ctx context.Context, what, archive string) error // them to whoever needs them too; may be nil

	mu sync.Mutex
}

func (s *saved) Resolve(ctx context.Context, ref string, pull images.PullPolicy) (images.Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	img, err := s.Store.Resolve(ctx, ref, pull)
	var gone *images.UnavailableError
	if !errors.As(err, &gone) {
		return img, err
	}
	dir, tempErr := os.MkdirTemp("", "hotcell-saved-")
	if tempErr != nil {
		return images.Image{}, tempErr
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "image.tar")
	if exec.CommandContext(ctx, "docker", "save", "-o", path, ref).Run() != nil { // the engine has none
		return images.Image{}, err
	}
	if err := s.take(ctx, ref, path); err != nil {
		return images.Image{}, fmt.Errorf("import %s: %w", ref, err)
	}
	return s.Store.Resolve(ctx, ref, pull)
}

func (s *saved) take(ctx context.Context, ref, path string) error {
	name := ref
	if strings.HasPrefix(ref, "sha256:") {
		name = "by-id/" + strings.TrimPrefix(ref, "sha256:")[:12] + ":1"
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	all, err := s.Import(ctx, f, name)
	if err != nil || s.give == nil || len(all) == 0 {
		return err
	}
	return s.give(ctx, ref+" "+all[0].ID, path)
}
