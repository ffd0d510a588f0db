package testutil

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// haveCgroups is about control groups for memory that this process may make, of either version.
func haveCgroups(context.Context) error {
	const tree, write = "/sys/fs/cgroup", 2 // W_OK
	controllers, _ := os.ReadFile(tree + "/cgroup.controllers")
	for _, at := range []struct {
		path  string
		there bool
	}{
		{tree + "/memory", isFolder(tree + "/memory")},
		{tree, slices.Contains(strings.Fields(string(controllers)), "memory")},
	} {
		if !at.there {
			continue
		}
		if err := syscall.Access(at.path, write); err != nil {
			return fmt.Errorf("%s can't be written: %w", at.path, err)
		}
		return nil
	}
	return errors.New("no control groups for memory are mounted")
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// haveCgroupfs is about an engine that makes control groups itself, so that they can be below ours.
func haveCgroupfs(ctx context.Context) error {
	text, err := engineGet(ctx, "/info")
	if err != nil {
		return err
	}
	var info struct{ CgroupDriver string }
	if err := json.Unmarshal(text, &info); err != nil {
		return fmt.Errorf("GET /info: %w", err)
	}
	if info.CgroupDriver != "cgroupfs" {
		return fmt.Errorf("the engine's cgroup driver is %q", info.CgroupDriver)
	}
	return nil
}
