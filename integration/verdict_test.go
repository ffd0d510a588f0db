package integration

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// ending is a skill that ends in one way, and the verdict that is true of it.
type ending struct {
	name    string
	yaml    string
	script  string
	seconds int
	code    a2e.Code // "" for success
	sentry  a2e.Code // instead of code under runsc, where it differs
	without string   // what it says instead of says, where no engine is
	reason  string
	says    string // part of the error's message
}

// under is the ending under a runtime.
func (e ending) under(runtime string) ending {
	if runtime == "runsc" && e.sentry != "" {
		e.code = e.sentry
	}
	if rig.Engineless() && e.without != "" {
		e.says = e.without
	}
	return e
}

func endings() []ending {
	const small = "limits: {memory: 64Mi}\n"
	return []ending{
		{name: "plain-print", script: "print('{\"a\": 1}')"},
		{name: "sleeps-on", script: "import time\ntime.sleep(60)", seconds: 1, code: a2e.Timeout, says: "within 1s"},
		{name: "ignores-sigterm", script: "import signal, time\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(60)", seconds: 1, code: a2e.Timeout},
		{name: "eats-memory", yaml: small, script: "b = []\nwhile True: b.append(bytearray(1 << 20))", code: a2e.OutOfMemory, says: "64Mi"},
		{name: "child-eats-memory", yaml: small, script: `import subprocess, sys
sys.exit(subprocess.call([sys.executable, "-c", "b = []\nwhile True: b.append(bytearray(1 << 20))"]) != 0)`, code: a2e.OutOfMemory},
		{name: "outlives-its-child", yaml: small, script: `import subprocess, sys
subprocess.call([sys.executable, "-c", "b = []\nwhile True: b.append(bytearray(1 << 20))"])
print('{"type":"skill/result","success":true,"data":"alive"}')`,
			sentry: a2e.OutOfMemory}, // the limit holds for gVisor's kernel and all it runs as one process: they die together
		{name: "exits-with-3", script: "import sys\nsys.exit('disk on fire') if False else (sys.stderr.write('disk on fire\\n'), sys.exit(3))",
			code: a2e.SkillError, reason: a2e.ReasonExit, says: "exited with 3: disk on fire"},
		{name: "exits-with-137", script: "import os\nos._exit(137)", code: a2e.SkillError, reason: a2e.ReasonExit, says: "exited with 137"},
		{name: "kills-itself", script: "import os\nos.kill(os.getpid(), 9)", code: a2e.SandboxCrash, reason: a2e.ReasonSignal, says: "signal 9"},
		{name: "says-it-failed", script: `print('{"type":"skill/result","success":false,"error":"no such ticket","error_code":"E42"}')`,
			code: a2e.SkillError, says: "no such ticket"},
		{name: "floods", yaml: "limits: {output: 64Ki}\n", script: "while True: print('x' * 1000)", code: a2e.SkillError, reason: a2e.ReasonOutputLimit},
		{name: "no-such-command", yaml: "run: {image: 'hotcell/python:3', command: [no-such-program]}\n", code: a2e.SkillError, reason: a2e.ReasonStartFailed, says: "no-such-program"},
		{name: "breaks-its-promise", yaml: "output_schema: {type: object, required: [n]}\n", script: "print('{}')", code: a2e.SkillError, reason: a2e.ReasonOutputSchema},
		{name: "no-such-image", yaml: "run: {image: '127.0.0.1:1/acme/none:1'}\n", code: a2e.RuntimeError, reason: a2e.ReasonImageUnavailable, says: "build or pull it first", without: "not imported"},
	}
}

func TestEveryEndHasItsTrueVerdict(t *testing.T) { verdicts(t, os.Getenv(rig.EnvRuntime)) }

func TestEveryEndUnderRunsc(t *testing.T) {
	testutil.Require(t, "runsc")
	verdicts(t, "runsc")
}

func verdicts(t *testing.T, runtime string) {
	all := fstest.MapFS{}
	for _, e := range endings() {
		all = rig.Merge(all, rig.PythonSkill(e.name, e.yaml, e.script))
	}
	r := newRig(t, rig.Options{Skills: all, Runtime: runtime})
	for _, e := range endings() {
		e = e.under(runtime)
		t.Run(e.name, func(t *testing.T) {
			got := ask(t.Context(), r, request(e.name, e.seconds), nil)
			code, reason := got.code()
			if code != e.code || reason != e.reason {
				t.Fatalf("got %q, reason %q: %+v; want %q, %q", code, reason, got.answer.Error, e.code, e.reason)
			}
			if e.says != "" && !strings.Contains(got.answer.Error.Message, e.says) {
				t.Errorf("message = %q, want it to say %q", got.answer.Error.Message, e.says)
			}
			if got.answer.Data == nil || got.answer.Data.Success != (e.code == "") {
				t.Errorf("data = %+v", got.answer.Data)
			}
		})
	}
}

// A cell that is killed from outside, and one whose engine connection breaks, are crashes and nothing else.
func TestAKillFromOutsideIsACrash(t *testing.T) {
	r := newRig(t, rig.Options{Skills: rig.PythonSkill("waits", "", "import time\nprint('up', flush=True)\ntime.sleep(60)")})
	var killed error
	got := r.Call(t.Context(), a2e.Caller{}, request("waits", 30), a2e.EventWriterFunc(func(ctx context.Context, ev *a2e.Event) error {
		if ev.Data["message"] == "up" {
			killed = killCell(ctx, r)
		}
		return nil
	}))
	if killed != nil {
		t.Fatal(killed)
	}
	if got.Error == nil || got.Error.Code != a2e.SandboxCrash || got.Error.Reason() != a2e.ReasonSignal {
		t.Errorf("got %+v, want sandbox_crash by a signal", got.Error)
	}
}

// killCell kills the cell of the newest call behind the supervisor's back.
func killCell(ctx context.Context, r *rig.Rig) error {
	calls, err := r.Supervisor.List(ctx, 1)
	if err != nil {
		return err
	}
	return r.Shoot(ctx, calls[0].Cell)
}

func TestCancelIsToldAsSuch(t *testing.T) {
	r := newRig(t, rig.Options{Skills: rig.PythonSkill("waits", "", "import time\nprint('up', flush=True)\ntime.sleep(60)")})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := r.Call(ctx, a2e.Caller{}, request("waits", 30), a2e.EventWriterFunc(func(context.Context, *a2e.Event) error {
		cancel()
		return nil
	}))
	if got.Error == nil || got.Error.Reason() != a2e.ReasonCancelled {
		t.Errorf("got %+v, want cancelled", got.Error)
	}
}

// Whoever prints and exits at once is heard: 200 times out of 200.
func TestNoResultIsLost(t *testing.T) {
	r := newRig(t, rig.Options{Skills: rig.PythonSkill("quick", "run: {image: 'hotcell/python:3', command: [sh, -c, 'echo 42']}\n", "")})
	const runs, at = 200, 4
	failures := make(chan string, runs)
	work := make(chan int)
	done := make(chan struct{})
	for range at {
		go func() {
			defer func() { done <- struct{}{} }()
			for range work {
				got := ask(t.Context(), r, request("quick", 60), nil)
				if got.answer.Error != nil {
					failures <- got.answer.Error.Error()
				} else if d := got.data(t); d != float64(42) {
					failures <- "data is not 42"
				}
			}
		}()
	}
	for i := range runs {
		work <- i
	}
	close(work)
	for range at {
		<-done
	}
	close(failures)
	for f := range failures {
		t.Error(f)
	}
}

func TestTimeoutIsPrompt(t *testing.T) {
	r := newRig(t, rig.Options{Skills: rig.PythonSkill("spins", "", "while True: pass")})
	got := ask(t.Context(), r, request("spins", 2), nil)
	if code, _ := got.code(); code != a2e.Timeout {
		t.Fatalf("got %+v", got.answer.Error)
	}
	call, _, err := r.Show(t.Context(), got.answer.ID)
	if err != nil {
		t.Fatal(err)
	}
	late := call.Ended.Sub(call.Deadline)
	t.Logf("answered %v after the deadline", late)
	if late < 0 || late > 5*time.Second { // the figure itself is measured by make soak; here it only must not hang
		t.Errorf("answered %v after the deadline", late)
	}
	testutil.Poll(t, 20*time.Second, func() bool {
		cells, err := r.Driver.List(t.Context())
		for _, c := range cells {
			if c.Kind == "cell" && c.Labels["hotcell.call"] == got.answer.ID {
				return false
			}
		}
		return err == nil
	})
}
