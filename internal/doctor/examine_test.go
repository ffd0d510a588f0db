package doctor

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var at = time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC)

// hosts are the kinds of hosts that have golden files: by name, what differs from the reference host.
func hosts() map[string]func(*Facts) {
	return map[string]func(*Facts){
		"reference":      func(*Facts) {},
		"modern":         modern,
		"no-swap":        func(f *Facts) { modern(f); noSwap(f) },
		"rootless":       rootless,
		"remote":         remote,
		"old-api":        oldAPI,
		"no-engine":      noEngineAtAll,
		"gvisor":         gvisor,
		"leaky":          leaky,
		"left-over":      leftOver,
		"bad-place":      badPlace,
		"no-image":       noImage,
		"hostile":        hostile,
		"wrong-settings": wrongSettings,
		"oci":            direct,
		"oci-modern": func(f *Facts) {
			direct(f)
			f.Direct = oneVersion()
			f.Engine.CgroupVersion, f.Engine.Runtimes = "2", map[string]string{"crun": "/usr/bin/crun"}
			f.Engine.DefaultRuntime, f.Engine.Runc = "crun", ""
		},
		"oci-impossible": impossible,
	}
}

// reference is the engine that hotcell was built on: cgroup v1 hybrid, no AppArmor, runc with one fix.
func reference() Facts {
	images := map[string]string{"python": "hotcell/python:3", "sh": "hotcell/python:3"}
	return Facts{
		Settings: Settings{
			Images: images, References: []Reference{{For: "provider openai", Why: "env:OPENAI_API_KEY: there is no such variable in hotcell's environment", Optional: true}},
			DataDir: "/var/lib/hotcell", Socket: "/run/hotcell/hotcell.sock", Runners: []string{"amd64", "arm64"},
			MinUID: 65600, MaxUID: 66599, DefaultMemory: 256 << 20,
		},
		Engine: &sandbox.EngineFacts{
			Address: "unix:///var/run/docker.sock", Took: 4 * time.Millisecond, Version: "20.10.24+dfsg1",
			API: "1.41", APINewest: "1.41", APIOldest: "1.12", OS: "linux", Arch: "amd64", Host: "vm",
			System: "Debian GNU/Linux 12 (bookworm)", Kernel: "6.18.44", CPUs: 2, Memory: 25276063744, Clock: at,
			Root: "/var/lib/docker", Storage: "overlay2", Backing: "extfs",
			Runtimes: map[string]string{"runc": "runc", "io.containerd.runc.v2": "runc"}, DefaultRuntime: "runc",
			Runc: "1.1.5+ds1-1+deb12u1", Containerd: "1.6.20~ds1-1+deb12u3",
			CgroupVersion: "1", CgroupDriver: "cgroupfs", MemoryLimit: true, SwapLimit: true, PIDsLimit: true, CPUQuota: true, OOMKillDisable: true,
			Security:  []sandbox.SecurityOption{{Name: "seccomp", Options: map[string]string{"profile": "default"}}},
			LogDriver: "json-file",
		},
		Host: Host{
			Name: "vm", Kernel: "6.18.44", CorePattern: "core",
			Data:   Folder{Exists: true, Mode: 0o750, Writable: true, Space: Space{Free: 75 << 30, Total: 252 << 30, FreeInodes: 1 << 20, AllInodes: 1 << 24}},
			Engine: Space{Free: 75 << 30, Total: 252 << 30, FreeInodes: 1 << 20, AllInodes: 1 << 24},
			Socket: Socket{Usable: true},
		},
		Images: []Image{
			{Kind: "python", Ref: "hotcell/python:3", ID: "sha256:1", Size: 74_600_000}, {Kind: "sh", Ref: "hotcell/python:3", ID: "sha256:1", Size: 74_600_000},
		},
		Cell: Cell{
			Image: "hotcell/python:3", Took: 640 * time.Millisecond, Source: sandbox.ConfidenceKernel, Probe: sealed(),
			Want: Limits{Memory: 64 << 20, PIDs: 48, CPU: 500, Files: 128},
		},
		Direct: hybrid(), Left: Left{At: at},
	}
}

// sealed is what a cell sees where everything holds.
func sealed() *wall.Probe {
	tries := map[string]string{}
	for _, what := range []string{wall.TryWriteRoot, wall.TryUserNS, wall.TryMount, wall.TryAlg, wall.TryVsock, wall.TryIOUring} {
		tries[what] = "operation not permitted"
	}
	return &wall.Probe{
		UID: 65701, GID: 65701, Groups: []int{65701}, Interfaces: []string{"lo"},
		Status: map[string]string{
			"CapEff": "0000000000000000", "CapPrm": "0000000000000000", "CapInh": "0000000000000000", "CapBnd": "0000000000000000",
			"CapAmb": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2",
		},
		Mounts: []wall.ProbeMount{
			{At: "/", Kind: "overlay", ReadOnly: true}, {At: "/proc", Kind: "proc"}, {At: "/sys", Kind: "sysfs", ReadOnly: true},
			{At: "/workspace", Kind: "tmpfs"}, {At: "/skill", Kind: "ext4", ReadOnly: true},
		},
		Memory: 64 << 20, PIDs: 48, CPU: 500, Files: 128, Tries: tries,
	}
}

// modern is an engine of today: v2 with systemd, AppArmor, a runc with all fixes, images in containerd.
func modern(f *Facts) {
	e := f.Engine
	e.Version, e.API, e.APINewest, e.APIOldest, e.System, e.Kernel = "28.5.2", "1.51", "1.51", "1.24", "Ubuntu 24.04.3 LTS", "6.14.0-37-generic"
	e.Storage, e.Backing, e.ImageStore = "overlayfs", "", "containerd"
	e.Runc, e.Containerd, e.CgroupVersion, e.CgroupDriver, e.OOMKillDisable = "1.3.6", "v2.2.1", "2", "systemd", false
	e.Security = append(e.Security, sandbox.SecurityOption{Name: "apparmor"}, sandbox.SecurityOption{Name: "cgroupns"})
	e.LiveRestore = true
	f.Host.Kernel, f.Host.SysResource, f.Host.CorePattern = e.Kernel, true, "|/usr/share/apport/apport -p%p -s%s"
	f.NoGroups = "the engine's cgroup driver is \"systemd\": groups of hotcell's own need cgroupfs"
	f.Host.Socket.Exists, f.Host.Socket.IsSocket, f.Host.Socket.Answers = true, true, true
	f.Cell.Source = sandbox.ConfidenceEngine
	f.Cell.Probe.Memory += memorySlack
	f.Cell.Probe.Label = "docker-default (enforce)"
}

// noSwap is a kernel without swap accounting: the engine warns, so no cell starts.
func noSwap(f *Facts) {
	f.Engine.SwapLimit = false
	f.Engine.Warnings = []string{"WARNING: No swap limit support", "WARNING: bridge-nf-call-iptables is disabled"}
	f.Cell = Cell{Image: "hotcell/python:3", Failed: "runtime_error: create container: engine warns: Your kernel does not support swap limit capabilities"}
}

func rootless(f *Facts) {
	modern(f)
	f.Engine.Address = "unix:///run/user/1000/docker.sock"
	f.Engine.Security = append(f.Engine.Security, sandbox.SecurityOption{Name: "rootless"})
	f.Engine.Root = "/home/op/.local/share/docker"
	f.Host.UID, f.Host.Data.UID = 1000, 1000
	f.NoGroups = "/sys/fs/cgroup can't be written: permission denied"
	f.Host.Socket = Socket{Why: "/run: permission denied"}
	f.Cell = Cell{Image: "hotcell/python:3", Failed: "sandbox_crash: cell did not start: setgroups: invalid argument"}
}

func remote(f *Facts) {
	modern(f)
	f.Engine.Address, f.Engine.Host, f.Engine.Arch, f.Engine.Took = "tcp://10.0.0.7:2376", "farm7", "arm64", 2600*time.Millisecond
	f.Engine.Warnings = []string{"WARNING: API is accessible on http://0.0.0.0:2375 without encryption."}
	f.NoGroups = "the engine is not reached over a unix socket, so it may be on another host"
	f.Host.Engine = Space{}
	f.Skew = -8 * time.Second
}

func oldAPI(f *Facts) {
	f.Engine.Version, f.Engine.API, f.Engine.APINewest, f.Engine.APILeast = "19.03.15", "1.40", "1.40", "1.41"
	f.Engine.Runc, f.Engine.Storage, f.Engine.Clock = "1.0.0-rc10", "devicemapper", time.Time{}
	f.Cell = Cell{Image: "hotcell/python:3", Failed: "runtime_error: engine speaks API 1.40: at least 1.41 is needed"}
}

func noEngineAtAll(f *Facts) {
	*f = Facts{Settings: f.Settings, Host: f.Host, Direct: f.Direct, Left: f.Left}
	f.NoEngine = "no engine answers at unix:///var/run/docker.sock: start it, or set DOCKER_HOST: " + sandbox.ErrUnavailable.Error()
}

func gvisor(f *Facts) {
	f.Engine.Runtimes["runsc"] = "/usr/local/bin/runsc"
	f.Settings.Runtime = "runsc"
	p := f.Cell.Probe
	p.Mounts = append(p.Mounts, wall.ProbeMount{At: "/dev", Kind: "dev"}, wall.ProbeMount{At: "/sys/fs/cgroup/cpu", Kind: "cgroup"})
	p.Memory, p.PIDs, p.CPU, p.Swap = 0, -1, -1, -1
	p.Tries[wall.TryUserNS] = ""
}

// leaky is an engine that says it enforces, and does not.
func leaky(f *Facts) {
	p := f.Cell.Probe
	p.UID, p.GID, p.Groups = 0, 0, []int{0, 10}
	p.Status["CapEff"], p.Status["NoNewPrivs"], p.Status["Seccomp"] = "00000000a80425fb", "0", "0"
	p.Mounts[0].ReadOnly = false
	p.Interfaces = []string{"lo", "eth0"}
	p.Memory, p.Swap, p.PIDs, p.CPU, p.Files, p.Core = 0, 1<<62, 0, 0, 1048576, -1
	p.Tries[wall.TryAlg], p.Tries[wall.TryUserNS] = "", ""
	f.Engine.Runc, f.Engine.Security = "1.3.4", append(f.Engine.Security, sandbox.SecurityOption{Name: "apparmor"})
	p.Label = "unconfined"
}

func leftOver(f *Facts) {
	thing := func(kind, name, state, owner string, expires string) sandbox.Listed {
		return sandbox.Listed{ID: name, Kind: kind, Name: name, State: state, Labels: map[string]string{
			sandbox.LabelInstance: owner, sandbox.LabelExpires: expires,
		}}
	}
	f.Left.Owners = []instance.Info{
		{Instance: "aaaa", PID: 10, Alive: true, Poisoned: []string{"skill-aaaa-9"}}, {Instance: "dddd", PID: 11, Poisoned: []string{"skill-dddd-7"}},
	}
	f.Left.Things = []sandbox.Listed{
		thing("cell", "skill-aaaa-1", "running", "aaaa", "1"), thing("cell", "skill-dddd-1", "exited", "dddd", "99999999999"),
		thing("cell", "skill-dddd-2", "dead", "dddd", ""), thing("cell", "skill-eeee-1", "created", "eeee", "1"),
		thing("cell", "skill-eeee-2", "running", "eeee", "99999999999"), thing("cell", "skill-eeee-3", "removing", "eeee", "1"),
		thing("fill", "hotcell-fill-1", "created", "dddd", ""), thing("cgroup", "skill-dddd-1", "", "dddd", ""),
		thing("volume", "hotcell-runner-1", "", "dddd", ""), thing("volume", "hotcell-bundle-1", "", "eeee", ""),
	}
	f.Left.Bytes = map[string]int64{"hotcell-runner-1": 2 << 20, "hotcell-bundle-1": -1}
}

func badPlace(f *Facts) {
	f.Host.Data = Folder{Why: "/var/lib/hotcell: read-only file system"}
	f.Host.Engine.Free = 20 << 20
	f.Host.Socket = Socket{Exists: true, Usable: true}
	f.Host.Users = []string{"eve (65700)"}
	f.Images[1].Failed = "inspect image: no answer from unix:///var/run/docker.sock in time"
	f.Left.NoOwners = "folder of instances: permission denied"
	f.Left.Failed = "list containers: no answer from unix:///var/run/docker.sock in time"
}

func noImage(f *Facts) {
	f.Images[0] = Image{Kind: "python", Ref: "python:3.12-slim", Why: "not present"}
	f.Images = f.Images[:1]
	f.Settings.NeverPull = true
	f.Cell = Cell{Skipped: "the engine has no image", Hint: "'make image' in hotcell's sources builds an image for skills"}
}

// hostile is an engine, a cell and files that try to steer the terminal of who reads about them.
func hostile(f *Facts) {
	const evil = "\x1b]0;owned\x07\x1b[2J1.0\r\n✓ engine fine\u202e\u0085\x9b31m\xff"
	e := f.Engine
	for _, field := range []*string{
		&e.Address, &e.Version, &e.API, &e.APINewest, &e.APIOldest, &e.Arch, &e.Host, &e.System, &e.Kernel, &e.Root, &e.Storage, &e.Backing,
		&e.ImageStore, &e.DefaultRuntime, &e.Runc, &e.Containerd, &e.CgroupVersion, &e.CgroupDriver, &e.LogDriver,
	} {
		*field = evil
	}
	e.Runtimes = map[string]string{evil: evil, "runc" + strings.Repeat("x", 5000): ""}
	e.Warnings = []string{evil, strings.Repeat("w", 5000)}
	e.Security = []sandbox.SecurityOption{{Name: evil}, {Name: "seccomp", Options: map[string]string{"profile": evil}}}
	p := f.Cell.Probe
	p.Mounts = []wall.ProbeMount{{At: evil, Kind: evil}}
	p.Interfaces, p.Status = []string{evil}, map[string]string{"CapEff": evil, "Seccomp": evil}
	p.Tries[evil] = ""
	f.Images[0].Ref, f.Images[0].Why, f.Images[0].ID = evil, evil, ""
	f.Left.Owners = []instance.Info{{Instance: evil, Poisoned: []string{evil}}}
	f.Left.Things = []sandbox.Listed{{Kind: "cell", Name: evil, State: evil, Labels: map[string]string{sandbox.LabelInstance: evil}}}
	f.Host.Users = []string{evil}
	f.Settings.DataDir, f.Settings.Socket = evil, evil
	f.Settings.References = []Reference{{For: evil, Why: evil}}
}

func wrongSettings(f *Facts) {
	f.Settings.Runtime, f.Settings.MaxMemory, f.Settings.Runners = "kata", 64<<30, nil
	f.Settings.References = []Reference{{For: "provider main"}, {For: "secret TOKEN", Why: "stored:token: there is no such secret: set it with 'hotcell secrets set token'"}}
	f.Engine.OS, f.Engine.Security, f.Engine.CgroupDriver = "windows", nil, "none"
	f.Engine.MemoryLimit, f.Engine.PIDsLimit, f.Engine.CPUQuota = false, false, false
	f.Host.Data.Mode = 0o777
	f.Host.Socket = Socket{Exists: true, IsSocket: true, Answers: true, OpenToAll: true}
	f.Images[0].Refused = "image hotcell/python:3: registry docker.io is not allowed (policy.images.registries)"
	f.Cell = Cell{Skipped: "no cell can run", Hint: "see above"}
}

func TestHosts(t *testing.T) {
	for name, change := range hosts() {
		t.Run(name, func(t *testing.T) {
			f := reference()
			change(&f)
			r := Examine(f)
			var text bytes.Buffer
			if err := r.Print(&text, nil); err != nil {
				t.Fatal(err)
			}
			testutil.Golden(t, filepath.Join("testdata", name+".txt"), text.Bytes())
			b, err := json.MarshalIndent(r, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			testutil.Golden(t, filepath.Join("testdata", name+".json"), append(b, '\n'))
		})
	}
}

// Whatever the host, each check is there once, says something, says what to do where it isn't good, and a report is good
// exactly when nothing failed.
func TestEveryReportIsWhole(t *testing.T) {
	f := reference()
	want := ids(Examine(f))
	direct(&f)
	without := ids(Examine(f))
	for name, change := range hosts() {
		f := reference()
		change(&f)
		r := Examine(f)
		wholeReport(t, name, r)
		got, want := ids(r), want
		if f.Settings.Driver == DriverOCI {
			want = without
		}
		if name != "no-engine" && name != "bad-place" && !slices.Equal(got, want) { // the first has no details, the second knows no owners
			t.Errorf("%s: checks %q, want %q", name, got, want)
		}
	}
}

// wholeReport expects that each check says something fit for a terminal, and what to do where it isn't good.
func wholeReport(t *testing.T, name string, r Report) {
	t.Helper()
	failed := false
	for _, c := range r.Checks {
		failed = failed || c.Level == Fail
		switch {
		case c.Found == "":
			t.Errorf("%s: %s says nothing", name, c.ID)
		case (c.Level == Fail || c.Level == Warn) && c.Hint == "":
			t.Errorf("%s: %s does not say what to do: %s", name, c.ID, c.Found)
		case !slices.Contains([]Level{OK, Warn, Fail, Skip}, c.Level):
			t.Errorf("%s: %s has the level %q", name, c.ID, c.Level)
		}
		for _, text := range []string{c.Found, c.Hint} {
			if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e }) || len(text) > maxFound+4 {
				t.Errorf("%s: %s is not fit for a terminal: %q", name, c.ID, text)
			}
		}
	}
	if r.OK == failed {
		t.Errorf("%s: ok is %v", name, r.OK)
	}
}

func ids(r Report) []string {
	var all []string
	for _, c := range r.Checks {
		if slices.Contains(all, c.ID) {
			all = append(all, c.ID+" twice")
		}
		all = append(all, c.ID)
	}
	return all
}

// Without an engine nothing that it would have to say is called good.
func TestNothingIsGoodWithoutAnEngine(t *testing.T) {
	f := reference()
	noEngineAtAll(&f)
	r := Examine(f)
	for _, c := range r.Checks {
		if c.Level == OK && !slices.Contains([]string{"data-dir", "socket", "supervisors", "poisoned", "oci", "oci-left", "credentials"}, c.ID) {
			t.Errorf("%s is good: %s", c.ID, c.Found)
		}
	}
	if c := r.Check("engine"); c.Level != Fail || !strings.Contains(c.Hint, "start it") {
		t.Errorf("%+v", c)
	}
}

// A cell that fails for another reason is not laid at the door of the engine's user ids.
func TestUserIDsAreBlamedForTheirOwnFaultsAlone(t *testing.T) {
	for words, want := range map[string]Level{
		"sandbox_crash: cell did not start: setgroups: invalid argument":                                      Fail,
		"unable to setup user: cannot set uid to unmapped user in user namespace":                             Fail,
		"runtime_error: create container: engine warns: Your kernel does not support swap limit capabilities": Warn,
		"timeout: the skill did not finish within 10s":                                                        Warn,
	} {
		f := reference()
		rootless(&f)
		f.Cell.Failed = words
		r := Examine(f)
		if c := r.Check("rootless"); c.Level != want {
			t.Errorf("%s: %+v", words, c)
		}
	}
}

func TestNoEngineHints(t *testing.T) {
	for _, tt := range []struct{ words, why, hint string }{
		{"no engine answers at unix:///x: start it, or set DOCKER_HOST: " + sandbox.ErrUnavailable.Error(), "no engine answers at unix:///x", "start it ("},
		{"no engine answers at unix:///x (permission denied): run as a user who may open it, or set DOCKER_HOST: " + sandbox.ErrUnavailable.Error(),
			"no engine answers at unix:///x (permission denied)", "run hotcell as a user who may open it"},
		{"ask the engine what it is: no answer from unix:///x in time: " + sandbox.ErrUnavailable.Error(), "ask the engine what it is: no answer from unix:///x in time", "it hangs"},
		{"no answer within 12s", "no answer within 12s", "it hangs"},
		{`docker host "x": unable to parse docker host`, `docker host "x": unable to parse docker host`, "set DOCKER_HOST to unix:///PATH"},
		{"odd", "odd", "start it ("},
	} {
		if why, hint := noEngine(tt.words); why != tt.why || !strings.HasPrefix(hint, tt.hint) {
			t.Errorf("%q: %q → %q", tt.words, why, hint)
		}
	}
}
