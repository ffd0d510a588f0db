package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox/docker"
)

// soak reads how often something is repeated; without the variable it is the short run.
func soak(t *testing.T, variable string, short int) (n int, long bool) {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return short, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: expected a whole number above 0", variable, text)
	}
	return n, true
}

// answerWithin is how soon a call must be answered whose engine went, in a long run.
const answerWithin = 5 * time.Second

// An engine that is killed, or stopped, in the middle of a call: the call is told so at once, and the next one works when
// the engine is back.
func TestEngineRestarts(t *testing.T) {
	rounds, long := soak(t, "HOTCELL_SOAK_RESTARTS", 2)
	e := newPrivateEngine(t)
	e.importImage(t, "hotcell/waiter:1", testutil.GoBuild(t, "./testdata/waiter"))
	b := restartBench(t, e, 0)
	var took []time.Duration
	for round := range rounds {
		sig := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}[round%2]
		moment := time.Duration(0) // once the skill runs
		if round%4 >= 2 {
			moment = rand.N(200 * time.Millisecond) // wherever the call is by then
		}
		d := b.restartOnce(t, e, sig, moment)
		took = append(took, d)
		t.Logf("round %d: %v at %v, answered after %v", round+1, sig, moment.Round(time.Millisecond), d.Round(time.Millisecond))
		if limit := answerWithin; long && d > limit {
			t.Errorf("round %d: answered %v after the engine went, want %v", round+1, d, limit)
		}
	}
	slices.Sort(took)
	if long {
		fmt.Printf("soak: engine restarts: %d, answered after p50 %v, max %v\n", rounds, took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	}
	e.awaitNone(t, b.instance)
}

// awaitNone waits until the engine has nothing of an instance's.
func (e *privateEngine) awaitNone(t *testing.T, instance string) {
	t.Helper()
	driver, err := docker.New(docker.Options{Host: e.host(), Instance: "looker"})
	if err != nil {
		t.Fatal(err)
	}
	defer driver.Close()
	testutil.Poll(t, hang, func() bool { return len(own(t.Context(), t, driver, instance)) == 0 })
}

// An engine that goes while a volume is being filled leaves half a volume and its lock: the next call is not held up by them.
func TestEngineRestartsDuringAFill(t *testing.T) {
	rounds, _ := soak(t, "HOTCELL_SOAK_RESTARTS", 1)
	e := newPrivateEngine(t)
	e.importImage(t, "hotcell/waiter:1", testutil.GoBuild(t, "./testdata/waiter"))
	b := restartBench(t, e, rounds)
	for round := range rounds {
		skill := fmt.Sprintf("fresh%d", round)
		ended := make(chan struct{})
		time.AfterFunc(rand.N(100*time.Millisecond), func() {
			defer close(ended)
			e.end(t, syscall.SIGKILL)
		})
		first := verdict(b.call(t, skill, 60))
		if first != "ok" && first != "sandbox_crash/engine_unavailable" {
			t.Errorf("round %d: got %s", round+1, first)
		}
		<-ended
		e.start(t)
		began := time.Now()
		expect(t, b.call(t, skill, 60), "ok")
		t.Logf("round %d: %s, then ok after %v", round+1, first, time.Since(began).Round(time.Millisecond))
	}
	e.awaitNone(t, b.instance)
}

// An engine that hangs is no excuse: the call is told that its time is over, and when the engine goes on all is as before.
func TestEngineFreezes(t *testing.T) {
	e := newPrivateEngine(t)
	e.importImage(t, "hotcell/waiter:1", testutil.GoBuild(t, "./testdata/waiter"))
	b := restartBench(t, e, 0)
	signal := func(sig syscall.Signal) {
		if err := e.cmd.Process.Signal(sig); err != nil {
			t.Error(err)
		}
	}
	expect(t, b.listen(t.Context(), "waits", 3, func(string) { signal(syscall.SIGSTOP) }), "timeout")
	signal(syscall.SIGCONT)
	expect(t, b.call(t, "quick", 60), "ok")
	e.awaitNone(t, b.instance)
}

// waitsForEngine is the goroutine of an engine that runs still.
const waitsForEngine = "github.com/hotcell/hotcell/integration/faults.(*privateEngine).start.func1"

// restartBench is a supervisor on the private engine, with some skills whose volumes are not filled yet. It is drained
// before the engine ends.
func restartBench(t *testing.T, e *privateEngine, fresh int) *bench {
	t.Helper()
	b := &bench{instance: fmt.Sprintf("restart%dx%d", os.Getpid(), serial.Add(1))}
	running := goleak.IgnoreCurrent()
	skill := func(mode string) string {
		return fmt.Sprintf("run: {image: 'hotcell/waiter:1', command: [/program, %s]}\n", mode)
	}
	skills := rig.Merge(rig.PythonSkill("quick", skill("quick"), ""), rig.PythonSkill("waits", skill("wait"), ""))
	for i := range fresh {
		name := fmt.Sprintf("fresh%d", i)
		skills = rig.Merge(skills, rig.PythonSkill(name, skill("quick"), "# "+name))
	}
	var err error
	b.Rig, err = rig.New(rig.Options{
		Runner: testutil.GoBuild(t, "github.com/hotcell/hotcell/cmd/hotcell-runner"),
		Skills: skills, Host: e.host(), Instance: b.instance,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(time.Minute); err != nil {
			t.Errorf("close: %v", err)
		}
		goleak.VerifyNone(t, running, goleak.IgnoreAnyFunction(waitsForEngine))
	})
	expect(t, b.call(t, "quick", 60), "ok")
	return b
}

// restartOnce ends the engine during a call, at a moment after the call's begin or when the skill runs, and starts it
// again. It returns how long the caller waited for the truth.
func (b *bench) restartOnce(t *testing.T, e *privateEngine, sig syscall.Signal, moment time.Duration) time.Duration {
	t.Helper()
	var went time.Time
	ended := make(chan struct{})
	end := sync.OnceFunc(func() {
		went = time.Now()
		go func() {
			defer close(ended)
			e.end(t, sig)
		}()
	})
	if moment > 0 {
		time.AfterFunc(moment, end)
	}
	answer := b.listen(t.Context(), "waits", 300, func(text string) {
		if text == "up" {
			end()
		}
	})
	now := time.Now()
	expect(t, answer, "sandbox_crash/engine_unavailable")
	<-ended
	if !e.refuses() {
		t.Error("something still listens")
	}
	e.start(t)
	expect(t, b.call(t, "quick", 60), "ok")
	return now.Sub(went)
}

// The folder is empty of mounts and processes once the engine is gone, or the next test would meet them.
func TestPrivateEngineLeavesNothing(t *testing.T) {
	var dir string
	t.Run("engine", func(t *testing.T) {
		e := newPrivateEngine(t)
		dir = e.dir
		e.end(t, syscall.SIGKILL)
	})
	if dir == "" {
		return // it was skipped, or has failed already
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder: %v", err)
	}
	if pids := processesOf(dir); len(pids) > 0 {
		t.Errorf("processes %v", pids)
	}
	if left, _ := filepath.Glob(dir + "*"); len(left) > 0 {
		t.Errorf("files %v", left)
	}
}
