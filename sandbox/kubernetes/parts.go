package kubernetes

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hotcell/hotcell/sandbox"
)

// treeStore lets one tree at a time be made, and knows which have the content that they should have. Whoever may make ConfigMaps in the
// namespace could have made one of a tree's name before this did.
type treeStore struct {
	turn
	known map[string]knownTree // by the name of a tree's ConfigMaps
}

// knownTree is a tree whose ConfigMaps have been read. They are immutable: another content is another object.
type knownTree struct {
	first types.UID // of the first part
	parts int
}

// shape is a way in which a tree is kept in ConfigMaps.
type shape struct {
	name string                                  // of them, without their numbers
	make func() ([]*corev1.ConfigMap, error)     // all of them
	same func(is, want []map[string][]byte) bool // whether two contents are one tree
}

// ensure returns how many parts a tree has, all of which are there and have its content. The first one is made last and removed first.
func (d *Driver) ensure(ctx context.Context, t sandbox.Tree, s shape) (int, error) {
	if err := d.trees.take(ctx); err != nil {
		return 0, err
	}
	defer d.trees.leave()
	var first metav1.PartialObjectMetadata
	err := d.api.meta(ctx, d.api.in(core, "configmaps", partName(s.name, 0)), &first)
	if err != nil && !apierrors.IsNotFound(err) {
		return 0, d.explain(ctx, "look for tree "+t.Name, err)
	}
	if k := d.trees.known[s.name]; err == nil && k.parts > 0 && k.first == first.UID {
		return k.parts, nil
	}
	want, werr := s.make()
	if werr != nil {
		return 0, werr
	}
	n := len(want)
	if err == nil {
		n, _ = strconv.Atoi(first.Annotations[labelParts])
	}
	k, err := d.readParts(ctx, t, s, want, n)
	if err != nil {
		return 0, err
	}
	d.trees.known[s.name] = k
	return n, nil
}

// readParts reads a tree of n parts, makes those of them that are missing, and compares them with what they should be. An archive may have
// been packed by another hotcell, which does so in another way.
func (d *Driver) readParts(ctx context.Context, t sandbox.Tree, s shape, want []*corev1.ConfigMap, n int) (k knownTree, err error) {
	differs := func(name string) error {
		return fmt.Errorf("tree %s: ConfigMap %s in namespace %s is not what hotcell makes: somebody else has made it: see who may make ConfigMaps there, and delete it: %w", t.Name, name, d.api.namespace, sandbox.ErrUnavailable)
	}
	if n < 1 || n > maxParts {
		return k, differs(partName(s.name, 0))
	}
	is, should := make([]map[string][]byte, n), make([]map[string][]byte, len(want))
	for i := range want {
		should[i] = want[i].BinaryData
	}
	for i := n - 1; i >= 0; i-- {
		m := &corev1.ConfigMap{}
		name := partName(s.name, i)
		err := d.api.get(ctx, d.api.in(core, "configmaps", name), nil, m)
		if apierrors.IsNotFound(err) && n == len(want) {
			err = d.api.post(ctx, d.api.in(core, "configmaps"), want[i], m)
			if apierrors.IsAlreadyExists(err) { // another supervisor was faster
				err = d.api.get(ctx, d.api.in(core, "configmaps", name), nil, m)
			}
		}
		if err != nil {
			return k, d.explain(ctx, "make part "+strconv.Itoa(i)+" of tree "+t.Name, err)
		}
		if m.Immutable == nil || !*m.Immutable || len(m.Data) > 0 || m.Annotations[sandbox.LabelDigest] != t.Digest {
			return k, differs(name)
		}
		is[i], k = m.BinaryData, knownTree{first: m.UID, parts: n}
	}
	if !s.same(is, should) {
		return k, differs(s.name + "-*")
	}
	return k, nil
}

// sameFiles reports whether ConfigMaps hold the same files.
func sameFiles(is, want []map[string][]byte) bool {
	if len(is) != len(want) {
		return false
	}
	for i := range is {
		if !maps.EqualFunc(is[i], want[i], bytes.Equal) {
			return false
		}
	}
	return true
}

// sameArchive reports whether the parts of two archives unpack to the same.
func sameArchive(is, want []map[string][]byte) bool {
	if sameFiles(is, want) {
		return true
	}
	has, err := unpacked(is)
	if err != nil {
		return false
	}
	should, err := unpacked(want)
	if err != nil {
		return false
	}
	a, b := make([]byte, 32<<10), make([]byte, 32<<10)
	for {
		n, err := io.ReadFull(has, a)
		m, werr := io.ReadFull(should, b)
		if n != m || !bytes.Equal(a[:n], b[:m]) || err != werr {
			return false
		}
		if err != nil {
			return err == io.EOF || err == io.ErrUnexpectedEOF
		}
	}
}

// unpacked reads an archive whose parts have one entry each, which says which one it is.
func unpacked(parts []map[string][]byte) (io.Reader, error) {
	var all []io.Reader
	for i, p := range parts {
		data, there := p[partKey(i)]
		if !there || len(p) != 1 {
			return nil, fmt.Errorf("part %d has %d entries", i, len(p))
		}
		all = append(all, bytes.NewReader(data))
	}
	return gzip.NewReader(io.MultiReader(all...))
}

func partKey(i int) string { return fmt.Sprintf("%04d", i) }
