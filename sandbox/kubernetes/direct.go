package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/hotcell/hotcell/internal/gate"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// A pod can do without its init container, which takes a kubelet a second look and so a second: small trees are files of ConfigMaps, which
// a kubelet itself puts where they belong, and the runner, which is too large for one, comes over the attach. Its place is taken by the
// loader.

// runnerFile is the runner in its tree.
const runnerFile = "runner"

// filesDir is where a volume has a tree's files: a kubelet makes a link of each name at a volume's top.
const filesDir = "t"

// mostFiles is how many files a tree that is not packed may have.
const mostFiles = 200

// direct reports whether the pod needs no init container. One in the runner's own image has one: what runs there may be the runner's
// program itself, which looks around for doctor and the canary, and the loader is not that; and that image is looked at.
func (c *conversion) direct() bool {
	if c.unloaded || slices.Contains(c.empty, c.spec.Image.ID) || gate.Loader(c.arch) == nil || c.spec.Runtime != "" {
		return false
	}
	var load fs.FS
	for _, t := range c.spec.Trees {
		if t.Target == wall.DirEngine || t.FS == nil {
			return false
		}
		if t.Target == wall.DirRunner {
			load = t.FS
		}
		if _, err := c.plainFiles(t); err != nil {
			return false
		}
	}
	c.load = load
	return load != nil
}

// directTrees mounts the trees where the cell has them. Their ConfigMaps are made later.
func (c *conversion) directTrees() error {
	for i, t := range c.spec.Trees {
		name := fmt.Sprintf("tree-%d", i)
		files, err := c.plainFiles(t)
		if err != nil {
			return err
		}
		mode := int32(0o444)
		source := &corev1.ProjectedVolumeSource{DefaultMode: &mode}
		for part, of := range groups(files) {
			m := &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: partName(plainName(t, c.arch), part)}}
			for _, f := range of {
				mode := int32(f.mode.Perm() | 0o444)
				m.Items = append(m.Items, corev1.KeyToPath{Key: f.key, Path: filesDir + "/" + f.name, Mode: &mode})
			}
			source.Sources = append(source.Sources, corev1.VolumeProjection{ConfigMap: m})
		}
		c.volume(name, corev1.VolumeSource{Projected: source})
		c.cell.VolumeMounts = append(c.cell.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: t.Target, SubPath: filesDir, ReadOnly: true})
	}
	return nil
}

// plainFile is a file of a tree on its way into a ConfigMap.
type plainFile struct {
	name, key string
	mode      fs.FileMode
	size      int64
	open      func() (io.ReadCloser, error)
}

var errNotPlain = errors.New("too large, or of another kind, for a ConfigMap's keys")

// plainFiles are a tree's files, in order.
func (c *conversion) plainFiles(t sandbox.Tree) ([]plainFile, error) { return plainFiles(t, c.arch) }

func plainFiles(t sandbox.Tree, arch string) (files []plainFile, err error) {
	empty := map[string]bool{} // folders without a file
	total := int64(0)
	err = fs.WalkDir(t.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if e.IsDir() {
			empty[name] = true
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		f := plainFile{name: name, key: fmt.Sprintf("f%04d", len(files)), mode: info.Mode(), size: info.Size(), open: func() (io.ReadCloser, error) { return t.FS.Open(name) }}
		if t.Target == wall.DirRunner && name == runnerFile {
			loader := gate.Loader(arch)
			f.size, f.open = int64(len(loader)), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(string(loader))), nil }
		}
		if total += f.size; !info.Mode().IsRegular() || f.size > partSize || total > maxParts*partSize || len(files) == mostFiles || len(name) > 1000 || !utf8.ValidString(name) {
			return errNotPlain
		}
		for dir := name; ; {
			i := strings.LastIndexByte(dir, '/')
			if i < 0 {
				break
			}
			dir = dir[:i]
			delete(empty, dir)
		}
		files = append(files, f)
		return nil
	})
	if err == nil && (len(empty) > 0 || len(files) == 0) {
		err = errNotPlain
	}
	return files, err
}

// groups are the files of each ConfigMap.
func groups(files []plainFile) (all [][]plainFile) {
	room := int64(0)
	for _, f := range files {
		if len(all) == 0 || f.size > room {
			all, room = append(all, nil), partSize
		}
		room -= f.size
		all[len(all)-1] = append(all[len(all)-1], f)
	}
	return all
}

// plainName names the ConfigMaps of a tree's files. Those of the runner have the loader, which is not part of the runner's digest.
func plainName(t sandbox.Tree, arch string) string {
	if t.Target == wall.DirRunner {
		return treeName(t) + "-" + short(string(gate.Loader(arch))) + "-files"
	}
	return treeName(t) + "-files"
}

// ensureFiles makes the ConfigMaps of a tree's files where they are missing.
func (d *Driver) ensureFiles(ctx context.Context, t sandbox.Tree, arch string) error {
	name := plainName(t, arch)
	_, err := d.ensure(ctx, t, shape{name: name, same: sameFiles, make: func() ([]*corev1.ConfigMap, error) {
		files, err := plainFiles(t, arch)
		if err != nil {
			return nil, fmt.Errorf("tree %s: %w", t.Name, err)
		}
		of := groups(files)
		var parts []*corev1.ConfigMap
		for i := range of {
			data, err := contents(of[i])
			if err != nil {
				return nil, fmt.Errorf("tree %s: %w", t.Name, err)
			}
			parts = append(parts, part(t, name, i, len(of), data))
		}
		return parts, nil
	}})
	return err
}

func contents(files []plainFile) (map[string][]byte, error) {
	all := make(map[string][]byte)
	for _, f := range files {
		r, err := f.open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(r, f.size+1))
		err = errors.Join(err, r.Close())
		if err == nil && int64(len(data)) != f.size {
			err = fmt.Errorf("%s has another size than it had", f.name)
		}
		if err != nil {
			return nil, err
		}
		all[f.key] = data
	}
	return all, nil
}
