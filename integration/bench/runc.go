package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// rawGroup is the control group around all that runs under runc without hotcell.
const rawGroup = "hotcell-bench"

// removeGroups removes it where it is empty: with cgroup v1 there is one for each controller.
func removeGroups() {
	for _, pattern := range []string{"/sys/fs/cgroup/" + rawGroup, "/sys/fs/cgroup/*/" + rawGroup} {
		found, _ := filepath.Glob(pattern) // it fails for bad patterns alone
		for _, dir := range found {
			_ = os.Remove(dir) // another run may be in it
		}
	}
}

// bundles starts `runc run` on copies of the bundle that hotcell makes for a cell of a skill, without what hotcell puts
// around it.
func (y *yard) bundles(skill string) starter {
	var form []byte
	var serial atomic.Int64
	return func(ctx context.Context) (*peer, error) {
		path, err := exec.LookPath("runc")
		if err != nil {
			return nil, absent{"no runc is installed"}
		}
		if form == nil {
			if form, err = y.bundle(ctx, skill); err != nil {
				return nil, err
			}
		}
		dir, err := os.MkdirTemp("", "hotcell-bench-runc-")
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("hotcell-bench-%d-%d", os.Getpid(), serial.Add(1))
		if err := os.WriteFile(filepath.Join(dir, "config.json"), personal(form, name), 0o600); err != nil {
			return nil, err
		}
		p, err := command(exec.CommandContext(ctx, path, "--root", filepath.Join(dir, "state"), "run", "--bundle", dir, name))
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		end := p.end
		p.end = func(ctx context.Context) error { return errors.Join(end(ctx), os.RemoveAll(dir)) }
		return p, nil
	}
}

// bundle reads what hotcell wrote for a cell that waits.
func (y *yard) bundle(ctx context.Context, skill string) ([]byte, error) {
	s, err := y.site(onOCI, true)
	if err != nil {
		return nil, err
	}
	if err := s.stocked(ctx, skill); err != nil {
		return nil, err
	}
	instance, name, _ := strings.Cut(s.Pool.Waiting(names[skill])[0], ".")
	return os.ReadFile(filepath.Join(s.Folder, "run", instance, name, "config.json"))
}

// personal is a bundle with a control group and a user id of its own.
func personal(form []byte, name string) []byte {
	var spec struct {
		Process struct {
			User struct {
				UID int `json:"uid"`
			} `json:"user"`
		} `json:"process"`
		Linux struct {
			CgroupsPath string `json:"cgroupsPath"`
		} `json:"linux"`
	}
	_ = json.Unmarshal(form, &spec) // the driver wrote it
	text := strings.ReplaceAll(string(form), spec.Linux.CgroupsPath, "/"+rawGroup+"/"+name)
	return []byte(strings.ReplaceAll(text, fmt.Sprint(spec.Process.User.UID), nextUser()))
}
