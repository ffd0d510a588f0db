package testutil

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRequire(t *testing.T) {
	parts := map[string]probe{
		"here": func(context.Context) error { return nil },
		"gone": func(context.Context) error { return errors.New("it is gone") },
	}
	tests := []struct {
		name, part, required string
		skip, fatal          string
	}{
		{name: "present", part: "here"},
		{name: "present and listed", part: "here", required: "here"},
		{name: "absent", part: "gone", skip: "needs gone: it is gone"},
		{name: "another one is listed", part: "gone", required: "here", skip: "it is gone"},
		{name: "absent and listed", part: "gone", required: "here, gone", fatal: "HOTCELL_REQUIRE lists gone, but it is gone"},
		{name: "unknown", part: "gnoe", fatal: `unknown part "gnoe": expected one of gone, here`},
		{name: "unknown in the list", part: "here", required: "here,gnoe", fatal: `lists the unknown part "gnoe"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := record(func(r *recorder) { require(r, parts, tt.part, tt.required) })
			contains(t, "skip", got.skip, tt.skip)
			contains(t, "fatal", got.fatal, tt.fatal)
		})
	}
}

func TestRequireKnowsItsParts(t *testing.T) {
	t.Setenv(EnvRequire, "go")
	Require(t, "go")
	t.Setenv(EnvRequire, "")
	got := record(func(r *recorder) { Require(r, "docker-engine") })
	contains(t, "fatal", got.fatal, "amd64, assembler, axe, cgroupfs, cgroups, chromium, crun, curl, docker, dockerd, go, image-node, image-python, image-word-count, kube-fault, kubernetes, linux, node-clients, postgres, prometheus, promtool, python3, root, runc, runsc, systemd-analyze")
}

func TestEngineProbes(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_ping", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("OK")) })
	mux.HandleFunc("GET /images/hotcell/python:3/json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	mux.HandleFunc("GET /info", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"Runtimes":{"runc":{}}}`)) })
	socket := filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(mux)
	server.Listener.Close()
	server.Listener = l
	server.Start()
	defer server.Close()

	tests := []struct {
		name, host, part, want string
	}{
		{name: "unix", host: "unix://" + socket, part: "docker"},
		{name: "image", host: "unix://" + socket, part: "image-python"},
		{name: "no image", host: "unix://" + socket, part: "image-word-count", want: "image hotcell/word-count:1 is not there (GET /images/hotcell/word-count:1/json: 404 Not Found): run scripts/image-word-count"},
		{name: "no runtime", host: "unix://" + socket, part: "runsc", want: "the engine has no runtime runsc: run scripts/runsc"},
		{name: "no engine", host: "unix://" + socket + ".not", part: "image-python", want: "run scripts/engine"},
		{name: "tcp", host: "tcp://127.0.0.1:1", part: "docker", want: "no engine answers at tcp://127.0.0.1:1"},
		{name: "ssh", host: "ssh://somewhere", part: "docker", want: "unix:// or tcp:// only"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", tt.host)
			contains(t, "error", text(probes()[tt.part](t.Context())), tt.want)
		})
	}
}

func TestProgramProbes(t *testing.T) {
	contains(t, "go", text(haveProgram("go", "version")(t.Context())), "")
	contains(t, "program", text(haveProgram("hotcell-no-such-program")(t.Context())), "does not run")
}

func TestGolden(t *testing.T) {
	path := filepath.Join(t.TempDir(), "testdata", "x.golden")
	contains(t, "missing", record(func(r *recorder) { golden(r, path, []byte("one\n"), false) }).fatal, "-update")
	for _, update := range []bool{true, false} {
		got := record(func(r *recorder) { golden(r, path, []byte("one\n"), update) })
		contains(t, "same", got.err+got.fatal, "")
	}
	contains(t, "other", record(func(r *recorder) { golden(r, path, []byte("two\n"), false) }).err, "differs (-want +got)")
	if got := record(func(r *recorder) { Golden(r, path, []byte("two\n")) }); (got.err == "") != Update() {
		t.Errorf("-update=%v, yet the difference was reported as %q", Update(), got.err)
	}
}

func TestGoBuild(t *testing.T) {
	const pkg = "./testdata/hello"
	var path string
	t.Run("users", func(t *testing.T) {
		path = GoBuild(t, pkg)
		t.Run("share", func(t *testing.T) {
			if other := GoBuild(t, pkg); other != path {
				t.Errorf("built again: %s and %s", path, other)
			}
		})
		out, err := exec.CommandContext(t.Context(), path).CombinedOutput()
		if err != nil || string(out) != "hello\n" {
			t.Errorf("the program printed %q: %v", out, err)
		}
		if arm := GoBuild(t, pkg, "GOARCH=arm64"); arm == path {
			t.Error("another environment got the same program")
		}
	})
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("the build of the last user is left: %v", err)
	}
	t.Run("broken", func(t *testing.T) {
		got := record(func(r *recorder) { r.TB = t; GoBuild(r, "./testdata/nothing") })
		contains(t, "fatal", got.fatal, "go build ./testdata/nothing")
	})
}

func TestPrebuilt(t *testing.T) {
	t.Setenv(EnvPrebuilt, "/somewhere")
	t.Setenv("PATH", "")
	if got := GoBuild(t, "../x/program"); got != "/somewhere/program" {
		t.Errorf("got %s", got)
	}
	contains(t, "go", text(probes()["go"](t.Context())), "")
	t.Setenv(EnvPrebuilt, "")
	contains(t, "no go", text(probes()["go"](t.Context())), "go does not run")
}

func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		Poll(t, time.Minute, func() bool { n++; return n == 3 })
		for within, want := range map[time.Duration]string{20 * time.Millisecond: "30s", time.Minute: "1m0s"} {
			got := record(func(r *recorder) { Poll(r, within, func() bool { n++; return false }) })
			contains(t, "fatal", got.fatal, "did not hold within "+want)
		}
		if n < 1000 {
			t.Errorf("asked %d times", n)
		}
	})
}

func contains(t *testing.T, what, got, want string) {
	t.Helper()
	if want == "" && got != "" || !strings.Contains(got, want) {
		t.Errorf("%s = %q, want %q in it", what, got, want)
	}
}
