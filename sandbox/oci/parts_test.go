package oci

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/sandboxtest"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

func TestPick(t *testing.T) {
	crun := program{name: "crun", path: "/crun", why: "crun refuses this host: use runc"}
	runc, runsc := program{name: "runc", path: "/runc"}, program{name: "runsc", path: "/runsc"}
	for name, tt := range map[string]struct {
		found []program
		ask   string
		want  string
		err   error
		says  string
	}{
		"the first":           {[]program{runc, crun, runsc}, "", "runc", nil, ""},
		"the first that can":  {[]program{crun, runsc}, "", "runsc", nil, ""},
		"by name":             {[]program{runc, runsc}, "runsc", "runsc", nil, ""},
		"one that cannot":     {[]program{runc, crun}, "crun", "", sandbox.ErrUnsupported, "use runc"},
		"one that is missing": {[]program{runc, crun}, "kata", "", sandbox.ErrUnsupported, `"kata": expected one of those on this host: runc`},
		"none":                {nil, "", "", sandbox.ErrUnavailable, "install one of runc, crun, runsc"},
		"none that can":       {[]program{crun}, "", "", sandbox.ErrUnsupported, "use runc"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := pick(tt.found, tt.ask)
			if p.name != tt.want || !errors.Is(err, tt.err) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %q, %v", p.name, err)
			}
		})
	}
}

func TestConvertRefuses(t *testing.T) {
	for field, change := range map[string]func(*sandbox.Spec){
		"root.readonly":   func(s *sandbox.Spec) { s.OCI.Root.Readonly = false },
		"process.user":    func(s *sandbox.Spec) { s.OCI.Process.User.UID = 0 },
		"noNewPrivileges": func(s *sandbox.Spec) { s.OCI.Process.NoNewPrivileges = false },
		"capabilities": func(s *sandbox.Spec) {
			s.OCI.Process.Capabilities = &specs.LinuxCapabilities{Ambient: []string{"CAP_KILL"}}
		},
		"process.cwd":             func(s *sandbox.Spec) { s.OCI.Process.Cwd = "/a/../b" },
		"HOME":                    func(s *sandbox.Spec) { s.OCI.Process.Env = nil },
		"terminal":                func(s *sandbox.Spec) { s.OCI.Process.Terminal = true },
		"needs a size":            func(s *sandbox.Spec) { s.OCI.Mounts[0].Options = nil },
		"outside of /proc":        func(s *sandbox.Spec) { s.OCI.Mounts[0].Destination = "/proc/self" },
		"there twice":             func(s *sandbox.Spec) { s.OCI.Mounts = append(s.OCI.Mounts, s.OCI.Mounts[0]) },
		"mode=9":                  func(s *sandbox.Spec) { s.OCI.Mounts[0].Options = append(s.OCI.Mounts[0].Options, "mode=9") },
		"not masked":              func(s *sandbox.Spec) { s.Image.Volumes = []string{"/elsewhere"} },
		"linux.namespaces":        func(s *sandbox.Spec) { s.OCI.Linux.Namespaces[0].Path = "/proc/1/ns/pid" },
		"linux.seccomp":           func(s *sandbox.Spec) { s.OCI.Linux.Seccomp = nil },
		"memory.limit":            func(s *sandbox.Spec) { s.OCI.Linux.Resources.Memory = nil },
		"memory.swap":             func(s *sandbox.Spec) { s.OCI.Linux.Resources.Memory.Swap = new(int64(-1)) },
		"pids.limit":              func(s *sandbox.Spec) { s.OCI.Linux.Resources.Pids = nil },
		"resources.devices":       func(s *sandbox.Spec) { s.OCI.Linux.Resources.Devices = []specs.LinuxDeviceCgroup{{Allow: true}} },
		"linux.sysctl":            func(s *sandbox.Spec) { s.OCI.Linux.Sysctl = map[string]string{"a": "b"} },
		"linux.cgroupsPath":       func(s *sandbox.Spec) { s.OCI.Linux.CgroupsPath = "/elsewhere" },
		"linux.rootfsPropagation": func(s *sandbox.Spec) { s.OCI.Linux.RootfsPropagation = "shared" },
		"hostname":                func(s *sandbox.Spec) { s.OCI.Hostname = "" },
		"spec name":               func(s *sandbox.Spec) { s.Name = "../x" },
		"target": func(s *sandbox.Spec) {
			s.Trees = []sandbox.Tree{{Name: "a", Digest: sandboxtest.Digest(), Target: "/dev/x"}}
		},
		"with digest": func(s *sandbox.Spec) { s.Trees = []sandbox.Tree{{Name: "a", Digest: "../..", Target: "/x"}} },
	} {
		spec := sandboxtest.NewSpec("/x")
		spec.Image.ID = testImage
		change(spec)
		if _, _, err := convert(spec); !errors.Is(err, sandbox.ErrUnsupported) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestMountPoints: an image cannot lead a mount elsewhere.
func TestMountPoints(t *testing.T) {
	outside := t.TempDir()
	image := t.TempDir()
	for name, target := range map[string]string{"skill": outside, "run": outside, "proc": outside, "x": "../../../../.." + outside} {
		if err := os.Symlink(target, filepath.Join(image, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(image, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := link(image, root); err != nil {
		t.Fatal(err)
	}
	for path, ok := range map[string]bool{
		"/skill": false, "/file": true, "/new/deep": true, "/proc": true, "/run/hotcell": false, "/x/y": false,
	} {
		err := point{path, 0o700}.make(root)
		if ok != (err == nil) || !ok && !errors.Is(err, sandbox.ErrUnsupported) {
			t.Errorf("%s: %v", path, err)
		}
		if info, err := os.Lstat(filepath.Join(root, path)); ok && (err != nil || info.Mode() != fs.ModeDir|0o700) {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if made, _ := os.ReadDir(outside); len(made) > 0 {
		t.Errorf("made outside: %v", made)
	}
}

func TestStartError(t *testing.T) {
	for text, code := range map[string]int{
		`exec: "/nowhere/program": stat /nowhere/program: no such file or directory`:       127,
		"executable file `/nowhere/program` not found in $PATH: No such file or directory": 127,
		`error finding executable "x" in PATH []: no such file or directory`:               127,
		`exec: "/bin/x": permission denied`:                                                126,
		"open executable: Permission denied":                                               126,
		"container init was OOM-killed (memory limit too low?)":                            0,
		"something\nelse": 0,
	} {
		e := startError(text)
		if e.ExitCode != code || e.OOM != strings.Contains(text, "OOM") || strings.Contains(e.Message, "\n") {
			t.Errorf("%q: %+v", text, *e)
		}
	}
}
