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

	"github.com/hotcell/hotcell/sandbox/cgroup"
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

// bundles starts `runc run` on copies of the bundle that hotcell makes for a cell of a skill: alone, or each in a group as
// hotcell's are.
func (y *yard) bundles(skill string, grouped bool) starter {
	var form *bundleForm
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
		name, parent, group := fmt.Sprintf("hotcell-bench-%d-%d", os.Getpid(), serial.Add(1)), "/"+rawGroup, around{}
		if grouped {
			if group, err = enclose(form.memory - cgroup.Slack); err != nil {
				return nil, err
			}
			parent = group.path()
		}
		if err := os.WriteFile(filepath.Join(dir, "config.json"), form.personal(parent+"/"+name), 0o600); err != nil {
			return nil, errors.Join(err, group.remove())
		}
		p, err := command(exec.CommandContext(ctx, path, "--root", filepath.Join(dir, "state"), "run", "--bundle", dir, name))
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir), group.remove())
		}
		end := p.end
		p.end = func(ctx context.Context) error { return errors.Join(end(ctx), os.RemoveAll(dir)) }
		return p.enclosed(group), nil
	}
}

// bundle reads what hotcell wrote for a cell that waits.
func (y *yard) bundle(ctx context.Context, skill string) (*bundleForm, error) {
	s, err := y.site(onOCI, true)
	if err != nil {
		return nil, err
	}
	if err := s.stocked(ctx, skill); err != nil {
		return nil, err
	}
	instance, name, _ := strings.Cut(s.Pool.Waiting(names[skill])[0], ".")
	text, err := os.ReadFile(filepath.Join(s.Folder, "run", instance, name, "config.json"))
	if err != nil {
		return nil, err
	}
	return newForm(text)
}

// bundleForm is a bundle with another's control group and user id.
type bundleForm struct {
	text, group, user string
	memory            int64
}

func newForm(text []byte) (*bundleForm, error) {
	var spec struct {
		Process struct {
			User struct {
				UID int `json:"uid"`
			} `json:"user"`
		} `json:"process"`
		Linux struct {
			CgroupsPath string `json:"cgroupsPath"`
			Resources   struct {
				Memory struct {
					Limit int64 `json:"limit"`
				} `json:"memory"`
			} `json:"resources"`
		} `json:"linux"`
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, err
	}
	return &bundleForm{string(text), spec.Linux.CgroupsPath, fmt.Sprint(spec.Process.User.UID), spec.Linux.Resources.Memory.Limit}, nil
}

// personal is the bundle with a control group and a user id of its own.
func (f *bundleForm) personal(group string) []byte {
	return []byte(strings.NewReplacer(f.group, group, f.user, nextUser()).Replace(f.text))
}
