package docker

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/demands"
	"github.com/hotcell/hotcell/sandbox/sandboxtest"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// goldenSpec is a spec that uses all that convert understands.
func goldenSpec() *sandbox.Spec {
	spec := sandboxtest.NewSpec("/run/runner", "-flag", "value")
	spec.Name = "hotcell-1234"
	spec.Image = sandbox.Image{
		ID: "sha256:" + strings.Repeat("ab", 32), Env: []string{"PATH=/image", "LD_PRELOAD=/evil.so", "LANG=xx"}, Volumes: []string{"/data"},
	}
	data := spec.OCI.Mounts[0]
	data.Destination = "/data"
	spec.OCI.Mounts = append(spec.OCI.Mounts, data)
	spec.Trees = []sandbox.Tree{
		{Name: "runner", Digest: strings.Repeat("01", 32), Target: "/hotcell"},
		{Name: "code-review", Digest: strings.Repeat("23", 32), Target: "/skill"},
	}
	spec.OCI.Linux.Resources.CPU.Shares = new(uint64(512))
	spec.OCI.Linux.Resources.Devices = []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}
	spec.OCI.Process.Rlimits = append(spec.OCI.Process.Rlimits, specs.POSIXRlimit{Type: "RLIMIT_FSIZE", Soft: 1 << 20, Hard: 1<<64 - 1})
	return spec
}

func TestConvertGolden(t *testing.T) {
	for name, appArmor := range map[string]bool{"plain": false, "apparmor": true} {
		spec := goldenSpec()
		before, _ := json.Marshal(spec)
		config, host, err := convert(spec, appArmor)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.MarshalIndent(container.CreateRequest{Config: config, HostConfig: host}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		testutil.Golden(t, "testdata/"+name+".json", append(got, '\n'))
		if after, _ := json.Marshal(spec); cmp.Diff(string(before), string(after)) != "" {
			t.Errorf("convert changed the spec:\n%s", cmp.Diff(string(before), string(after)))
		}
	}
}

// What must hold of every container, whatever the golden files say.
func TestConvertHolds(t *testing.T) {
	config, host, err := convert(goldenSpec(), false)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := json.Marshal(host)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(wire, &fields); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"MaskedPaths", "ReadonlyPaths", "Binds", "CapAdd", "Devices", "GroupAdd"} {
		if v, there := fields[key]; there && v != nil {
			t.Errorf("%s is %v on the wire: an empty list is not the engine's default", key, v)
		}
	}
	for what, ok := range map[string]bool{
		"stdin ends":           config.OpenStdin && config.StdinOnce && !config.Tty,
		"no network":           config.NetworkDisabled && host.NetworkMode == "none",
		"no swap":              host.Memory > 0 && host.MemorySwap == host.Memory,
		"removed by us":        !host.AutoRemove && host.RestartPolicy.IsNone(),
		"nothing logged":       host.LogConfig.Type == "none",
		"not privileged":       !host.Privileged && cmp.Equal([]string(host.CapDrop), []string{"ALL"}),
		"private":              host.IpcMode == "private" && host.CgroupnsMode == "private" && host.PidMode == "" && host.UTSMode == "" && host.UsernsMode == "",
		"read-only":            host.ReadonlyRootfs,
		"pids":                 *host.PidsLimit == 32,
		"only volumes":         len(host.Mounts) == 2 && host.Mounts[0].ReadOnly && host.Mounts[0].VolumeOptions.NoCopy,
		"no image environment": config.Env[len(config.Env)-1] == "LD_PRELOAD",
	} {
		if !ok {
			t.Errorf("%s: does not hold", what)
		}
	}
}

func TestConvertRefuses(t *testing.T) {
	change := func(f func(p *specs.Process)) func(*sandbox.Spec) {
		return func(s *sandbox.Spec) { f(s.OCI.Process) }
	}
	linux := func(f func(l *specs.Linux)) func(*sandbox.Spec) {
		return func(s *sandbox.Spec) { f(s.OCI.Linux) }
	}
	for want, change := range map[string]func(*sandbox.Spec){
		"process, root and linux must be set":       func(s *sandbox.Spec) { s.OCI.Linux = nil },
		`spec name "A b"`:                           func(s *sandbox.Spec) { s.Name = "A b" },
		"image id is empty":                         func(s *sandbox.Spec) { s.Image.ID = "" },
		"hostname: must be set":                     func(s *sandbox.Spec) { s.OCI.Hostname = "" },
		"domainname":                                func(s *sandbox.Spec) { s.OCI.Domainname = "x" },
		"annotations":                               func(s *sandbox.Spec) { s.OCI.Annotations = map[string]string{"a": "b"} },
		"hooks.poststop":                            func(s *sandbox.Spec) { s.OCI.Hooks = &specs.Hooks{Poststop: []specs.Hook{{Path: "/x"}}} },
		"vm.kernel.path":                            func(s *sandbox.Spec) { s.OCI.VM = &specs.VM{Kernel: specs.VMKernel{Path: "/x"}} },
		"process.args: is empty":                    change(func(p *specs.Process) { p.Args = nil }),
		`process.cwd "x"`:                           change(func(p *specs.Process) { p.Cwd = "x" }),
		`process.cwd "/proc/self/fd/../x"`:          change(func(p *specs.Process) { p.Cwd = "/proc/self/fd/../x" }),
		"process.terminal":                          change(func(p *specs.Process) { p.Terminal = true }),
		"process.env: HOME must be set":             change(func(p *specs.Process) { p.Env = []string{"A=b"} }),
		"process.env: A is there twice":             change(func(p *specs.Process) { p.Env = []string{"A=b", "A=c"} }),
		`process.env "BARE"`:                        change(func(p *specs.Process) { p.Env = []string{"BARE"} }),
		"process.user 0:0":                          change(func(p *specs.Process) { p.User = specs.User{} }),
		"process.user.additionalGids":               change(func(p *specs.Process) { p.User.AdditionalGids = []uint32{1} }),
		"process.user.umask":                        change(func(p *specs.Process) { p.User.Umask = new(uint32(7)) }),
		"process.noNewPrivileges":                   change(func(p *specs.Process) { p.NoNewPrivileges = false }),
		"process.apparmorProfile":                   change(func(p *specs.Process) { p.ApparmorProfile = "x" }),
		"process.selinuxLabel":                      change(func(p *specs.Process) { p.SelinuxLabel = "x" }),
		"process.capabilities.ambient":              change(func(p *specs.Process) { p.Capabilities = &specs.LinuxCapabilities{Ambient: []string{"CAP_CHOWN"}} }),
		"process.rlimits: RLIMIT_AS":                change(func(p *specs.Process) { p.Rlimits = []specs.POSIXRlimit{{Type: "RLIMIT_AS"}} }),
		"linux.seccomp: must be set":                linux(func(l *specs.Linux) { l.Seccomp = nil }),
		"linux.seccomp: flags and listeners":        linux(func(l *specs.Linux) { l.Seccomp.ListenerPath = "/x" }),
		"a cell has a network namespace of its own": linux(func(l *specs.Linux) { l.Namespaces = l.Namespaces[:1] }),
		"a cell has a pid namespace of its own":     linux(func(l *specs.Linux) { l.Namespaces[0].Path = "/proc/1/ns/pid" }),
		"others than pid, network": linux(func(l *specs.Linux) {
			l.Namespaces = append(l.Namespaces, specs.LinuxNamespace{Type: specs.UserNamespace})
		}),
		"linux.uidMappings":                                       linux(func(l *specs.Linux) { l.UIDMappings = []specs.LinuxIDMapping{{Size: 1}} }),
		"linux.sysctl":                                            linux(func(l *specs.Linux) { l.Sysctl = map[string]string{"kernel.x": "1"} }),
		"linux.cgroupsPath":                                       linux(func(l *specs.Linux) { l.CgroupsPath = "/x" }),
		"linux.devices":                                           linux(func(l *specs.Linux) { l.Devices = []specs.LinuxDevice{{Path: "/dev/kvm"}} }),
		"linux.resources: must be set":                            linux(func(l *specs.Linux) { l.Resources = nil }),
		"linux.resources.memory.limit: must be set":               linux(func(l *specs.Linux) { l.Resources.Memory.Limit = nil }),
		"linux.resources.memory.swap: must be equal":              linux(func(l *specs.Linux) { l.Resources.Memory.Swap = new(int64(-1)) }),
		"linux.resources.memory.swappiness":                       linux(func(l *specs.Linux) { l.Resources.Memory.Swappiness = new(uint64(60)) }),
		"linux.resources.memory.disableOOMKiller":                 linux(func(l *specs.Linux) { l.Resources.Memory.DisableOOMKiller = new(true) }),
		"linux.resources.cpu.cpus":                                linux(func(l *specs.Linux) { l.Resources.CPU.Cpus = "0" }),
		"linux.resources.pids.limit: must be set":                 linux(func(l *specs.Linux) { l.Resources.Pids.Limit = new(int64(-1)) }),
		"linux.resources.devices: allows":                         linux(func(l *specs.Linux) { l.Resources.Devices = []specs.LinuxDeviceCgroup{{Allow: true}} }),
		"linux.resources.unified":                                 linux(func(l *specs.Linux) { l.Resources.Unified = map[string]string{"memory.high": "1"} }),
		`mount /h of type "bind"`:                                 func(s *sandbox.Spec) { s.OCI.Mounts[0] = specs.Mount{Destination: "/h", Type: "bind", Source: "/"} },
		`mount "/": expected`:                                     func(s *sandbox.Spec) { s.OCI.Mounts[0].Destination = "/" },
		"mount /data: is there twice":                             func(s *sandbox.Spec) { s.OCI.Mounts = append(s.OCI.Mounts, s.OCI.Mounts[1]) },
		"mount /scratch: a tmpfs needs a size":                    func(s *sandbox.Spec) { s.OCI.Mounts[0].Options = nil },
		`mount /scratch: option "size=1,exec"`:                    func(s *sandbox.Spec) { s.OCI.Mounts[0].Options = []string{"size=1,exec"} },
		`tree "Bad"`:                                              func(s *sandbox.Spec) { s.Trees[0].Name = "Bad" },
		`digest "ab": expected [a-z0-9-] and hex sha-256`:         func(s *sandbox.Spec) { s.Trees[0].Digest = "ab" },
		`tree runner: target "/"`:                                 func(s *sandbox.Spec) { s.Trees[0].Target = "/" },
		"image volume /other: not masked by a tmpfs mount":        func(s *sandbox.Spec) { s.Image.Volumes = append(s.Image.Volumes, "/other") },
		"linux.resources.cpu: quota 100000 in period 2000000":     linux(func(l *specs.Linux) { l.Resources.CPU.Period = new(uint64(2_000_000)) }),
		"linux.resources.cpu.shares: 1000000 is more than 262144": linux(func(l *specs.Linux) { l.Resources.CPU.Shares = new(uint64(1_000_000)) }),
		"linux.resources.hugepageLimits":                          linux(func(l *specs.Linux) { l.Resources.HugepageLimits = []specs.LinuxHugepageLimit{{Pagesize: "2MB"}} }),
		"linux.rootfsPropagation":                                 linux(func(l *specs.Linux) { l.RootfsPropagation = "shared" }),
		"linux.personality.domain":                                linux(func(l *specs.Linux) { l.Personality = &specs.LinuxPersonality{Domain: "LINUX32"} }),
		"process.consoleSize.height":                              change(func(p *specs.Process) { p.ConsoleSize = &specs.Box{Height: 1} }),
		"linux.timeOffsets":                                       linux(func(l *specs.Linux) { l.TimeOffsets = map[string]specs.LinuxTimeOffset{"monotonic": {Secs: 1}} }),
	} {
		spec := goldenSpec()
		change(spec)
		_, _, err := convert(spec, false)
		if !errors.Is(err, sandbox.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

func TestConvertPaths(t *testing.T) {
	spec := goldenSpec()
	spec.OCI.Linux.MaskedPaths = []string{"/sys/devices/virtual/powercap"}
	_, host, err := convert(spec, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(host.MaskedPaths) != len(demands.Masked())+1 || host.ReadonlyPaths != nil {
		t.Errorf("masked %v, read-only %v", host.MaskedPaths, host.ReadonlyPaths)
	}
	spec.ShmSize = 0
	if _, host, _ = convert(spec, false); host.IpcMode != "none" || host.ShmSize != 0 {
		t.Errorf("ipc %s with %d bytes", host.IpcMode, host.ShmSize)
	}
}
