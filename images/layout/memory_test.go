package layout

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hotcell/hotcell/images"
)

// What is remembered of a reference is what another process made of it last, and nobody changes it in the memory.
func TestMemoryFollowsTheIndex(t *testing.T) {
	ctx := t.Context()
	one := newStore(t)
	two, err := New(Options{Dir: one.dir})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for n := range 3 {
		layer := tarOf(t, file{name: "a", data: fmt.Sprint(n)})
		conf := config(t, layer)
		if _, err := two.Import(ctx, bytes.NewReader(saved(t, "test/image:1", conf, layer)), ""); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, "sha256:"+digest(conf))
		age(t, one)
		for range 3 {
			img, err := one.Resolve(ctx, "test/image:1", images.PullNever)
			if err != nil || img.ID != ids[n] {
				t.Fatalf("import %d: %v, %v, want %s", n, img.ID, err, ids[n])
			}
			img.Env[0] = "changed by who asked"
			if again, _ := one.Resolve(ctx, "test/image:1", images.PullNever); again.Env[0] == img.Env[0] {
				t.Fatal("who asks writes into the memory")
			}
		}
	}
	if now, good := stampOf(one.indexFile()); !good || now != one.memory.index || len(one.memory.known) != 1 {
		t.Errorf("remembered %v of %v, it is %v", one.memory.known, one.memory.index, now)
	}
	if err := two.Remove(ctx, "test/image:1"); err != nil {
		t.Fatal(err)
	}
	var unavailable *images.UnavailableError
	if img, err := one.Resolve(ctx, "test/image:1", images.PullNever); !errors.As(err, &unavailable) {
		t.Errorf("after it was removed: %v, %v", img, err)
	}
}

// A tree that is gone is not here, whatever the index says.
func TestMemoryLooksForTheTree(t *testing.T) {
	s := newStore(t)
	layer := tarOf(t, file{name: "a", data: "1"})
	conf := config(t, layer)
	if _, err := s.Import(t.Context(), bytes.NewReader(saved(t, "test/image:1", conf, layer)), ""); err != nil {
		t.Fatal(err)
	}
	age(t, s)
	first, err := s.Resolve(t.Context(), "test/image:1", images.PullNever)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Resolve(t.Context(), "test/image:1", images.PullNever)
	if d := cmp.Diff(first, second); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	if err := os.Rename(s.rootfs(first.ID), s.rootfs(first.ID)+".away"); err != nil {
		t.Fatal(err)
	}
	var unavailable *images.UnavailableError
	if _, err := s.Resolve(t.Context(), "test/image:1", images.PullNever); !errors.As(err, &unavailable) {
		t.Errorf("without its tree: %v", err)
	}
}

// An index that was written just now may be written again with the same stamp, so nothing is remembered of it; and no more is
// remembered than fits.
func TestMemoryIsBoundedAndCareful(t *testing.T) {
	s := newStore(t)
	layer := tarOf(t, file{name: "a", data: "1"})
	conf := config(t, layer)
	if _, err := s.Import(t.Context(), bytes.NewReader(saved(t, "test/image:1", conf, layer)), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Resolve(t.Context(), "test/image:1", images.PullNever); err != nil {
		t.Fatal(err)
	}
	if _, good := stampOf(s.indexFile()); !good && len(s.memory.known) > 0 {
		t.Errorf("remembered %v of an index that was written just now", s.memory.known)
	}
	age(t, s)
	now, _ := stampOf(s.indexFile())
	for n := range maxKnown + 10 {
		s.memory.keep(now, fmt.Sprint("test/image:", n), images.Image{})
	}
	if len(s.memory.known) > maxKnown {
		t.Errorf("%d are remembered, at most %d should be", len(s.memory.known), maxKnown)
	}
}

// age waits until the index is old enough to go by.
func age(t *testing.T, s *Store) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if _, good := stampOf(s.indexFile()); good {
			return
		}
	}
	t.Fatal("the index does not grow old")
}
