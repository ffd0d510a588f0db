package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/hotcell/hotcell/internal/cleanup"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Create makes the root and the trees of the spec where they are missing, the cell's folder and its control group. No
// runtime runs yet.
func (d *Driver) Create(ctx context.Context, spec *sandbox.Spec) (sandbox.Sandbox, error) {
	if err := d.Ping(ctx); err != nil {
		return nil, err
	}
	p, err := pick(d.found, spec.Runtime)
	if err != nil {
		return nil, err
	}
	bundle, points, err := convert(spec)
	if err != nil {
		return nil, err
	}
	d.cache.clear()
	c, err := d.prepare(spec, p, bundle, points)
	if err != nil {
		return nil, fmt.Errorf("create cell %s: %w", spec.Name, err)
	}
	d.mu.Lock()
	d.cells[c.id] = c
	d.mu.Unlock()
	return c, nil
}

// prepare makes a cell, or nothing.
func (d *Driver) prepare(spec *sandbox.Spec, p program, bundle *specs.Spec, points []point) (c *cell, err error) {
	var undo cleanup.Stack
	defer func() {
		if err != nil {
			c, err = nil, errors.Join(err, undo.Run(context.Background(), undoLimit))
		}
	}()
	release, err := d.cache.hold(false)
	if err != nil {
		return nil, err
	}
	defer release()
	uses, err := d.fill(spec, bundle, points)
	if err != nil {
		return nil, err
	}
	c = newCell(d, spec.Name, p)
	if err := c.dir.make(); err != nil {
		return nil, err
	}
	undo.Add("folder", func(context.Context) error { return c.dir.remove() })
	limit := *bundle.Linux.Resources.Memory.Limit - cgroup.Slack
	if c.group = d.groups.Enclose(spec.Name, limit); c.group == nil {
		return nil, unavailable("no control group can be made around it: %s", d.groups.Why())
	}
	undo.Add("control group", func(context.Context) error { return c.group.Remove() })
	bundle.Linux.CgroupsPath = path.Join(c.group.Path(), c.id)
	c.limits = limitsOf(bundle.Linux.Resources)
	text, err := json.Marshal(bundle)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(c.dir.config(), text, 0o600); err != nil { // for the runtime, which comes later
		return nil, err
	}
	return c, writeJSON(c.dir.record(), record{Labels: d.labels(spec.Labels), Created: time.Now(), Uses: uses})
}

const undoLimit = 10 * time.Second

// fill makes sure that a bundle's root and trees are there, and puts their places into it.
func (d *Driver) fill(spec *sandbox.Spec, bundle *specs.Spec, points []point) (uses []string, err error) {
	if bundle.Root.Path, err = d.root(spec.Image.ID, points); err != nil {
		return nil, err
	}
	uses = append(uses, bundle.Root.Path)
	for _, t := range spec.Trees {
		dir, err := d.tree(t)
		if err != nil {
			return nil, fmt.Errorf("tree %s: %w", t.Name, err)
		}
		for i, m := range bundle.Mounts {
			if m.Type == "bind" && m.Source == t.Digest {
				bundle.Mounts[i].Source = dir
			}
		}
		uses = append(uses, dir)
	}
	return uses, nil
}

func (f folder) make() error {
	if err := os.MkdirAll(filepath.Dir(string(f)), 0o700); err != nil {
		return err
	}
	err := os.Mkdir(string(f), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("there is one of that name: %w", err)
	}
	return err
}

func limitsOf(r *specs.LinuxResources) cgroup.Limits {
	l := cgroup.Limits{Memory: *r.Memory.Limit, PIDs: *r.Pids.Limit}
	if r.CPU != nil && r.CPU.Quota != nil {
		l.Quota, l.Period = *r.CPU.Quota, int64(*r.CPU.Period)
	}
	return l
}
