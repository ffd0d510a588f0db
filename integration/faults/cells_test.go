package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/testutil/engineproxy"
)

// frames is a skill without the runner, whose image runs a command.
func frames(name, command string) fstest.MapFS {
	return rig.PythonSkill(name, "run: {image: '"+rig.PythonImage+"', frames: true, command: "+command+"}\n", "")
}

// data is what a skill answered, decoded.
func data(t *testing.T, answer *a2e.CallResponse) any {
	t.Helper()
	b, err := json.Marshal(answer.Data.Data)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// inspect is what the engine tells of a container.
func inspect(ctx context.Context, t *testing.T, id string) string {
	t.Helper()
	out, err := exec.CommandContext(ctx, "docker", "inspect", id).Output()
	if err != nil {
		t.Errorf("docker inspect: %v", err)
	}
	return string(out)
}

// An image whose program cannot be executed is told as such, and leaves no one who waits for its end.
func TestTrap04StartFails(t *testing.T) {
	b := newBench(t, rig.Merge(frames("not-executable", "[/etc/passwd]"), frames("not-there", "[/no/such/program]")), nil)
	for name, code := range map[string]int{"not-executable": 126, "not-there": 127} {
		answer := b.call(t, name, 60)
		expect(t, answer, "sandbox_crash/start_failed")
		if answer.Error == nil || answer.Error.Detail["exit_code"] != code || answer.Error.Retryable {
			t.Errorf("%s: %+v, want exit code %d and no retry", name, answer.Error, code)
		}
		b.awaitNoCells(t)
	}
}

// The skill runs out of memory; the deadline passes while its cell is being removed. The first of the two is what happened.
func TestTrap13OutOfMemoryBeforeTheDeadline(t *testing.T) {
	b := newBench(t, rig.PythonSkill("eats", "limits: {memory: 64Mi}\n", "b = []\nwhile True: b.append(bytearray(1 << 20))"), nil)
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	expect(t, b.call(t, "eats", 60), "out_of_memory") // volumes are filled
	b.awaitNoCells(t)
	held := b.proxy.Inject(engineproxy.Rule{Method: "DELETE", Path: "/containers/*", Fault: engineproxy.Fault{Before: engineproxy.Pause{Until: release}}})
	answer := b.call(t, "eats", 8)
	expect(t, answer, "out_of_memory")
	view, _, err := b.Show(t.Context(), answer.ID)
	if err != nil {
		t.Fatal(err)
	}
	testutil.Poll(t, hang, func() bool { return held.Hits() > 0 && time.Now().After(view.Deadline) })
	_, later, err := b.Show(t.Context(), answer.ID)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, later, "out_of_memory")
	free()
	b.awaitNoCells(t)
}

// The engine forgets that it saw memory run out: the call is told the truth all the same.
func TestTrap14LostOOMEvent(t *testing.T) {
	b := newBench(t, rig.PythonSkill("eats", "limits: {memory: 64Mi}\n", "b = []\nwhile True: b.append(bytearray(1 << 20))"), nil)
	b.proxy.Inject(engineproxy.Rule{Method: "GET", Path: "/containers/*/json", Fault: engineproxy.Fault{Edit: func(body []byte) []byte {
		return bytes.ReplaceAll(body, []byte(`"OOMKilled":true`), []byte(`"OOMKilled":false`))
	}}})
	expect(t, b.call(t, "eats", 60), "out_of_memory")
}

// What fills a writable folder runs out of space before it runs out of memory.
func TestTrap16TmpfsIsMemory(t *testing.T) {
	script := `import errno, json, os
said = {}
for path in ("/workspace", "/out", "/tmp", "/dev/shm", "/run/hotcell"):
    name = path + "/fill"
    try:
        with open(name, "wb", buffering=0) as f:
            for _ in range(512):
                f.write(b"x" * (1 << 20))
        said[path] = "no end"
    except OSError as e:
        said[path] = errno.errorcode[e.errno]
    try:
        os.unlink(name)
    except OSError:
        pass
print(json.dumps(said))
`
	b := newBench(t, rig.PythonSkill("fills", "limits: {memory: 256Mi}\n", script), nil)
	answer := b.call(t, "fills", 120)
	expect(t, answer, "ok")
	said, _ := data(t, answer).(map[string]any)
	for path, end := range said {
		switch end {
		case "ENOSPC", "EROFS", "EACCES", "ENOENT", "EFBIG":
		default:
			t.Errorf("%s: %v", path, end)
		}
	}
	if said["/workspace"] != "ENOSPC" && said["/workspace"] != "EFBIG" {
		t.Errorf("/workspace: %v, want it to be writable and to end", said["/workspace"])
	}
}

// Inside, what the engine masks is masked, and what it mounts read-only is read-only.
func TestTrap18MaskedPaths(t *testing.T) {
	script := `import json, os
def size(path):
    try:
        with open(path, "rb") as f:
            return len(f.read(16))
    except OSError as e:
        return os.strerror(e.errno)
def writes(path):
    try:
        open(path, "r+b").close()
        return True
    except OSError:
        return False
print(json.dumps({
    "masked": {p: size(p) for p in ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/sys/firmware/x")},
    "written": [p for p in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/irq/default_smp_affinity", "/proc/bus/pci") if writes(p)],
}))
`
	b := newBench(t, rig.PythonSkill("looks", "", script), nil)
	answer := b.call(t, "looks", 60)
	expect(t, answer, "ok")
	said := data(t, answer).(map[string]any)
	for path, got := range said["masked"].(map[string]any) {
		if n, read := got.(float64); read && n != 0 {
			t.Errorf("%s gives %v bytes", path, n)
		}
	}
	if written := said["written"].([]any); len(written) > 0 {
		t.Errorf("writable: %v", written)
	}
}

// A cell has volumes that it cannot write to and tmpfs that is its own: no socket and no folder of the host's.
func TestTrap29NothingOfTheHostIsMounted(t *testing.T) {
	b := newBench(t, common(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var cells []struct {
		Mounts []struct {
			Type, Destination string
			RW                bool
		}
		HostConfig struct{ Binds []string }
	}
	b.listen(ctx, "waits", 120, func(text string) {
		if text == "up" {
			if err := json.Unmarshal([]byte(inspect(ctx, t, b.cell(t))), &cells); err != nil {
				t.Error(err)
			}
			cancel()
		}
	})
	if len(cells) != 1 || len(cells[0].Mounts) == 0 || len(cells[0].HostConfig.Binds) != 0 {
		t.Fatalf("mounts: %+v", cells)
	}
	for _, m := range cells[0].Mounts {
		if m.Type != "volume" || m.RW {
			t.Errorf("%s at %s, writable %v", m.Type, m.Destination, m.RW)
		}
	}
}

// cell is the id of the one cell that runs.
func (b *bench) cell(t *testing.T) string {
	t.Helper()
	calls, err := b.List(context.Background(), 1)
	if err != nil || len(calls) != 1 || calls[0].Cell == "" {
		t.Errorf("calls %+v, %v", calls, err)
		return ""
	}
	return calls[0].Cell
}

// holds is grep's word of a file with a match in it.
var holds = regexp.MustCompile(`environ:[1-9]`)

// What a caller hands in is nowhere but in the cell: not in what the engine tells or keeps, and not in hotcell's log.
func TestTrap28SecretHygiene(t *testing.T) {
	const canary = "canary-8f2e51c07b"
	var log lines
	skill := shell("waits", "", "grep -c "+canary[:6]+" /proc/1/environ /proc/self/environ; echo up; sleep 300")
	b := newBench(t, skill, func(c *executor.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	began := time.Now().Add(-time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := request("waits", 120)
	req.Arguments = map[string]any{"token": canary}
	seen := map[string]string{}
	var told []string
	answer := b.Call(ctx, a2e.Caller{}, req, a2e.EventWriterFunc(func(_ context.Context, ev *a2e.Event) error {
		line, _ := json.Marshal(ev)
		told = append(told, string(line))
		if ev.Data["message"] == "up" {
			seen["what the engine tells"] = inspect(ctx, t, b.cell(t))
			seen["what the engine keeps"] = kept(ctx, t, b.cell(t))
			cancel()
		}
		return nil
	}))
	expect(t, answer, "runtime_error/cancelled")
	b.awaitNoCells(t)
	body, _ := json.Marshal(answer)
	seen["the answer"], seen["the events"], seen["the log"] = string(body), strings.Join(told, "\n"), log.String()
	seen["the engine's events"] = events(t, began)
	for where, text := range seen {
		if text == "" {
			t.Errorf("%s: nothing was looked at", where)
		}
		if strings.Contains(text, canary) {
			t.Errorf("%s: the secret is there", where)
		}
	}
	for _, line := range told {
		if holds.MatchString(line) {
			t.Errorf("an environment holds the secret: %s", line)
		}
	}
}

// kept is all that the engine has written about a container on its own disk, where this machine can look.
func kept(ctx context.Context, t *testing.T, id string) string {
	t.Helper()
	testutil.Require(t, "root")
	root, err := exec.CommandContext(ctx, "docker", "info", "--format={{.DockerRootDir}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "containers", id), func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(name)
		all.WriteString(name)
		all.Write(content)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return all.String()
}

// events is what the engine has told of containers since a time.
func events(t *testing.T, since time.Time) string {
	t.Helper()
	at := func(when time.Time) string { return strconv.FormatInt(when.Unix(), 10) }
	out, err := exec.CommandContext(t.Context(), "docker", "events", "--format={{json .}}", "--since="+at(since), "--until="+at(time.Now())).Output()
	if err != nil {
		t.Error(err)
	}
	return string(out)
}

// lines is a log in memory.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Several skills that take all memory at once: each has its own verdict, one beside them is not hurt, and the engine and
// hotcell answer throughout.
func TestTrap30ManyHogsAtOnce(t *testing.T) {
	const hogs = 4
	skills := rig.Merge(shell("bystander", "", "sleep 1; echo 42"), rig.PythonSkill("eats", "limits: {memory: 64Mi}\n", "b = []\nwhile True: b.append(bytearray(1 << 20))"))
	b := newBench(t, skills, func(c *executor.Config) { c.MaxCells = hogs + 1 })
	var all sync.WaitGroup
	for range hogs {
		all.Go(func() { expect(t, b.call(t, "eats", 120), "out_of_memory") })
	}
	all.Go(func() { expect(t, b.call(t, "bystander", 120), "ok") })
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for pings := 0; ; pings++ {
		select {
		case <-done:
			if pings == 0 {
				t.Error("nobody pinged")
			}
			b.awaitNoCells(t)
			return
		case <-tick.C:
		}
		if err := b.Driver.Ping(t.Context()); err != nil { // it has two seconds
			t.Errorf("ping %d: %v", pings, err)
		}
		if _, err := b.List(t.Context(), 0); err != nil {
			t.Error(err)
		}
	}
}
