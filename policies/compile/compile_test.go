package compile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/policies/compile"
	"github.com/hotcell/hotcell/sandbox"
)

const (
	mi     = policies.Mi
	digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
)

func workload() compile.Workload {
	return compile.Workload{
		CallID:   "01JZ3N8Q0VXK5T7R9W2M4P6YAB",
		Skill:    "code-review",
		Instance: "k3v9q2m7t1x5",
		Host:     "6f1c0a52-8a3b-4bb5-9a52-54d7f7e0c0de",
		Expires:  time.Unix(1_800_000_000, 0),
		UID:      65600,
		Image: sandbox.Image{
			ID:      "sha256:" + digest,
			Env:     []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=de_DE.UTF-8", "HOTCELL_OUT=/etc", "LD_PRELOAD=/evil.so"},
			Volumes: []string{"/data"},
		},
		OS:      "linux",
		Arch:    "amd64",
		Command: []string{"python3", "/skill/scripts/main.py"},
		Bundle:  sandbox.Tree{Name: "bundle", Digest: digest, FS: fstest.MapFS{}},
		Runner:  sandbox.Tree{Name: "runner", Digest: digest, FS: fstest.MapFS{}},
		Env:     []string{wall.EnvCorrelate + "=abc"},
	}
}

func narrow(t testing.TB, operator, skill, call policies.Policy) policies.Effective {
	t.Helper()
	e, err := policies.Narrow(operator, skill, call)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func mustCompile(t testing.TB, eff policies.Effective, w compile.Workload) *sandbox.Spec {
	t.Helper()
	spec, err := compile.Compile(eff, w)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// golden compares a value's JSON with a file.
func golden(t *testing.T, name string, v any) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	testutil.Golden(t, "testdata/"+name+".json", b.Bytes())
}

func TestCompileGolden(t *testing.T) {
	frames := workload()
	frames.Frames, frames.Command, frames.Env, frames.Image.Volumes = true, nil, nil, nil
	frames.Entrypoint, frames.Cmd, frames.Arch = []string{"/word-count"}, []string{"-frames"}, "arm64"
	frames.Runner = sandbox.Tree{}

	for name, tt := range map[string]struct {
		policy   policies.Effective
		workload compile.Workload
	}{
		"defaults": {narrow(t, policies.Policy{}, policies.Policy{}, policies.Policy{}), workload()},
		"large": {narrow(t, policies.Policy{Runtime: "runsc"}, policies.Policy{Limits: policies.Limits{
			Memory: 2048 * mi, CPU: 2500, PIDs: 512, Files: 4096, Workspace: 512 * mi, Out: 128 * mi, Output: 16 * mi,
		}}, policies.Policy{}), workload()},
		"smallest": {narrow(t, policies.Policy{Limits: policies.Limits{
			Memory: policies.MinMemory, CPU: policies.MinCPU, PIDs: policies.MinPIDs, Files: policies.MinFiles,
			Workspace: policies.MinWorkspace, Out: policies.MinOut, Output: policies.MinOutput,
		}}, policies.Policy{}, policies.Policy{}), workload()},
		"frames": {narrow(t, policies.Policy{}, policies.Policy{}, policies.Policy{}), frames},
	} {
		t.Run(name, func(t *testing.T) {
			spec := mustCompile(t, tt.policy, tt.workload)
			if spec.OCI.Linux.Seccomp == nil {
				t.Fatal("no seccomp profile")
			}
			spec.OCI.Linux.Seccomp = nil // has golden files of its own
			for i := range spec.Trees {
				spec.Trees[i].FS = nil
			}
			golden(t, name, spec)
		})
	}
}

func TestCompileFramesCommand(t *testing.T) {
	w := workload()
	w.Frames, w.Entrypoint, w.Cmd = true, []string{"/entry"}, []string{"arg"}
	eff := narrow(t, policies.Policy{}, policies.Policy{}, policies.Policy{})
	for _, tt := range []struct{ command, want []string }{
		{nil, []string{"/entry", "arg"}},
		{[]string{"/own", "x"}, []string{"/own", "x"}},
	} {
		w.Command = tt.command
		spec := mustCompile(t, eff, w)
		if diff := cmp.Diff(tt.want, spec.OCI.Process.Args); diff != "" {
			t.Errorf("args for command %v (-want +got):\n%s", tt.command, diff)
		}
		if len(spec.Trees) != 1 || spec.Trees[0].Target != wall.DirSkill {
			t.Errorf("trees %v, want the bundle alone", spec.Trees)
		}
	}
}

func TestCompileRunnerReadsItsArguments(t *testing.T) {
	w := workload()
	w.Command = []string{"-odd", "--", "-out=5"}
	eff := narrow(t, policies.Policy{}, policies.Policy{Limits: policies.Limits{Out: 5 * mi}}, policies.Policy{})
	argv := mustCompile(t, eff, w).OCI.Process.Args
	got, err := wall.ParseArgs(argv[1:])
	if err != nil {
		t.Fatal(err)
	}
	want := wall.Args{Command: w.Command, Output: int64(8 * mi), Out: int64(5 * mi)}
	if diff := cmp.Diff(want, got); diff != "" || argv[0] != wall.RunnerPath {
		t.Errorf("%s reads (-want +got):\n%s", argv[0], diff)
	}
}

func TestCompileRefuses(t *testing.T) {
	var unsupported = sandbox.ErrUnsupported
	for _, tt := range []struct {
		name   string
		change func(*policies.Effective, *compile.Workload)
		want   string
		is     error
	}{
		{"windows", func(_ *policies.Effective, w *compile.Workload) { w.OS = "windows" }, `"windows"/"amd64"`, unsupported},
		{"386", func(_ *policies.Effective, w *compile.Workload) { w.Arch = "386" }, `"linux"/"386"`, unsupported},
		{"no platform", func(_ *policies.Effective, w *compile.Workload) { w.OS, w.Arch = "", "" }, "linux/amd64 or linux/arm64", unsupported},
		{"root", func(_ *policies.Effective, w *compile.Workload) { w.UID = 0 }, "uid 0: expected 65600 to 66599", nil},
		{"uid past the range", func(_ *policies.Effective, w *compile.Workload) { w.UID = 66600 }, "uid 66600", nil},
		{"instance", func(_ *policies.Effective, w *compile.Workload) { w.Instance = "A/b" }, "instance", nil},
		{"call id", func(_ *policies.Effective, w *compile.Workload) { w.CallID = "../x" }, "call id", nil},
		{"long call id", func(_ *policies.Effective, w *compile.Workload) { w.CallID = strings.Repeat("a", 65) }, "call id", nil},
		{"skill name", func(_ *policies.Effective, w *compile.Workload) { w.Skill = "a\x1b[0m" }, "skill", nil},
		{"host", func(_ *policies.Effective, w *compile.Workload) { w.Host = "" }, "host", nil},
		{"image", func(_ *policies.Effective, w *compile.Workload) { w.Image.ID = "" }, "image has no id", nil},
		{"expiry", func(_ *policies.Effective, w *compile.Workload) { w.Expires = time.Time{} }, "no time of expiry", nil},
		{"no command", func(_ *policies.Effective, w *compile.Workload) { w.Command = nil }, "no command to run", nil},
		{"blank command", func(_ *policies.Effective, w *compile.Workload) { w.Command = []string{" "} }, "no command to run", nil},
		{"frames without a command", func(_ *policies.Effective, w *compile.Workload) { w.Frames, w.Command = true, nil }, "no command to run", nil},
		{"NUL", func(_ *policies.Effective, w *compile.Workload) { w.Command = []string{"a", "b\x00"} }, "argument 1", nil},
		{"many arguments", func(_ *policies.Effective, w *compile.Workload) { w.Command = make([]string, 2000); w.Command[0] = "a" }, "2000 arguments", nil},
		{"long arguments", func(_ *policies.Effective, w *compile.Workload) {
			w.Command = []string{"a", strings.Repeat("b", 65<<10)}
		}, "bytes, expected at most", nil},
		{"bundle digest", func(_ *policies.Effective, w *compile.Workload) { w.Bundle.Digest = "../../x" }, "bundle digest", nil},
		{"runner digest", func(_ *policies.Effective, w *compile.Workload) { w.Runner.Digest = strings.ToUpper(digest) }, "runner digest", nil},
		{"no bundle", func(_ *policies.Effective, w *compile.Workload) { w.Bundle.FS = nil }, "bundle has no files", nil},
		{"extra environment", func(_ *policies.Effective, w *compile.Workload) { w.Env = []string{"A B=1"} }, "environment entry", nil},
		{"engine digest", func(_ *policies.Effective, w *compile.Workload) { w.Engine = sandbox.Tree{FS: fstest.MapFS{}} }, "engine digest", nil},
		{"port name", func(_ *policies.Effective, w *compile.Workload) { w.Ports = []wall.Port{{Name: "A b", Number: 41001}} }, "bad port name", nil},
		{"port number", func(_ *policies.Effective, w *compile.Workload) { w.Ports = []wall.Port{{Name: "a", Number: 80}} }, "number 80", nil},
		{"port twice", func(_ *policies.Effective, w *compile.Workload) {
			w.Ports = []wall.Port{{Name: "a", Number: 41001}, {Name: "b", Number: 41001}}
		}, "there twice", nil},
		{"many ports", func(_ *policies.Effective, w *compile.Workload) { w.Ports = make([]wall.Port, 33) }, "33 loopback ports", nil},
		{"volumes", func(_ *policies.Effective, w *compile.Workload) { w.Image.Volumes = []string{"/proc/x"} }, "is in /proc", unsupported},
		{"image environment", func(_ *policies.Effective, w *compile.Workload) { w.Image.Env = make([]string, 300) }, "300 entries", nil},
		{"a zero limit", func(e *policies.Effective, _ *compile.Workload) { e.Limits.PIDs = 0 }, "each must be set", nil},
		{"sizes past the memory", func(e *policies.Effective, _ *compile.Workload) { e.Limits.Out = e.Limits.Memory }, "do not fit", nil},
		{"sizes that overflow", func(e *policies.Effective, _ *compile.Workload) { e.Limits.Workspace, e.Limits.Out = 1<<62, 1<<62 }, "do not fit", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eff, w := narrow(t, policies.Policy{}, policies.Policy{}, policies.Policy{}), workload()
			tt.change(&eff, &w)
			spec, err := compile.Compile(eff, w)
			if err == nil || spec != nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one with %q and no spec", err, tt.want)
			}
			if got := errors.Is(err, unsupported); got != (tt.is != nil) {
				t.Errorf("error %q is ErrUnsupported: %v, want %v", err, got, tt.is != nil)
			}
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
				t.Errorf("error of %d bytes: %q", len(err.Error()), err)
			}
		})
	}
}

// What a call may use outside of its cell changes nothing about the cell but its environment, its ports and its files.
func TestGrantsLeaveTheCellSealed(t *testing.T) {
	eff, w := narrow(t, policies.Policy{}, policies.Policy{}, policies.Policy{}), workload()
	sealed := mustCompile(t, eff, w)
	eff.Network.Allow, eff.LLM, eff.Secrets = []string{"a.org:443"}, &policies.LLM{Inject: policies.InjectBroker}, []string{"T"}
	w.Engine = sandbox.Tree{Name: "engine", Digest: digest, FS: fstest.MapFS{}}
	w.Env = append(w.Env, "HTTPS_PROXY=http://127.0.0.1:41001")
	w.Ports = []wall.Port{{Name: "egress", Number: 41001}}
	granted := mustCompile(t, eff, w)
	if n := len(granted.Trees); n != 3 || granted.Trees[2].Target != wall.DirEngine {
		t.Errorf("trees %v", granted.Trees)
	}
	granted.OCI.Process.Env, granted.OCI.Process.Args = sealed.OCI.Process.Env, sealed.OCI.Process.Args
	if diff := cmp.Diff(sealed.OCI, granted.OCI); diff != "" {
		t.Errorf("(-sealed +granted):\n%s", diff)
	}
}

// Compile never changes what it was given, and two specs share nothing that a driver could change.
func TestCompileIsPure(t *testing.T) {
	eff, w := narrow(t, policies.Policy{}, policies.Policy{}, policies.Policy{}), workload()
	first := mustCompile(t, eff, w)
	before, err := json.Marshal(first.OCI)
	if err != nil {
		t.Fatal(err)
	}
	second := mustCompile(t, eff, w)
	second.OCI.Process.Env[0] = "X=1"
	second.OCI.Process.Args[len(second.OCI.Process.Args)-1] = "changed"
	second.OCI.Linux.Seccomp.Syscalls[0].Names[0] = "mount"
	second.OCI.Linux.MaskedPaths[0] = "/"
	second.Labels[sandbox.LabelCall] = "other"
	after, err := json.Marshal(mustCompile(t, eff, w).OCI)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" || first.Labels[sandbox.LabelCall] != w.CallID {
		t.Errorf("a spec changes with another (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(workload().Command, w.Command); diff != "" {
		t.Errorf("the workload was changed:\n%s", diff)
	}
}

// Whatever the parties state, the cell has what the policy says and nothing beside it.
func TestCompileStaysWithinPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := func(name string, least policies.Bytes, most policies.Bytes) policies.Bytes {
			return policies.Bytes(rapid.Int64Range(int64(least), int64(most)).Draw(t, name))
		}
		skill := policies.Policy{Limits: policies.Limits{
			Memory: size("memory", policies.MinMemory, 2*policies.MaxMemory),
			CPU:    policies.MilliCPU(rapid.Int64Range(int64(policies.MinCPU), int64(2*policies.MaxCPU)).Draw(t, "cpu")),
			PIDs:   rapid.Int64Range(policies.MinPIDs, 2*policies.MaxPIDs).Draw(t, "pids"),
			Files:  rapid.Int64Range(policies.MinFiles, 2*policies.MaxFiles).Draw(t, "files"),
		}}
		operator := policies.Policy{Limits: policies.Limits{Memory: size("operator memory", policies.MinMemory, policies.MaxMemory)}}
		eff, err := policies.Narrow(operator, skill, policies.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		w := workload()
		w.UID = rapid.Uint32Range(compile.MinUID, compile.MaxUID).Draw(t, "uid")
		w.Arch = rapid.SampledFrom([]string{"amd64", "arm64"}).Draw(t, "arch")
		w.Frames = rapid.Bool().Draw(t, "frames")
		spec, err := compile.Compile(eff, w)
		if err != nil {
			t.Fatal(err)
		}
		checkProcess(t, spec.OCI.Process, eff, w)
		checkResources(t, spec.OCI.Linux.Resources, eff)
		checkMounts(t, spec, eff)
		if !spec.OCI.Root.Readonly || len(spec.OCI.Linux.Namespaces) != 6 || spec.OCI.Hooks != nil || len(spec.OCI.Linux.Devices) != 0 {
			t.Errorf("root %+v, namespaces %v, hooks %v, devices %v", spec.OCI.Root, spec.OCI.Linux.Namespaces, spec.OCI.Hooks, spec.OCI.Linux.Devices)
		}
		for _, namespace := range spec.OCI.Linux.Namespaces {
			if namespace.Path != "" {
				t.Errorf("namespace %s is shared: %s", namespace.Type, namespace.Path)
			}
		}
	})
}

func checkProcess(t *rapid.T, p *specs.Process, eff policies.Effective, w compile.Workload) {
	if p.User.UID != w.UID || p.User.GID != w.UID || len(p.User.AdditionalGids) != 0 || !p.NoNewPrivileges || p.Terminal {
		t.Errorf("process %+v", p)
	}
	if diff := cmp.Diff(&specs.LinuxCapabilities{}, p.Capabilities); diff != "" {
		t.Errorf("capabilities:\n%s", diff)
	}
	files := uint64(eff.Limits.Files)
	want := []specs.POSIXRlimit{{Type: "RLIMIT_CORE"}, {Type: "RLIMIT_NOFILE", Hard: files, Soft: files}}
	if diff := cmp.Diff(want, p.Rlimits); diff != "" {
		t.Errorf("rlimits:\n%s", diff)
	}
}

func checkResources(t *rapid.T, r *specs.LinuxResources, eff policies.Effective) {
	memory, cpu := r.Memory, r.CPU
	if *memory.Limit != int64(eff.Limits.Memory) || *memory.Swap != *memory.Limit || *memory.DisableOOMKiller {
		t.Errorf("memory %d, with swap %d, OOM killer off %v", *memory.Limit, *memory.Swap, *memory.DisableOOMKiller)
	}
	if got := *cpu.Quota * 1000 / int64(*cpu.Period); got != int64(eff.Limits.CPU) || *cpu.Quota < 1000 {
		t.Errorf("cpu %d in %d, want %s", *cpu.Quota, *cpu.Period, eff.Limits.CPU)
	}
	if *r.Pids.Limit != eff.Limits.PIDs {
		t.Errorf("pids %d", *r.Pids.Limit)
	}
}

func checkMounts(t *rapid.T, spec *sandbox.Spec, eff policies.Effective) {
	total := spec.ShmSize
	known := []string{wall.DirWorkspace, wall.DirOut, wall.DirRun}
	for i, m := range spec.OCI.Mounts {
		options := " " + strings.Join(m.Options, " ") + " "
		if m.Type != "tmpfs" || m.Source != "tmpfs" || !strings.Contains(options, " nosuid nodev ") {
			t.Errorf("mount %+v", m)
		}
		if i >= len(known) {
			if m.Destination != "/data" && m.Destination != "/tmp" || !strings.Contains(options, " ro ") || !strings.Contains(options, " noexec ") {
				t.Errorf("mount %+v", m)
			}
			continue
		}
		if m.Destination != known[i] {
			t.Errorf("mount %d at %s, want %s", i, m.Destination, known[i])
		}
		total += sizeOf(t, m.Options)
	}
	if total > int64(eff.Limits.Memory)/2 {
		t.Errorf("writable tmpfs take %d of %s", total, eff.Limits.Memory)
	}
}

func sizeOf(t *rapid.T, options []string) int64 {
	for _, o := range options {
		if text, ok := strings.CutPrefix(o, "size="); ok {
			n, err := policies.ParseBytes(text)
			if err != nil {
				t.Fatal(err)
			}
			return int64(n)
		}
	}
	t.Fatalf("no size in %v", options)
	return 0
}
