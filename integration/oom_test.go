package integration

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
)

// Python that comes in useful below.
const (
	eat = "b = []\nwhile True: b.append(bytearray(1 << 20))\n"
	// A child that eats, and its exit status.
	child = "import subprocess, sys\nstatus = subprocess.call([sys.executable, '-c', " + `"b = []\nwhile True: b.append(bytearray(1 << 20))"` + "])\n"
	// A grandchild that eats, in a session of its own, whose parent has gone; the pipe tells when it is dead.
	grandchild = `import os
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.close(r)
        b = []
        while True: b.append(bytearray(1 << 20))
    os._exit(0)
os.close(w)
os.read(r, 1)
`
	// Writes to a file until there is no more room; says how far it came.
	fill = `import sys
n = 0
try:
    with open(%q, "wb", buffering=0) as f:
        while True: n += f.write(bytes(1 << 20))
except OSError as e:
    print('{"type":"skill/result","success":true,"data":"%%s %%d"}' %% (e.errno, n >> 20))
`
	frames64  = "limits: {memory: 64Mi}\nrun: {image: 'hotcell/python:3', frames: true, command: [python3, -u, /skill/main.py]}\n"
	limited64 = "limits: {memory: 64Mi}\n"
)

// needCgroups skips where hotcell can make no control groups of its own on this host.
func needCgroups(t *testing.T) {
	t.Helper()
	testutil.Require(t, "cgroups")
	if f := cgroup.Inspect(); f.Why != "" {
		t.Fatal(f.Why)
	}
}

// ownGroups reports whether cells have control groups of hotcell's own. Under systemd they don't: then the kernel's word is
// there as long as the container is, and only sometimes after.
func ownGroups(t *testing.T) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "docker", "info", "--format", "{{.CgroupDriver}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out)) == "cgroupfs"
}

// memoryEnding is an end around which memory plays a part.
type memoryEnding struct {
	ending
	child bool   // the notes tell of a process that was killed for memory beside a result
	data  string // of a success: how it begins
}

func memoryEndings() []memoryEnding {
	oom := func(name, yaml, script string) memoryEnding {
		return memoryEnding{ending: ending{name: name, yaml: yaml, script: script, code: a2e.OutOfMemory}}
	}
	return []memoryEnding{
		oom("first-process", frames64, eat),
		oom("own-process", limited64, eat),
		oom("child-and-exit-1", limited64, child+"sys.exit(1)"),
		oom("grandchild-and-exit-3", limited64, grandchild+"os._exit(3)"),
		oom("slow-leak", limited64, "import time\nb = []\nwhile True:\n    b.append(bytearray(1 << 20))\n    time.sleep(0.01)\n"),
		oom("first-process-by-files", frames64, "b = [bytearray(1 << 20) for _ in range(24)]\nopen('/workspace/x', 'wb').write(bytes(16 << 20))\n"+eat),
		{ending: ending{name: "child-and-result", yaml: limited64, script: child + `print('{"type":"skill/result","success":true,"data":"alive"}')`, sentry: a2e.OutOfMemory}, child: true, data: "alive"},
		{ending: ending{name: "child-and-exit-0", yaml: limited64, script: child + "print('alive')", sentry: a2e.OutOfMemory}, child: true, data: "alive"},
		{ending: ending{name: "grandchild-and-exit-0", yaml: limited64, script: grandchild + "print('alive')", sentry: a2e.OutOfMemory}, child: true, data: "alive"},
		{ending: ending{name: "full-workspace", script: fmt.Sprintf(fill, "/workspace/x")}, data: "28 6"},
		{ending: ending{name: "full-shm", script: fmt.Sprintf(fill, "/dev/shm/x")}, data: "28 "},
		{ending: ending{name: "near-the-limit", yaml: limited64, script: "b = bytearray(36 << 20)\nprint('fits')"}, data: "fits"},
		{ending: ending{name: "exit-137", yaml: limited64, script: "import os\nb = bytearray(36 << 20)\nos._exit(137)", code: a2e.SkillError, reason: a2e.ReasonExit}},
		{ending: ending{name: "frames-exit-137", yaml: frames64, script: "import os\nb = bytearray(36 << 20)\nos._exit(137)", code: a2e.SandboxCrash, reason: a2e.ReasonExit}},
		{ending: ending{name: "kills-itself-full", yaml: limited64, script: "import os\nb = bytearray(36 << 20)\nos.kill(os.getpid(), 9)", code: a2e.SandboxCrash, reason: a2e.ReasonSignal}},
		{ending: ending{name: "too-late-full", yaml: limited64, script: "import time\nb = bytearray(36 << 20)\ntime.sleep(60)", seconds: 1, code: a2e.Timeout}},
	}
}

func library(endings []memoryEnding) fstest.MapFS {
	all := fstest.MapFS{}
	for _, e := range endings {
		all = rig.Merge(all, rig.PythonSkill(e.name, e.yaml, e.script))
	}
	return all
}

// show returns what is recorded of a call.
func show(t *testing.T, r *rig.Rig, got told) control.Call {
	t.Helper()
	call, _, err := r.Show(t.Context(), got.answer.ID)
	if err != nil {
		t.Fatal(err)
	}
	return call
}

func (e memoryEnding) check(t *testing.T, r *rig.Rig, confidence string) {
	t.Helper()
	e.ending = e.under(os.Getenv(rig.EnvRuntime))
	got := ask(t.Context(), r, request(e.name, e.seconds), nil)
	code, reason := got.code()
	if code != e.code || reason != e.reason {
		t.Fatalf("got %q, reason %q: %+v; want %q, %q", code, reason, got.answer.Error, e.code, e.reason)
	}
	call := show(t, r, got)
	switch {
	case e.code == a2e.Timeout && call.Confidence == "":
		return // on a busy machine the time may be over before the cell runs
	case call.Confidence != sandbox.ConfidenceKernel && !ownGroups(t):
		return
	}
	if call.Confidence != confidence {
		t.Errorf("confidence %q, want %q", call.Confidence, confidence)
	}
	if killed, _ := call.Notes["oom_child"].(bool); e.code != a2e.OutOfMemory && killed != e.child {
		t.Errorf("notes %v: a child killed for memory: want %v", call.Notes, e.child)
	}
	if e.code == "" {
		if s, _ := got.data(t).(string); !strings.HasPrefix(s, e.data) {
			t.Errorf("data %q, want it to begin with %q", s, e.data)
		}
	}
	if call.Usage == nil || call.Usage.MemoryPeakBytes < 1<<20 || call.Usage.CPUMS == 0 {
		t.Errorf("usage %+v: want memory and processor time", call.Usage)
	}
	if e.code == a2e.OutOfMemory && call.Usage.MemoryPeakBytes < 63<<20 {
		t.Errorf("out of memory with a peak of %d bytes", call.Usage.MemoryPeakBytes)
	}
}

func TestMemoryVerdicts(t *testing.T) {
	needCgroups(t)
	endings := memoryEndings()
	r := newRig(t, rig.Options{Skills: library(endings)})
	for _, e := range endings {
		t.Run(e.name, func(t *testing.T) { e.check(t, r, sandbox.ConfidenceKernel) })
	}
	if why := r.Driver.CgroupOff(); why != "" {
		t.Error(why)
	}
}

// An engine that never tells of a kill for memory, as some do: what the kernel counted is enough.
func TestMemoryVerdictsOfAnEngineThatKnowsNothing(t *testing.T) {
	needCgroups(t)
	testutil.Require(t, "docker")
	endings := memoryEndings()[:3]
	r := newRig(t, rig.Options{Skills: library(endings), Host: forgetful(t)})
	for _, e := range endings {
		t.Run(e.name, func(t *testing.T) { e.check(t, r, sandbox.ConfidenceKernel) })
	}
}

// forgetful is an engine whose containers were never killed for memory.
func forgetful(t *testing.T) string {
	t.Helper()
	proxy := &httputil.ReverseProxy{
		Rewrite: func(req *httputil.ProxyRequest) { req.Out.URL.Scheme, req.Out.URL.Host = "http", "docker" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", "/var/run/docker.sock")
		}},
		FlushInterval: -1,
		ModifyResponse: func(resp *http.Response) error {
			if !strings.HasSuffix(resp.Request.URL.Path, "/json") || resp.StatusCode != http.StatusOK {
				return nil
			}
			b, err := io.ReadAll(resp.Body)
			b = bytes.ReplaceAll(b, []byte(`"OOMKilled":true`), []byte(`"OOMKilled":false`))
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
			resp.Header.Set("Content-Length", fmt.Sprint(len(b)))
			return err
		},
	}
	socket := filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
		proxy.Transport.(*http.Transport).CloseIdleConnections()
	})
	return "unix://" + socket
}

// Without control groups of hotcell's own the engine and the runner are believed, and the record says so.
func TestMemoryVerdictsWithoutGroups(t *testing.T) {
	if rig.Engineless() {
		return // the driver oci makes no cell without one
	}
	endings := memoryEndings()[:2]
	r := newRig(t, rig.Options{Skills: library(endings), NoCgroup: true})
	for _, e := range endings {
		got := ask(t.Context(), r, request(e.name, 0), nil)
		if code, _ := got.code(); code != a2e.OutOfMemory {
			t.Errorf("%s: got %+v", e.name, got.answer.Error)
		}
		if call := show(t, r, got); call.Confidence == sandbox.ConfidenceKernel || call.Usage != nil {
			t.Errorf("%s: confidence %q, usage %+v", e.name, call.Confidence, call.Usage)
		}
	}
}

// hogs runs n cells that run out of memory at once, and returns the answers that are not out_of_memory.
func hogs(t *testing.T, r *rig.Rig, names ...string) []string {
	t.Helper()
	wrong := make(chan string, len(names))
	for _, name := range names {
		go func() {
			got := ask(t.Context(), r, request(name, 120), nil)
			if code, reason := got.code(); code != a2e.OutOfMemory {
				wrong <- fmt.Sprintf("%s: %q, reason %q: %v", name, code, reason, got.answer.Error)
				return
			}
			wrong <- ""
		}()
	}
	var all []string
	for range names {
		if w := <-wrong; w != "" {
			all = append(all, w)
		}
	}
	return all
}

// rounds is how often what is a matter of luck is tried: once, or HOTCELL_SOAK_ROUNDS times.
func rounds() int {
	n, _ := strconv.Atoi(os.Getenv("HOTCELL_SOAK_ROUNDS"))
	return max(n, 1)
}

// Many cells that run out of memory at once: each has its own verdict, and no control group is left.
func TestManyHogsAtOnce(t *testing.T) {
	needCgroups(t)
	testutil.Require(t, "cgroupfs") // without groups of our own a verdict may be lost with the engine's word
	r := newRig(t, rig.Options{
		Skills: rig.Merge(rig.PythonSkill("hog", limited64, eat), rig.PythonSkill("framed-hog", frames64, eat)),
		Adjust: func(c *executor.Config) { c.MaxCells = 12 },
	})
	var names []string
	for range 6 {
		names = append(names, "hog", "framed-hog")
	}
	wrong := 0
	for range rounds() {
		for _, w := range hogs(t, r, names...) {
			wrong++
			t.Error(w)
		}
	}
	if n := rounds(); n > 1 {
		fmt.Printf("soak: memory hogs, %d at once: %d calls, %d wrong verdicts\n", len(names), n*len(names), wrong)
	}
	if err := r.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := groupsLeft("/*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Memory that runs out above the cells is nobody's own fault.
func TestMemoryPressureIsNotTheSkillsFault(t *testing.T) {
	needCgroups(t)
	testutil.Require(t, "cgroupfs") // else there is no group above all cells
	for _, framed := range []bool{false, true} {
		t.Run(fmt.Sprintf("frames %v", framed), func(t *testing.T) {
			yaml := "limits: {memory: 512Mi}\n"
			if framed {
				yaml = strings.Replace(frames64, "64Mi", "512Mi", 1)
			}
			r := newRig(t, rig.Options{
				Skills: rig.PythonSkill("greedy", yaml, eat),
				Cgroup: cgroup.Options{Memory: 96 << 20},
			})
			got := ask(t.Context(), r, request("greedy", 60), nil)
			if code, reason := got.code(); code != a2e.SandboxCrash || reason != a2e.ReasonOOMPressure {
				t.Errorf("got %q, reason %q: %+v; want sandbox_crash, oom_pressure", code, reason, got.answer.Error)
			}
			if call := show(t, r, got); call.Confidence != sandbox.ConfidenceKernel {
				t.Errorf("confidence %q", call.Confidence)
			}
		})
	}
}

// A cell that is full and then killed from outside has not run out of memory.
func TestAKillFromOutsideIsNotOutOfMemory(t *testing.T) {
	needCgroups(t)
	script := "import time\nb = bytearray(40 << 20)\nprint('%s', flush=True)\ntime.sleep(60)"
	frame := `{"type":"skill/event","kind":"log","data":{"message":"up"}}`
	r := newRig(t, rig.Options{Skills: rig.Merge(
		rig.PythonSkill("full", limited64, fmt.Sprintf(script, "up")), rig.PythonSkill("framed-full", frames64, fmt.Sprintf(script, frame)))})
	// The exit code of an image without a runner could be its own: it does not prove a signal.
	for name, reason := range map[string]string{"full": a2e.ReasonSignal, "framed-full": a2e.ReasonExit} {
		var killed error
		got := r.Call(t.Context(), a2e.Caller{}, request(name, 30), a2e.EventWriterFunc(func(ctx context.Context, ev *a2e.Event) error {
			if ev.Data["message"] == "up" {
				killed = killCell(ctx, r)
			}
			return nil
		}))
		if killed != nil {
			t.Fatal(killed)
		}
		if got.Error == nil || got.Error.Code != a2e.SandboxCrash || got.Error.Reason() != reason {
			t.Errorf("%s: got %+v, want sandbox_crash, %s", name, got.Error, reason)
		}
	}
}

// What a call used is recorded with it: memory with its files, processor time, how long it was held back, processes.
func TestUsageIsRecorded(t *testing.T) {
	needCgroups(t)
	script := `import threading, time
b = bytearray(20 << 20)
open("/workspace/x", "wb").write(bytes(10 << 20))
threads = [threading.Thread(target=time.sleep, args=(0.2,)) for _ in range(10)]
for t in threads: t.start()
end = time.process_time() + 0.1
while time.process_time() < end: pass
for t in threads: t.join()
print(1)
`
	r := newRig(t, rig.Options{Skills: rig.PythonSkill("works", "limits: {cpu: 0.1}\n", script)})
	got := ask(t.Context(), r, request("works", 60), nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	u := show(t, r, got).Usage
	if u == nil || u.MemoryPeakBytes < 30<<20 || u.CPUMS < 100 || u.ThrottledMS < 50 || u.PIDsPeak < 12 {
		t.Errorf("usage %+v", u)
	}
}

// A container that is gone, with a control group that is not, is a leftover like any other.
func TestALeftGroupIsListedAndRemoved(t *testing.T) {
	needCgroups(t)
	r := newRig(t, rig.Options{})
	other := cgroup.New(cgroup.Options{Root: groups, Instance: "dead"})
	g := other.Enclose("left", 64<<20)
	if g == nil {
		t.Fatal(other.Why())
	}
	id := "cgroup:" + groups + "/dead/left"
	listedAs := func() *sandbox.Listed {
		all, err := r.Driver.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			if l.ID == id {
				return &l
			}
		}
		return nil
	}
	if l := listedAs(); l == nil || l.Kind != "cgroup" || l.Labels[sandbox.LabelInstance] != "dead" {
		t.Errorf("listed as %+v", l)
	}
	if err := r.Driver.Remove(t.Context(), id); err != nil {
		t.Error(err)
	}
	if l := listedAs(); l != nil {
		t.Errorf("still listed: %+v", l)
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
}
