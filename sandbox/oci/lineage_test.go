package oci

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
)

// deadChildren are children of this process that nobody waits for.
func deadChildren() (all []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range stats {
		pid, err := strconv.Atoi(filepath.Base(path))
		if state, _, ok := lookUp(pid); err == nil && ok && state == "Z" && parentOf(pid) == os.Getpid() {
			all = append(all, pid)
		}
	}
	return all
}

// A start that is given up at any moment leaves no process, not even a dead one: a supervisor would run out of numbers.
func (r *real) givenUp(t *testing.T) {
	d := r.driver(t, "test-given-up")
	before := deadChildren() // of other tests
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 40 {
		spec := r.spec("sleep")
		spec.Name = fmt.Sprintf("given-up-%d", i)
		cell, err := d.Create(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(80))*time.Millisecond)
		_ = cell.Start(ctx) // may be quick enough
		cancel()
		if err := cell.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
	}
	left := func() []int {
		return slices.DeleteFunc(deadChildren(), func(pid int) bool { return slices.Contains(before, pid) })
	}
	defer func() {
		for _, pid := range left() {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			t.Logf("left: %s", stat)
		}
	}()
	testutil.Poll(t, 5*time.Second, func() bool { return len(left()) == 0 })
}
