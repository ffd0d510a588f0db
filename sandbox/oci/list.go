package oci

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
	"github.com/hotcell/hotcell/sandbox/demands"
	"golang.org/x/sys/unix"
)

// treePrefix begins the ids of one kind of folders of the cache.
const treePrefix = "tree:"

// shelves are the kinds of folders of the cache. Which of the shipped trees are bundles is not known.
func shelves() []struct{ prefix, kind, tree string } {
	return []struct{ prefix, kind, tree string }{
		{treePrefix, kindTree, sandbox.TreeBundle}, {"custom:", kindCustom, sandbox.TreeCustom}, {"root:", kindRoot, ""},
	}
}

// List returns the cells of all instances on this host, the folders of the cache, and the control groups that no cell
// belongs to.
func (d *Driver) List(ctx context.Context) ([]sandbox.Listed, error) {
	groups := d.groups.List() // before the cells, so that one that is being made is not taken for a leftover
	out, err := d.listCells(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range shelves() {
		cached, err := d.listCache(s.prefix, s.kind, s.tree)
		if err != nil {
			return nil, err
		}
		out = append(out, cached...)
	}
	return append(out, abandoned(groups, out)...), nil
}

func (d *Driver) listCells(ctx context.Context) ([]sandbox.Listed, error) {
	var out []sandbox.Listed
	err := d.eachFolder(func(instance, name string, f folder) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("list cells: %w", context.Cause(ctx))
		}
		r, err := f.readRecord()
		if err != nil || r.Labels == nil { // its supervisor has not come further, or died there
			info, err := os.Stat(string(f))
			if err != nil {
				return nil // removed meanwhile
			}
			r = record{Labels: map[string]string{sandbox.LabelInstance: instance, sandbox.LabelKind: "cell"}, Created: info.ModTime()}
		}
		r.Labels[sandbox.LabelInstance] = instance
		out = append(out, sandbox.Listed{
			ID: instance + "." + name, Kind: "cell", Name: name, State: f.stateOf(), Labels: r.Labels, Created: r.Created,
		})
		return nil
	})
	return out, err
}

// eachFolder visits the cells' folders of all instances.
func (d *Driver) eachFolder(visit func(instance, name string, f folder) error) error {
	instances, err := os.ReadDir(d.run)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, i := range instances {
		if !i.IsDir() || !instancePattern.MatchString(i.Name()) {
			continue
		}
		cells, err := os.ReadDir(filepath.Join(d.run, i.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, c := range cells {
			if !c.IsDir() || !demands.Name.MatchString(c.Name()) {
				continue
			}
			if err := visit(i.Name(), c.Name(), d.folder(i.Name(), c.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Driver) listCache(prefix, kind, tree string) ([]sandbox.Listed, error) {
	entries, err := os.ReadDir(filepath.Join(d.cache.dir, kind))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []sandbox.Listed
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !digestPattern.MatchString(e.Name()) {
			continue
		}
		out = append(out, sandbox.Listed{
			ID: prefix + e.Name(), Kind: "volume", Name: prefix + e.Name()[:12], Tree: tree, Created: info.ModTime(),
			Labels: map[string]string{sandbox.LabelManaged: "1", sandbox.LabelKind: "volume", sandbox.LabelDigest: e.Name()},
		})
	}
	return out, nil
}

// abandoned are the groups that no listed cell is in.
func abandoned(groups, listed []sandbox.Listed) []sandbox.Listed {
	return slices.DeleteFunc(groups, func(g sandbox.Listed) bool {
		return slices.ContainsFunc(listed, func(c sandbox.Listed) bool {
			instance := c.Labels[sandbox.LabelInstance]
			return c.Kind == "cell" && g.Labels[sandbox.LabelInstance] == instance &&
				(g.Name == c.Name || path.Base(path.Dir(g.ID)) != instance) // or the instance's own group
		})
	})
}

// Remove destroys what [Driver.List] showed under id. A folder of the cache that a cell uses is not removed: that is an
// error.
func (d *Driver) Remove(ctx context.Context, id string) error {
	if strings.HasPrefix(id, cgroup.ListPrefix) {
		return d.groups.Drop(id)
	}
	for _, s := range shelves() {
		if key, ok := strings.CutPrefix(id, s.prefix); ok {
			if !digestPattern.MatchString(key) {
				return fmt.Errorf("remove %q: expected hex sha-256: %w", id, sandbox.ErrNotFound)
			}
			return d.cache.drop(s.kind, key, d.inUse)
		}
	}
	d.mu.Lock()
	ours := d.cells[id]
	d.mu.Unlock()
	if ours != nil {
		return ours.Destroy(ctx)
	}
	instance, name, ok := strings.Cut(id, ".")
	if !ok || !instancePattern.MatchString(instance) || !demands.Name.MatchString(name) {
		return fmt.Errorf("remove %q: expected what List showed: %w", id, sandbox.ErrNotFound)
	}
	return d.bury(ctx, instance, name)
}

// bury removes a cell of another supervisor, or of this one's former life.
func (d *Driver) bury(ctx context.Context, instance, name string) error {
	f := d.folder(instance, name)
	if p, err := f.process(); err == nil {
		if err := p.kill(ctx, d.limits.Kill); err != nil {
			return fmt.Errorf("remove cell %s: %w", name, err)
		}
	}
	if err := d.groups.Release(instance, name); err != nil { // which kills what is left
		return err
	}
	if err := f.remove(); err != nil {
		return err
	}
	if instance != d.instance {
		_ = os.Remove(filepath.Dir(string(f))) // stays while there are other cells in it
	}
	return nil
}

// kill ends a process that is another's child, and waits for its end.
func (p process) kill(ctx context.Context, limit time.Duration) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return nil // it is gone
	}
	defer func() { _ = unix.Close(fd) }()
	if p.birth == "" || !p.lives() { // looked up after the pidfd was opened: the number is not another's
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return os.NewSyscallError("pidfd_send_signal", err)
	}
	for end := time.Now().Add(limit); p.lives(); {
		if time.Now().After(end) || ctx.Err() != nil {
			return fmt.Errorf("process %d does not die", p.pid)
		}
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
	}
	return nil
}

// inUse reports whether a cell of any instance mounts a folder of the cache.
func (d *Driver) inUse(path string) (bool, error) {
	used := false
	err := d.eachFolder(func(_, _ string, f folder) error {
		r, err := f.readRecord()
		used = used || err == nil && slices.Contains(r.Uses, path)
		return nil
	})
	return used, err
}
