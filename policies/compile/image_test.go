package compile_test

import (
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/policies/compile"
	"github.com/hotcell/hotcell/sandbox"
)

// compileImage compiles with the image's environment and volumes in place of the usual.
func compileImage(t testing.TB, env, volumes []string) (*sandbox.Spec, error) {
	t.Helper()
	w := workload()
	w.Image.Env, w.Image.Volumes, w.Env = env, volumes, nil
	return compile.Compile(narrow(t, policies.Policy{}, policies.Policy{}, policies.Policy{}), w)
}

// fixedEnv is what a cell has when its image says nothing.
func fixedEnv() []string {
	return []string{
		"HOME=/workspace", "HOTCELL_INPUT=/workspace/in", "HOTCELL_OUT=/out", "HOTCELL_REQUEST=/run/hotcell/request.json",
		"LANG=C.UTF-8", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=/hotcell/lib", "PYTHONUNBUFFERED=1", "TMPDIR=/workspace",
	}
}

func TestImageEnv(t *testing.T) {
	for _, tt := range []struct {
		name  string
		image []string
		want  []string // beside the fixed ones
	}{
		{"nothing", nil, nil},
		{"kept", []string{"PYTHON_VERSION=3.12", "EMPTY=", "EQUALS=a=b", "_x=1"}, []string{"EMPTY=", "EQUALS=a=b", "PYTHON_VERSION=3.12", "_x=1"}},
		{"the last of a name", []string{"A=1", "A=2"}, []string{"A=2"}},
		{"malformed", []string{"", "=", "=x", "NOVALUE", "A B=1", "1A=1", "A\x00=1", "A=\x00", "A=\xff", "Ä=1", "A-B=1"}, nil},
		{"ours", []string{"HOME=/", "TMPDIR=/tmp", "HOTCELL_REQUEST=/x", "HOTCELL_NEW=1", "PYTHONUNBUFFERED=", "SKILL_CORRELATION_ID=1"}, nil},
		{"the engine's and the linker's", []string{"DOCKER_HOST=tcp://x", "LD_PRELOAD=/x.so", "LD_LIBRARY_PATH=/x"}, nil},
		{"the Go runtime's", []string{
			"GODEBUG=x", "GOGC=1", "GOMEMLIMIT=1", "GOMAXPROCS=1", "GOTRACEBACK=crash", "GOCOVERDIR=/", "GORACE=x", "GOPATH=/go",
		}, []string{"GOPATH=/go"}},
		{"an empty path and language", []string{"PATH=", "LANG="}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec, err := compileImage(t, tt.image, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := append(fixedEnv(), tt.want...)
			slices.Sort(want)
			if diff := cmp.Diff(want, spec.OCI.Process.Env); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPythonFindsTheModule(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*compile.Workload)
		want   string
	}{
		"a skill's program":     {func(*compile.Workload) {}, "/hotcell/lib"},
		"after the image's own": {func(w *compile.Workload) { w.Image.Env = []string{"PYTHONPATH=/opt/site:/opt/more"} }, "/opt/site:/opt/more:/hotcell/lib"},
		"no runner":             {func(w *compile.Workload) { w.Frames = true; w.Command = []string{"/main"} }, ""},
		"hotcell's own engine":  {func(w *compile.Workload) { w.Engine = w.Runner; w.Engine.Name = "engine" }, ""},
		"an image's, untouched": {func(w *compile.Workload) {
			w.Frames = true
			w.Command = []string{"/main"}
			w.Image.Env = []string{"PYTHONPATH=/x"}
		}, "/x"},
	} {
		t.Run(name, func(t *testing.T) {
			w := workload()
			w.Image.Env, w.Env = nil, nil
			tt.change(&w)
			spec, err := compile.Compile(narrow(t, policies.Policy{}, policies.Policy{}, policies.Policy{}), w)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, entry := range spec.OCI.Process.Env {
				if value, ok := strings.CutPrefix(entry, "PYTHONPATH="); ok {
					got = value
				}
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestImageEnvIsBounded(t *testing.T) {
	for _, env := range [][]string{
		slices.Repeat([]string{"A=1"}, 257),
		{"A=" + strings.Repeat("x", 64<<10)},
	} {
		if _, err := compileImage(t, env, nil); err == nil || !strings.Contains(err.Error(), "expected at most 256 of 65536") {
			t.Errorf("%d entries: %v", len(env), err)
		}
	}
}

func TestImageVolumes(t *testing.T) {
	for _, tt := range []struct {
		volumes []string
		want    []string // masks
		problem string
	}{
		{nil, nil, ""},
		{[]string{"/srv/data/", "/data", "/data", "/var//lib/x"}, []string{"/data", "/srv/data", "/var/lib/x"}, ""},
		{[]string{"/workspace", "/out/", "/run/hotcell", "/skill", "/hotcell"}, nil, ""},
		{[]string{"/workspacex", "/runner", "/tmp", "/var/run"}, []string{"/runner", "/tmp", "/var/run", "/workspacex"}, ""},
		{[]string{"/"}, nil, "overlaps"},
		{[]string{"/."}, nil, "overlaps"},
		{[]string{"/run"}, nil, "overlaps /run/hotcell"},
		{[]string{"/run/hotcell/secrets"}, nil, "overlaps /run/hotcell"},
		{[]string{"/workspace/in"}, nil, "overlaps /workspace"},
		{[]string{"/skill/x"}, nil, "overlaps /skill"},
		{[]string{"/proc"}, nil, "is in /proc"},
		{[]string{"/sys/fs"}, nil, "is in /sys"},
		{[]string{"/dev/shm"}, nil, "is in /dev"},
		{[]string{"/etc/../dev"}, nil, `has ".." in it`},
		{[]string{"/etc"}, nil, "is in /etc"},
		{[]string{"/usr/bin"}, nil, "holds the image's programs"},
		{[]string{""}, nil, "is not absolute"},
		{[]string{"data"}, nil, "is not absolute"},
		{[]string{"C:\\data"}, nil, "is not absolute"},
		{[]string{"/a,size=1t"}, nil, "comma"},
		{[]string{"/a:/b"}, nil, "colon"},
		{[]string{"/a\n"}, nil, "unprintable"},
		{[]string{"/\xff"}, nil, "unprintable"},
		{[]string{"/" + strings.Repeat("a", 256)}, nil, "longer than 256 bytes"},
		{[]string{"/a/b", "/a"}, nil, "overlaps the volume /a/b"},
		{[]string{"/a", "/a/b"}, nil, "overlaps the volume /a"},
		{slices.Repeat([]string{"/a"}, 17), nil, "17 volumes"},
	} {
		spec, err := compileImage(t, nil, tt.volumes)
		if tt.problem != "" {
			if !errors.Is(err, sandbox.ErrUnsupported) || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("volumes %.60q: %v, want ErrUnsupported with %q", tt.volumes, err, tt.problem)
			}
			continue
		}
		if err != nil {
			t.Errorf("volumes %q: %v", tt.volumes, err)
			continue
		}
		var masks []string
		for _, m := range spec.OCI.Mounts[3:] {
			if m.Destination != "/tmp" || slices.Contains(spec.Image.Volumes, "/tmp") {
				masks = append(masks, m.Destination)
			}
		}
		if diff := cmp.Diff(tt.want, masks); diff != "" {
			t.Errorf("volumes %q (-want +got):\n%s", tt.volumes, diff)
		}
		// A driver looks for a mount at each volume's path, so they are spelt alike.
		for _, v := range spec.Image.Volumes {
			if path.Clean(v) != v || !slices.Contains(append(masks, "/workspace", "/out", "/run/hotcell", "/skill", "/hotcell"), v) {
				t.Errorf("volumes %q: %s is covered by none of %q", tt.volumes, v, masks)
			}
		}
	}
}

// /tmp is masked once, and a volume above or below it is left alone: masks within one another depend on their order.
func TestTmpIsClosed(t *testing.T) {
	for _, tt := range []struct {
		volumes []string
		want    int
	}{
		{nil, 1}, {[]string{"/data"}, 1}, {[]string{"/tmpx"}, 1}, {[]string{"/tmp"}, 1}, {[]string{"/tmp/cache"}, 0},
	} {
		spec, err := compileImage(t, nil, tt.volumes)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, m := range spec.OCI.Mounts {
			if m.Destination == "/tmp" {
				got++
			}
		}
		if got != tt.want {
			t.Errorf("volumes %q: /tmp is mounted %d times, want %d", tt.volumes, got, tt.want)
		}
	}
}

// FuzzImage lets an image say anything: no panic, and nothing of it but clean entries reaches the cell.
func FuzzImage(f *testing.F) {
	f.Add("PATH=/bin\nLD_PRELOAD=/x", "/data\n/run")
	f.Add("GODEBUG=1\nA=\x00\n=\nA\xff=1", "/\n/../x\n/a/b\n/a")
	f.Add("HOTCELL_OUT=/etc\nHOME=/root", "/workspace/\n/out\n/dev/shm")
	f.Fuzz(func(t *testing.T, env, volumes string) {
		spec, err := compileImage(t, strings.Split(env, "\n"), strings.Split(volumes, "\n"))
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !utf8.ValidString(err.Error()) {
				t.Errorf("error %q", err)
			}
			return
		}
		checkEnv(t, spec.OCI.Process.Env)
		for _, m := range spec.OCI.Mounts[3:] {
			own := slices.ContainsFunc(spec.OCI.Mounts[:3], func(o specs.Mount) bool { return o.Destination == m.Destination })
			if own || path.Clean(m.Destination) != m.Destination || !path.IsAbs(m.Destination) || m.Options[0] != "ro" {
				t.Errorf("mount %+v", m)
			}
		}
		if _, err := json.Marshal(spec.OCI); err != nil {
			t.Error(err)
		}
	})
}

func checkEnv(t *testing.T, env []string) {
	names := map[string]bool{}
	for _, entry := range env {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || names[name] || !utf8.ValidString(entry) || strings.ContainsAny(name, "\x00 \n") || strings.Contains(entry, "\x00") {
			t.Errorf("entry %q", entry)
		}
		names[name] = true
		if strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DOCKER_") || name == "GODEBUG" {
			t.Errorf("entry %q reaches the cell", entry)
		}
	}
	for _, entry := range fixedEnv() {
		if name, _, _ := strings.Cut(entry, "="); name != "PATH" && name != "LANG" && !slices.Contains(env, entry) {
			t.Errorf("no %q in %q", entry, env)
		}
	}
}
