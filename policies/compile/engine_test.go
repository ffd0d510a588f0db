package compile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

const probeImage = "hotcell/python:3"

// The compiled spec on a real engine: Python, its threads, children and sockets work, and what is denied fails.
func TestSpecOnEngine(t *testing.T) { specOnEngine(t, "") }

func TestSpecUnderRunsc(t *testing.T) {
	testutil.Require(t, "runsc")
	specOnEngine(t, "runsc")
}

func specOnEngine(t *testing.T, runtimeName string) {
	testutil.Require(t, "docker")
	testutil.Require(t, "image-python")
	docker, err := exec.LookPath("docker")
	if err != nil {
		t.Fatalf("the engine's command line is not there: %v", err)
	}
	probe, err := os.ReadFile("testdata/probe.py")
	if err != nil {
		t.Fatal(err)
	}
	w := workload()
	w.Arch, w.Image.Volumes = runtime.GOARCH, []string{"/masked"}
	w.Image.Env = nil
	spec := mustCompile(t, narrow(t, policies.Policy{Runtime: runtimeName}, policies.Policy{}, policies.Policy{}), w)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, docker, runArgs(t, spec)...)
	cmd.Args = append(cmd.Args, probeImage, "python3", "-", fmt.Sprint(w.UID))
	cmd.Stdin = bytes.NewReader(probe)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	var bad []string
	if err := json.Unmarshal([]byte(stdout.String()), &bad); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	for _, what := range bad {
		t.Error(what)
	}
}

// runArgs says a spec in the words of docker run.
func runArgs(t *testing.T, spec *sandbox.Spec) []string {
	t.Helper()
	oci := spec.OCI
	profile, err := json.Marshal(oci.Linux.Seccomp)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "seccomp.json")
	if err := os.WriteFile(file, profile, 0o600); err != nil {
		t.Fatal(err)
	}
	resources := oci.Linux.Resources
	args := []string{
		"run", "--rm", "--interactive", "--network=none", "--read-only", "--ipc=private", "--cap-drop=ALL",
		"--security-opt=no-new-privileges", "--security-opt=seccomp=" + file,
		"--name=" + spec.Name, "--hostname=" + oci.Hostname, "--workdir=" + oci.Process.Cwd,
		fmt.Sprintf("--user=%d:%d", oci.Process.User.UID, oci.Process.User.GID),
		fmt.Sprintf("--shm-size=%d", spec.ShmSize),
		fmt.Sprintf("--memory=%d", *resources.Memory.Limit),
		fmt.Sprintf("--memory-swap=%d", *resources.Memory.Swap),
		fmt.Sprintf("--cpu-period=%d", *resources.CPU.Period),
		fmt.Sprintf("--cpu-quota=%d", *resources.CPU.Quota),
		fmt.Sprintf("--pids-limit=%d", *resources.Pids.Limit),
		fmt.Sprintf("--oom-score-adj=%d", *oci.Process.OOMScoreAdj),
	}
	for _, l := range oci.Process.Rlimits {
		args = append(args, fmt.Sprintf("--ulimit=%s=%d:%d", strings.ToLower(strings.TrimPrefix(l.Type, "RLIMIT_")), l.Soft, l.Hard))
	}
	for _, m := range oci.Mounts {
		args = append(args, "--tmpfs="+m.Destination+":"+strings.Join(m.Options, ","))
	}
	if spec.Runtime != "" {
		args = append(args, "--runtime="+spec.Runtime)
	}
	for _, entry := range oci.Process.Env {
		args = append(args, "--env="+entry)
	}
	return args
}
