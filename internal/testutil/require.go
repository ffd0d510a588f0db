package testutil

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// EnvRequire names the environment variable that lists, comma-separated, the parts that must be on this machine: where
// one of them is missing a test fails instead of being skipped, so that a skip can't hide in CI.
const EnvRequire = "HOTCELL_REQUIRE"

// probeTimeout bounds the look for one part. A part that takes longer to show itself counts as missing.
const probeTimeout = 20 * time.Second

// probe returns nil when the part is there, and otherwise says what is missing and what to do.
type probe func(ctx context.Context) error

func probes() map[string]probe {
	return map[string]probe{
		"docker":           pingEngine,
		"image-python":     haveImage("hotcell/python:3", "scripts/image-python"),
		"image-word-count": haveImage("hotcell/word-count:1", "scripts/image-word-count"),
		"image-node":       haveImage("hotcell/node-sdks:1", "scripts/image-node"),
		"node-clients":     haveNodeClients,
		"chromium":         haveMade("chromium", "scripts/chromium", "--version"),
		"axe":              haveAxe,
		"dockerd":          haveProgram("dockerd", "--version"),
		"runsc":            haveRuntime("runsc", "scripts/runsc"),
		"runc":             haveProgram("runc", "--version"),
		"crun":             haveCrun,
		"kubernetes":       haveCluster,
		"kube-fault":       haveFaults,
		"cgroups":          haveCgroups,
		"cgroupfs":         haveCgroupfs,
		"go":               canBuild,
		"python3":          haveProgram("python3", "-c", "import json"),
		"curl":             haveProgram("curl", "--version"),
		"postgres":         havePostgres,
		"prometheus":       haveMade("prometheus", "scripts/prometheus", "--version"),
		"promtool":         haveMade("promtool", "scripts/prometheus", "--version"),
		"systemd-analyze":  haveProgram("systemd-analyze", "--version"),
		"linux":            isLinux,
		"amd64":            isAMD64,
		"assembler":        haveAssembler,
		"root":             isRoot,
	}
}

// Require skips the test where the part is not on this machine, and fails it when [EnvRequire] lists the part. The parts
// are docker, dockerd (the program, for an engine of a test's own), image-python, image-word-count, image-node, node-clients, chromium, axe
// (axe-core's file), runsc, runc and crun (the programs; crun on a host that it doesn't refuse), cgroups (that can be made),
// cgroupfs (the engine's driver of them), kubernetes (a cluster that answers, and a way to give it images), kube-fault (a way to disturb it), go, python3, curl,
// postgres (the server's programs), prometheus, promtool, systemd-analyze, linux, amd64, assembler (as and objcopy) and root; any other name is a fatal error, also
// within the variable.
func Require(t testing.TB, part string) {
	t.Helper()
	require(t, probes(), part, os.Getenv(EnvRequire))
}

func require(t testing.TB, parts map[string]probe, part, required string) {
	t.Helper()
	look, known := parts[part]
	if !known {
		t.Fatalf("testutil.Require: unknown part %q: expected one of %s", part, names(parts))
	}
	must := false
	for name := range strings.SplitSeq(required, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if _, known := parts[name]; !known {
			t.Fatalf("%s lists the unknown part %q: expected some of %s", EnvRequire, name, names(parts))
		}
		must = must || name == part
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	err := look(ctx)
	switch {
	case err != nil && must:
		t.Fatalf("%s lists %s, but %v", EnvRequire, part, err)
	case err != nil:
		t.Skipf("needs %s: %v", part, err)
	}
}

func names(parts map[string]probe) string {
	var all []string
	for name := range parts {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// haveMade is haveProgram for one that a script brings.
func haveMade(name, script string, args ...string) probe {
	look := haveProgram(name, args...)
	return func(ctx context.Context) error {
		if err := look(ctx); err != nil {
			return fmt.Errorf("%w: run %s", err, script)
		}
		return nil
	}
}

func haveProgram(name string, args ...string) probe {
	return func(ctx context.Context) error {
		if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s does not run: %w %s", name, err, out)
		}
		return nil
	}
}

// haveCrun: crun refuses hosts with both versions of control groups.
func haveCrun(ctx context.Context) error {
	if _, err := os.Stat("/sys/fs/cgroup/unified"); err == nil {
		return errors.New("this host has control groups of both versions, which crun refuses")
	}
	return haveProgram("crun", "--version")(ctx)
}

// canBuild is about [GoBuild].
func canBuild(ctx context.Context) error {
	if os.Getenv(EnvPrebuilt) != "" {
		return nil
	}
	return haveProgram("go", "version")(ctx)
}

func isLinux(context.Context) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("this is %s", runtime.GOOS)
	}
	return nil
}

func isAMD64(context.Context) error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("this is %s", runtime.GOARCH)
	}
	return nil
}

func haveAssembler(ctx context.Context) error {
	return errors.Join(haveProgram("as", "--version")(ctx), haveProgram("objcopy", "--version")(ctx))
}

func isRoot(context.Context) error {
	if uid := os.Geteuid(); uid != 0 {
		return fmt.Errorf("the uid is %d", uid)
	}
	return nil
}
