package docker

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// The answers of a Debian 12 engine.
const (
	debianInfo = `{"Driver":"overlay2","DriverStatus":[["Backing Filesystem","extfs"],["Supports d_type","true"]],"MemoryLimit":true,
		"SwapLimit":true,"CpuCfsQuota":true,"PidsLimit":true,"OomKillDisable":true,"SystemTime":"2026-11-30T06:30:13.5Z","LoggingDriver":"json-file",
		"CgroupDriver":"cgroupfs","CgroupVersion":"1","KernelVersion":"6.18.44","OperatingSystem":"Debian GNU/Linux 12 (bookworm)","OSType":"linux",
		"Architecture":"x86_64","NCPU":2,"MemTotal":25276063744,"DockerRootDir":"/var/lib/docker","Name":"vm","ServerVersion":"20.10.24+dfsg1",
		"DefaultRuntime":"runc","Runtimes":{"runc":{"path":"runc"}},"LiveRestoreEnabled":false,
		"ContainerdCommit":{"ID":"1.6.20~ds1-1+deb12u3"},"RuncCommit":{"ID":"1.1.5+ds1-1+deb12u1"},
		"SecurityOptions":["name=seccomp,profile=default"],"Warnings":null}`
	debianVersion = `{"Version":"20.10.24+dfsg1","ApiVersion":"1.41","MinAPIVersion":"1.12","Components":[
		{"Name":"containerd","Version":"1.6.20~ds1","Details":{"GitCommit":"1.6.20~ds1-1+deb12u3"}},
		{"Name":"runc","Version":"1.1.5+ds1","Details":{"GitCommit":"1.1.5+ds1-1+deb12u1"}}]}`
)

// And those of Docker's own build with images in containerd, rootless, with gVisor's shim.
const (
	rootlessInfo = `{"Driver":"overlayfs","DriverStatus":[["driver-type","io.containerd.snapshotter.v1"]],"MemoryLimit":true,"PidsLimit":true,
		"CgroupDriver":"systemd","CgroupVersion":"2","OSType":"linux","Architecture":"aarch64","ServerVersion":"28.5.2",
		"Runtimes":{"runsc":{"runtimeType":"io.containerd.runsc.v1"}},"LiveRestoreEnabled":true,
		"ContainerdCommit":{"ID":"fcd43222d6b07379a4be9786bda52438f0dd16a1"},"RuncCommit":{"ID":"v1.3.3-0-gd842d771"},
		"SecurityOptions":["name=apparmor","name=seccomp,profile=builtin","name=rootless","name=cgroupns"],"Warnings":["WARNING: No swap limit support"]}`
	rootlessVersion = `{"ApiVersion":"1.51","MinAPIVersion":"1.24","Components":[
		{"Name":"containerd","Version":"v2.2.1","Details":{"GitCommit":"fcd43222d6b07379a4be9786bda52438f0dd16a1"}},
		{"Name":"runc","Version":"1.3.3","Details":{"GitCommit":"v1.3.3-0-gd842d771"}}]}`
)

func saying(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

func TestInspect(t *testing.T) {
	option := func(name string, pairs ...string) sandbox.SecurityOption {
		o := sandbox.SecurityOption{Name: name, Options: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			o.Options[pairs[i]] = pairs[i+1]
		}
		return o
	}
	for _, tt := range []struct {
		name, info, version string
		want                sandbox.EngineFacts
	}{
		{"debian", debianInfo, debianVersion, sandbox.EngineFacts{
			Version: "20.10.24+dfsg1", API: "1.41", APINewest: "1.41", APIOldest: "1.12", OS: "linux", Arch: "amd64", Host: "vm",
			System: "Debian GNU/Linux 12 (bookworm)", Kernel: "6.18.44", CPUs: 2, Memory: 25276063744, Clock: time.Date(2026, 11, 30, 6, 30, 13, 5e8, time.UTC),
			Root: "/var/lib/docker", Storage: "overlay2", Backing: "extfs", Runtimes: map[string]string{"runc": "runc"}, DefaultRuntime: "runc",
			Runc: "1.1.5+ds1-1+deb12u1", Containerd: "1.6.20~ds1-1+deb12u3", CgroupVersion: "1", CgroupDriver: "cgroupfs",
			MemoryLimit: true, SwapLimit: true, PIDsLimit: true, CPUQuota: true, OOMKillDisable: true,
			Security: []sandbox.SecurityOption{option("seccomp", "profile", "default")}, LogDriver: "json-file",
		}},
		{"rootless", rootlessInfo, rootlessVersion, sandbox.EngineFacts{
			Version: "28.5.2", API: "1.41", APINewest: "1.51", APIOldest: "1.24", OS: "linux", Arch: "arm64", Storage: "overlayfs", ImageStore: "containerd",
			Runtimes: map[string]string{"runsc": "io.containerd.runsc.v1"}, Runc: "1.3.3", Containerd: "v2.2.1", CgroupVersion: "2", CgroupDriver: "systemd",
			MemoryLimit: true, PIDsLimit: true, LiveRestore: true, Warnings: []string{"WARNING: No swap limit support"},
			Security: []sandbox.SecurityOption{option("apparmor"), option("seccomp", "profile", "builtin"), option("rootless"), option("cgroupns")},
		}},
		{"silent", "{}", "{}", sandbox.EngineFacts{API: "1.41", Runtimes: map[string]string{}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEngine(t)
			e.replace("GET /info", saying(tt.info))
			e.replace("GET /version", saying(tt.version))
			got, err := e.driver(t, Timeouts{}).Inspect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Address = e.host
			if d := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(sandbox.EngineFacts{}, "Took")); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestInspectOfAnOldEngine(t *testing.T) {
	e := newEngine(t)
	e.replace("GET /info", saying(debianInfo))
	e.replace("GET /version", saying(debianVersion))
	old := func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.40") }
	e.replace("HEAD /_ping", old)
	e.replace("GET /_ping", old)
	got, err := e.driver(t, Timeouts{}).Inspect(t.Context())
	if err != nil || got.API != "1.40" || got.APILeast != "1.41" {
		t.Errorf("API %q, at least %q, error %v", got.API, got.APILeast, err)
	}
}

func TestInspectFails(t *testing.T) {
	e := newEngine(t)
	e.replace("GET /version", func(w http.ResponseWriter, _ *http.Request) { fail(w, 500, "out of order") })
	d := e.driver(t, Timeouts{Info: 300 * time.Millisecond})
	if _, err := d.Inspect(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("500: %v", err)
	}
	e.replace("GET /info", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if _, err := d.Inspect(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("hangs: %v", err)
	}
}

func TestVolumeBytes(t *testing.T) {
	e := newEngine(t)
	e.replace("GET /system/df", saying(`{"Volumes":[{"Name":"a","UsageData":{"Size":7,"RefCount":1}},{"Name":"b","UsageData":{"Size":-1}},{"Name":"c"},null]}`))
	d := e.driver(t, Timeouts{List: 300 * time.Millisecond})
	got, err := d.VolumeBytes(t.Context())
	if diff := cmp.Diff(map[string]int64{"a": 7, "b": -1, "c": -1}, got); diff != "" || err != nil {
		t.Errorf("error %v, -want +got:\n%s", err, diff)
	}
	e.replace("GET /system/df", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if _, err := d.VolumeBytes(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("hangs: %v", err)
	}
}

func TestInspectOfTheRealEngine(t *testing.T) {
	testutil.Require(t, "docker")
	d := open(t, Options{Instance: "test"})
	got, err := d.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Version == "" || got.APINewest == "" || got.OS != "linux" || got.Kernel == "" || got.Runc == "" || got.Memory == 0 || got.Clock.IsZero() || len(got.Runtimes) == 0 {
		t.Errorf("%+v", got)
	}
}
