package kubernetes

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/sandboxtest"
)

// goldenSpec is a spec that uses all that convert understands.
func goldenSpec() *sandbox.Spec {
	spec := sandboxtest.NewSpec(wall.RunnerPath, "-flag", "value")
	spec.Name = "hotcell-1234"
	spec.Runtime = "gvisor"
	spec.Image = sandbox.Image{ID: "sha256:" + strings.Repeat("ab", 32), Ref: "python:3", Digest: "python@sha256:" + strings.Repeat("cd", 32), Volumes: []string{"/data"},
		Env: []string{"PATH=/elsewhere", "GOMAXPROCS=1000", "PATH=/again", "a name=x"}}
	data := spec.OCI.Mounts[0]
	data.Destination, data.Options = "/data", []string{"ro", "size=4096", "nr_inodes=2", "mode=0555"}
	spec.OCI.Mounts = append(spec.OCI.Mounts, data)
	spec.Trees = []sandbox.Tree{
		{Name: "runner", Digest: strings.Repeat("01", 32), Target: "/hotcell"},
		{Name: "code-review", Digest: strings.Repeat("23", 32), Target: "/skill"},
	}
	spec.OCI.Linux.Resources.CPU.Shares = new(uint64(512))
	spec.OCI.Linux.Resources.Devices = []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}
	spec.OCI.Linux.MaskedPaths = append(spec.OCI.Linux.MaskedPaths, "/dev/pts")
	return spec
}

func accepting() settings {
	s := settings{image: "hotcell/runner:1", arch: "amd64", uid: FirstUID, accept: map[string]bool{}}
	for _, word := range Controls() {
		s.accept[word] = true
	}
	return s
}

func TestConvertGolden(t *testing.T) {
	spec := goldenSpec()
	before, _ := json.Marshal(spec)
	p, err := convert(spec, accepting())
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(map[string]any{"pod": p.pod, "hello": p.hello, "without": p.without}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	testutil.Golden(t, "testdata/pod.json", append(got, '\n'))
	if after, _ := json.Marshal(spec); string(before) != string(after) {
		t.Errorf("convert changed the spec:\n%s", cmp.Diff(string(before), string(after)))
	}
}

// What must hold of every pod, whatever the golden file says.
func TestConvertHolds(t *testing.T) {
	p, err := convert(goldenSpec(), accepting())
	if err != nil {
		t.Fatal(err)
	}
	s := p.pod.Spec
	if *s.AutomountServiceAccountToken || *s.EnableServiceLinks || s.HostNetwork || s.HostPID || s.HostIPC || s.RestartPolicy != "Never" ||
		!*s.SecurityContext.RunAsNonRoot || s.SecurityContext.SeccompProfile.Type != "RuntimeDefault" {
		t.Errorf("pod %+v", s)
	}
	for _, c := range append(s.Containers, s.InitContainers...) {
		sc := c.SecurityContext
		if *sc.Privileged || *sc.AllowPrivilegeEscalation || !*sc.ReadOnlyRootFilesystem || len(sc.Capabilities.Add) > 0 || sc.Capabilities.Drop[0] != "ALL" {
			t.Errorf("%s: %+v", c.Name, sc)
		}
		if diff := cmp.Diff(c.Resources.Limits, c.Resources.Requests); diff != "" || len(c.Resources.Limits) != 3 {
			t.Errorf("%s: requests are not limits, or some are missing: %+v", c.Name, c.Resources)
		}
		for _, v := range c.Env {
			if v.Value != "" || v.ValueFrom != nil {
				t.Errorf("%s: the pod shows %v", c.Name, v)
			}
		}
	}
	if owner := s.InitContainers[0].SecurityContext.RunAsUser; *owner == *s.SecurityContext.RunAsUser {
		t.Errorf("what the cell reads is its own: %d", *owner)
	}
	for _, v := range s.Volumes {
		if v.EmptyDir == nil && v.Projected == nil && v.ConfigMap == nil {
			t.Errorf("volume %+v", v)
		}
	}
	for _, m := range s.Containers[0].VolumeMounts {
		if writable := m.MountPath == "/scratch" || m.MountPath == dirShm; m.ReadOnly == writable {
			t.Errorf("mount %+v", m)
		}
	}
}

func TestConvertRefuses(t *testing.T) {
	linux := func(change func(*specs.Linux)) func(*sandbox.Spec) {
		return func(s *sandbox.Spec) { change(s.OCI.Linux) }
	}
	process := func(change func(*specs.Process)) func(*sandbox.Spec) {
		return func(s *sandbox.Spec) { change(s.OCI.Process) }
	}
	for want, change := range map[string]func(*sandbox.Spec){
		"process, root and linux must be set": func(s *sandbox.Spec) { s.OCI.Process = nil },
		`spec name "A"`:                       func(s *sandbox.Spec) { s.Name = "A" },
		"image id is empty":                   func(s *sandbox.Spec) { s.Image.ID = "" },
		"hostname: must be set":               func(s *sandbox.Spec) { s.OCI.Hostname = "" },
		`runtime "a b"`:                       func(s *sandbox.Spec) { s.Runtime = "a b" },
		"process.args: is empty":              process(func(p *specs.Process) { p.Args = nil }),
		`process.cwd "x"`:                     process(func(p *specs.Process) { p.Cwd = "x" }),
		`process.env "A"`:                     process(func(p *specs.Process) { p.Env = []string{"A"} }),
		"A is there twice":                    process(func(p *specs.Process) { p.Env = []string{"A=1", "A=2"} }),
		"root is never used":                  process(func(p *specs.Process) { p.User.UID = 0 }),
		"noNewPrivileges: must be true":       process(func(p *specs.Process) { p.NoNewPrivileges = false }),
		"process.capabilities.bounding":       process(func(p *specs.Process) { p.Capabilities = &specs.LinuxCapabilities{Bounding: []string{"CAP_CHOWN"}} }),
		"process.rlimits: RLIMIT_X":           process(func(p *specs.Process) { p.Rlimits = []specs.POSIXRlimit{{Type: "RLIMIT_X"}} }),
		"process.terminal":                    process(func(p *specs.Process) { p.Terminal = true }),
		"process.apparmorProfile":             process(func(p *specs.Process) { p.ApparmorProfile = "x" }),
		"root.readonly: must be true":         func(s *sandbox.Spec) { s.OCI.Root.Readonly = false },
		"a tmpfs needs a size":                func(s *sandbox.Spec) { s.OCI.Mounts[0].Options = nil },
		`of type "bind"`:                      func(s *sandbox.Spec) { s.OCI.Mounts[0].Type = "bind" },
		"mount /scratch: is there twice":      func(s *sandbox.Spec) { s.OCI.Mounts = append(s.OCI.Mounts, s.OCI.Mounts[0]) },
		`tree "Bad"`:                          func(s *sandbox.Spec) { s.Trees[0].Name = "Bad" },
		`target "/"`:                          func(s *sandbox.Spec) { s.Trees[0].Target = "/" },
		"image volume /other":                 func(s *sandbox.Spec) { s.Image.Volumes = []string{"/other"} },
		"linux.seccomp: must be set":          linux(func(l *specs.Linux) { l.Seccomp = nil }),
		"a cell has a pid namespace":          linux(func(l *specs.Linux) { l.Namespaces = l.Namespaces[1:] }),
		"memory.limit: must be set":           linux(func(l *specs.Linux) { l.Resources.Memory = nil }),
		"memory.swap: must be equal":          linux(func(l *specs.Linux) { l.Resources.Memory.Swap = new(int64(1)) }),
		"cpu.quota: must be set":              linux(func(l *specs.Linux) { l.Resources.CPU.Quota = nil }),
		"pids.limit: must be set":             linux(func(l *specs.Linux) { l.Resources.Pids = nil }),
		"devices: allows":                     linux(func(l *specs.Linux) { l.Resources.Devices = []specs.LinuxDeviceCgroup{{Allow: true}} }),
		"linux.devices":                       linux(func(l *specs.Linux) { l.Devices = []specs.LinuxDevice{{Path: "/dev/x"}} }),
		"linux.sysctl":                        linux(func(l *specs.Linux) { l.Sysctl = map[string]string{"a": "b"} }),
	} {
		spec := goldenSpec()
		change(spec)
		_, err := convert(spec, accepting())
		if !errors.Is(err, sandbox.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

// Each control that a pod lacks is asked for by its own word.
func TestConvertAsksForEachControl(t *testing.T) {
	for _, word := range Controls() {
		s := accepting()
		delete(s.accept, word)
		_, err := convert(goldenSpec(), s)
		if !errors.Is(err, sandbox.ErrUnsupported) || !strings.Contains(err.Error(), "sandbox.accept_unenforced: ["+word+"]") {
			t.Errorf("without %s: %v", word, err)
		}
	}
	s := accepting()
	delete(s.accept, ControlNetwork)
	s.enforced = true
	d := &Driver{accept: s.accept, enforced: true}
	if got := strings.Join(d.unenforced(), " "); got != "seccomp paths mounts pids" {
		t.Errorf("unenforced: %s", got)
	}
	if _, err := convert(goldenSpec(), s); err != nil {
		t.Errorf("where NetworkPolicy is enforced: %v", err)
	}
}
