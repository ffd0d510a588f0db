package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
)

// enclosures tells apart the groups of raw containers.
var enclosures atomic.Int64

// around is the control group that a raw loop puts around each of its containers, with the limit that hotcell's has: it is
// what tells afterwards whether memory ran out, for the container's own is gone with it.
type around struct{ name string }

// trees are the folders where control groups are made: with cgroup v1 there is one for each controller.
var trees = sync.OnceValue(func() (all []string) {
	const top = "/sys/fs/cgroup"
	if _, err := os.Stat(top + "/cgroup.controllers"); err == nil {
		return []string{top}
	}
	found, _ := filepath.Glob(top + "/*") // it fails for bad patterns alone
	for _, dir := range found {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() { // and no link to another
			all = append(all, dir)
		}
	}
	return all
})

// enclose makes a group with a limit in bytes. The engine or the runtime makes it where it has none.
func enclose(limit int64) (around, error) {
	a := around{fmt.Sprintf("%d-%d", os.Getpid(), enclosures.Add(1))}
	tree, file := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if len(trees()) == 1 {
		tree, file = trees()[0], "memory.max"
	}
	dir := filepath.Join(tree, a.path())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return a, err
	}
	if len(trees()) == 1 {
		if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"), []byte("+memory"), 0); err != nil {
			return a, errors.Join(err, a.remove())
		}
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(strconv.FormatInt(limit, 10)), 0); err != nil {
		return a, errors.Join(err, a.remove())
	}
	return a, nil
}

func (a around) path() string { return "/" + rawGroup + "/" + a.name }

// remove removes the group, if it is one. It must be empty.
func (a around) remove() (err error) {
	if a.name == "" {
		return nil
	}
	for _, tree := range trees() {
		if e := os.Remove(filepath.Join(tree, a.path())); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// enclosed has a peer's end remove its group too.
func (p *peer) enclosed(a around) *peer {
	end := p.end
	p.end = func(ctx context.Context) error { return errors.Join(end(ctx), a.remove()) }
	return p
}
