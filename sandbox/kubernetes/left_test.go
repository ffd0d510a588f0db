package kubernetes

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// listed are the ids of what a driver lists of a kind.
func listed(t *testing.T, d *Driver, kind string) []string {
	t.Helper()
	all, err := d.List(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, l := range all {
		if l.Kind == kind {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// owners: what owns a supervisor's pods is listed as the supervisor's, goes with the supervisor where no pod of its is left, and can be
// removed by another, which ends the pods that there still are.
func (r *real) owners(t *testing.T) {
	d := r.open(t, r.options())
	cell := r.begin(t, d)
	all, err := d.List(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	mine := slices.IndexFunc(all, func(l sandbox.Listed) bool {
		return l.Kind == kindInstance && l.Labels[sandbox.LabelInstance] == d.instance
	})
	if mine < 0 || all[mine].Created.IsZero() {
		t.Fatalf("the owner is not listed: %+v", all)
	}
	if err := d.disown(bounded(t)); err != nil || !slices.Contains(listed(t, d, kindInstance), d.ownerName()) {
		t.Errorf("the owner went before its pod: %v", err)
	}
	if err := cell.Destroy(bounded(t)); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	other := r.driver(t)
	if left := listed(t, other, kindInstance); slices.Contains(left, d.ownerName()) {
		t.Errorf("a driver was closed and left its owner: %v", left)
	}

	dead := r.driver(t)
	cell = r.begin(t, dead)
	for range 2 {
		if err := other.Remove(bounded(t), dead.ownerName()); err != nil {
			t.Error(err)
		}
	}
	loses(t, cell, went(sandbox.LossDeleted), "was deleted from the cluster")
}

// treesInUse: a tree that a pod reads is not removed, and one of which parts are missing is listed and removed like any other.
func (r *real) treesInUse(t *testing.T) {
	d := r.driver(t)
	data := make([]byte, 1<<20)
	_, _ = rand.Read(data) // two parts
	tree := sandbox.Tree{
		Name: "test", Digest: fmt.Sprintf("%x", sha256.Sum256(data)), Target: "/skill", FS: fstest.MapFS{"a": {Data: data, Mode: 0o644}},
	}
	spec := r.spec("sleep")
	spec.Trees = []sandbox.Tree{tree}
	cell, err := d.Create(bounded(t), spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(bounded(t), treeName(tree)); err == nil || !strings.Contains(err.Error(), "reads it") {
		t.Errorf("a tree that a pod reads: %v", err)
	}
	if err := cell.Destroy(bounded(t)); err != nil {
		t.Error(err)
	}
	testutil.Kubectl(t, "", "-n", r.namespace, "delete", "configmap", partName(treeName(tree), 0))
	if n := len(slices.DeleteFunc(listed(t, d, kindVolume), func(id string) bool { return id != treeName(tree) })); n != 1 {
		t.Errorf("half a tree is listed %d times", n)
	}
	if err := d.Remove(bounded(t), treeName(tree)); err != nil {
		t.Error(err)
	}
	if left := testutil.Kubectl(t, "", "-n", r.namespace, "get", "configmap", "-l", sandbox.LabelDigest+"="+tree.Digest[:63], "-o", "name"); left != "" {
		t.Errorf("parts are left: %s", left)
	}
}
