package kubernetes

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hotcell/hotcell/sandbox"
)

// How a tree travels: as a tar under gzip, in ConfigMaps of which each holds a part. A cluster keeps no more than 1 MiB in
// one of them.
const (
	partSize = 900 << 10
	maxParts = 16
)

const (
	labelTree  = "hotcell.tree"  // the name of the tree that a ConfigMap holds
	labelParts = "hotcell.parts" // of how many parts
)

func treeName(t sandbox.Tree) string { return "hotcell-tree-" + t.Name + "-" + t.Digest[:16] }

func partName(tree string, part int) string { return fmt.Sprintf("%s-%d", tree, part) }

// mountTrees makes the ConfigMaps of a spec's trees where they are missing, and adds them to the pod.
func (d *Driver) mountTrees(ctx context.Context, spec *sandbox.Spec, p *plan) error {
	if p.load != nil {
		for _, t := range spec.Trees {
			if err := d.ensureFiles(ctx, t, p.pod.Spec.NodeSelector[archSelector]); err != nil {
				return err
			}
		}
		return nil
	}
	pod := p.pod
	for i, t := range spec.Trees {
		if inImage(t) {
			continue
		}
		n, err := d.ensureTree(ctx, t)
		if err != nil {
			return err
		}
		name, mode := fmt.Sprintf("tree-%d", i), int32(0o444)
		source := &corev1.ProjectedVolumeSource{DefaultMode: &mode}
		for part := range n {
			source.Sources = append(source.Sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: partName(treeName(t), part)},
			}})
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "parts-" + name, VolumeSource: corev1.VolumeSource{Projected: source}})
		c := &pod.Spec.InitContainers[0]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "parts-" + name, MountPath: partsDir + name, ReadOnly: true})
	}
	return nil
}

// ensureTree returns how many parts a packed tree has.
func (d *Driver) ensureTree(ctx context.Context, t sandbox.Tree) (int, error) {
	return d.ensure(ctx, t, shape{name: treeName(t), same: sameArchive, make: func() ([]*corev1.ConfigMap, error) {
		packed, err := pack(t)
		if err != nil {
			return nil, err
		}
		var parts []*corev1.ConfigMap
		for i, data := range packed {
			parts = append(parts, part(t, treeName(t), i, len(packed), map[string][]byte{partKey(i): data}))
		}
		return parts, nil
	}})
}

// part is a part of a tree in ConfigMaps of some name.
func part(t sandbox.Tree, name string, i, of int, data map[string][]byte) *corev1.ConfigMap {
	yes := true
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        partName(name, i),
			Labels:      map[string]string{sandbox.LabelManaged: "1", sandbox.LabelKind: kindVolume, sandbox.LabelDigest: t.Digest[:63], labelTree: t.Name},
			Annotations: map[string]string{sandbox.LabelDigest: t.Digest, labelParts: strconv.Itoa(of)},
		},
		Immutable:  &yes,
		BinaryData: data,
	}
}

// errTooLarge stops the packing of a tree that does not fit.
var errTooLarge = errors.New("too large")

// pack returns a tree as the parts of an archive. Equal trees have equal parts.
func pack(t sandbox.Tree) ([][]byte, error) {
	out := &capped{most: maxParts * partSize}
	zw := gzip.NewWriter(out)
	tw := tar.NewWriter(zw)
	err := fs.WalkDir(t.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		return packOne(tw, t.FS, name, e)
	})
	err = errors.Join(err, tw.Close(), zw.Close())
	if errors.Is(err, errTooLarge) {
		return nil, unsupported("tree %s: it takes more than %d MiB packed, which is what ConfigMaps carry here: put large files into an image", t.Name, maxParts*partSize>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", t.Name, err)
	}
	var parts [][]byte
	for data := out.Bytes(); len(data) > 0; {
		n := min(len(data), partSize)
		parts, data = append(parts, data[:n]), data[n:]
	}
	return parts, nil
}

func packOne(tw *tar.Writer, tree fs.FS, name string, e fs.DirEntry) error {
	info, err := e.Info()
	if err != nil {
		return err
	}
	if e.IsDir() {
		return tw.WriteHeader(&tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755})
	}
	if !info.Mode().IsRegular() {
		return unsupported("tree file %q is neither a file nor a folder", name)
	}
	f, err := tree.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := tw.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: int64(info.Mode().Perm()), Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(tw, f)
	return err
}

// capped is a buffer that takes so much and no more.
type capped struct {
	bytes.Buffer
	most int
}

func (c *capped) Write(p []byte) (int, error) {
	if c.Len()+len(p) > c.most {
		return 0, errTooLarge
	}
	return c.Buffer.Write(p)
}

// removeTree deletes all parts of a tree that no pod reads, the first one first. Of one that is not whole any may be missing.
func (d *Driver) removeTree(ctx context.Context, tree string) error {
	reads, err := d.readBy(ctx, tree)
	if err != nil {
		return err
	}
	if reads != "" {
		return fmt.Errorf("remove %s: pod %s reads it", tree, reads)
	}
	for i := range maxParts {
		err := d.api.remove(ctx, d.api.in(core, "configmaps", partName(tree, i)), "", nil)
		if err != nil && !apierrors.IsNotFound(err) {
			return d.explain(ctx, "remove "+tree, err)
		}
	}
	return nil
}

// readBy names a pod that a tree is mounted into and that has not ended; "": there is none. A cluster removes a ConfigMap that a pod
// is about to mount, and the pod never starts.
func (d *Driver) readBy(ctx context.Context, tree string) (pod string, err error) {
	var pods corev1.PodList
	if err := d.api.get(ctx, d.api.in(core, "pods"), url.Values{"labelSelector": {ofKinds(kindCell)}}, &pods); err != nil {
		return "", d.explain(ctx, "look who reads "+tree, err)
	}
	first := partName(tree, 0)
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, v := range p.Spec.Volumes {
			if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ConfigMap != nil && s.ConfigMap.Name == first }) {
				return p.Name, nil
			}
		}
	}
	return "", nil
}
