package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

func TestRunForPeople(t *testing.T) {
	issues := []any{
		map[string]any{"line": json.Number("12"), "column": json.Number("1"), "severity": "warning", "rule": "unused-import", "message": "os is imported and not used"},
		map[string]any{"line": json.Number("40"), "severity": "error", "message": "eval\x1b[2J of input"},
	}
	for _, tt := range []struct {
		name string
		run  func(context.Context, *a2e.CallRequest, fs.FS, a2e.EventWriter) *a2e.CallResponse
	}{
		{"findings", succeed(map[string]any{"issues": issues, "lines": json.Number("120")}, "2 issues found",
			event(a2e.KindStatus, "message", "reading"),
			event(a2e.KindProgress, "pct", 40, "message", "checking imports"),
			event(a2e.KindLog, "level", "info", "message", "parsed 120 lines"),
			event(a2e.KindLog, "level", "error", "message", "two\nlines"),
			a2e.Event{Kind: a2e.KindArtifact, Data: chunk("report.md", strings.Repeat("x", 1300), true)},
			event(a2e.KindProgress, "pct", 100, "message", "done"),
		)},
		{"text", succeed("one\ntwo", "")},
		{"raw", succeed(json.RawMessage(`{"big":12345678901234567890}`), "")},
		{"nothing", succeed(nil, "")},
		{"hostile", succeed(
			map[string]any{"a\x1b[31m": "b\u202e\u009b"}, "\x1b]0;owned\x07hotcell: done\nhotcell: all is well",
			event(a2e.KindLog, "level", "\x1b[31m", "message", "\x1b[2J\x1b[Hhotcell: skill \"probe\" ended"),
			event(a2e.KindProgress, "pct", "NaN", "message", "a\rb"),
			event(a2e.KindProgress, "pct", 1e300),
			event("odd", "x", "\u202e"),
			event(a2e.KindLog, "level", []any{}, "message", map[string]any{}),
			event(a2e.KindStatus),
			a2e.Event{Kind: a2e.KindArtifact},
			a2e.Event{Kind: a2e.KindArtifact, Data: chunk("../\x1b[31m", "x", true)},
		)},
		{"failed", fail(
			a2e.Errorf(a2e.SkillError, "exit status 3: no such\x1b[31m column").Because(a2e.ReasonExit).With("stderr", "Traceback:\n  boom\x07\n"),
			event(a2e.KindProgress, "pct", 10, "message", "starting"),
		)},
		{"timeout", fail(a2e.Errorf(a2e.Timeout, "the skill did not end within 30s"))},
		{"no engine", fail(a2e.Errorf(a2e.SandboxCrash, "no engine answers at unix:///var/run/docker.sock").Because(a2e.ReasonEngineUnavailable))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.run)
			got := b.transcript(b.run("run", "probe"))
			if strings.IndexFunc(got, unsafeRune) >= 0 {
				t.Errorf("something that could steer a terminal came through: %q", got)
			}
			testutil.Golden(t, b.golden("run/"+strings.ReplaceAll(tt.name, " ", "-")+".txt"), []byte(got))
			if !b.closed.Load() || b.super.drains.Load() == 0 || b.super.sweeps.Load() != 1 || b.super.trims.Load() != 1 {
				t.Errorf("the supervisor was not drained and closed, or swept %d and trimmed %d times", b.super.sweeps.Load(), b.super.trims.Load())
			}
		})
	}
}

// transcript is all that a command wrote, and its exit code.
func (b *bench) transcript(code int) string {
	return "--- stdout\n" + b.out.String() + "--- stderr\n" + b.err.String() + "--- exit " + compact(code) + "\n"
}

func TestRunAsJSON(t *testing.T) {
	b := newBench(t, succeed(map[string]any{"ok": true}, "fine",
		event(a2e.KindProgress, "pct", 40, "message", "m<&>"), event(a2e.KindLog, "level", "info", "message", "x\x1b[31m")))
	if code := b.run("run", "probe", "--json", "--arg", "k=v", "--timeout", "30s"); code != 0 {
		t.Fatalf("exit %d: %s", code, b.err.String())
	}
	lines := strings.Split(strings.TrimSuffix(b.out.String(), "\n"), "\n")
	var types []string
	for _, line := range lines {
		var h a2e.Header
		if err := json.Unmarshal([]byte(line), &h); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		types = append(types, h.Type)
	}
	if diff := cmp.Diff([]string{a2e.TypeEvent, a2e.TypeEvent, a2e.TypeCallResponse}, types); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if b.err.Len() > 0 {
		t.Errorf("stderr = %q", b.err.String())
	}
	req := b.super.last
	if diff := cmp.Diff(map[string]any{"k": "v"}, req.Arguments); diff != "" || req.Timeout == nil || *req.Timeout != 30 {
		t.Errorf("request: %s, timeout %v", diff, req.Timeout)
	}
}

func TestRunAsJSONShowsFailures(t *testing.T) {
	b := newBench(t, fail(a2e.Errorf(a2e.UnknownSkill, "unknown skill")))
	if code := b.run("run", "probe", "--json"); code != exitUsage {
		t.Errorf("exit %d, want %d", code, exitUsage)
	}
	var resp a2e.CallResponse
	if err := json.Unmarshal(b.out.Bytes(), &resp); err != nil || resp.Error == nil || resp.Error.Code != a2e.UnknownSkill {
		t.Errorf("stdout = %q, %v", b.out.String(), err)
	}
	if b.err.Len() > 0 {
		t.Errorf("stderr = %q", b.err.String())
	}
}

func TestExitCodes(t *testing.T) {
	for code, want := range map[a2e.Code]int{
		a2e.SkillError: 1, a2e.RuntimeError: 1, a2e.ParseError: 2, a2e.InvalidMessage: 2, a2e.SchemaViolation: 2, a2e.UnknownSkill: 2,
		a2e.VersionMismatch: 2, a2e.Timeout: 3, a2e.OutOfMemory: 4, a2e.SandboxCrash: 5, a2e.Unauthorized: 6, "made_up": 1,
	} {
		b := newBench(t, fail(a2e.Errorf(code, "why")))
		if got := b.run("run", "probe"); got != want {
			t.Errorf("%s: exit %d, want %d", code, got, want)
		}
		if n := strings.Count(b.err.String(), "\n"); n != 1 {
			t.Errorf("%s: %d lines on stderr, want one: %q", code, n, b.err.String())
		}
	}
}

func TestRunConvertsBySchema(t *testing.T) {
	b := newBench(t, succeed(nil, ""))
	b.schemaOfOne = `{"type":"object","properties":{"n":{"type":"integer"}}}`
	if code := b.run("run", "probe", "--arg", "n=3", "--args", `{"n":1,"m":2}`); code != 0 {
		t.Fatal(b.err.String())
	}
	want := map[string]any{"n": json.Number("3"), "m": json.Number("2")}
	if diff := cmp.Diff(want, b.super.last.Arguments); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

func TestRunHandsInFiles(t *testing.T) {
	var got string
	b := newBench(t, func(ctx context.Context, req *a2e.CallRequest, inputs fs.FS, w a2e.EventWriter) *a2e.CallResponse {
		data, err := fs.ReadFile(inputs, "data.csv")
		if err != nil {
			t.Error(err)
		}
		got = string(data)
		return succeed(nil, "")(ctx, req, inputs, w)
	})
	if err := os.WriteFile("data.csv", []byte("a,b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := b.run("run", "probe", "--input", "data.csv"); code != 0 || got != "a,b" {
		t.Errorf("exit %d, file %q: %s", code, got, b.err.String())
	}
}

func TestRunSavesArtifacts(t *testing.T) {
	b := newBench(t, succeed(nil, "", a2e.Event{Kind: a2e.KindArtifact, Data: chunk("r.md", "hello", true)}))
	if code := b.run("run", "probe", "--out", "reports"); code != 0 {
		t.Fatal(b.err.String())
	}
	if data, err := os.ReadFile("reports/r.md"); err != nil || string(data) != "hello" {
		t.Errorf("saved %q, %v", data, err)
	}
	if code := b.run("run", "probe", "--out", "reports"); code != exitFailed || !strings.Contains(b.err.String(), "--force replaces it") {
		t.Errorf("exit %d, want %d: %s", code, exitFailed, b.err.String())
	}
}

// Everything that could not be saved is named, once a reason.
func TestRunNamesAllConflicts(t *testing.T) {
	b := newBench(t, succeed(nil, "", a2e.Event{Kind: a2e.KindArtifact, Data: chunk("a.md", "1", true)},
		a2e.Event{Kind: a2e.KindArtifact, Data: chunk("b.md", "2", true)}, a2e.Event{Kind: a2e.KindArtifact, Data: chunk("c.md", "3", true)}))
	for _, name := range []string{"a.md", "c.md"} {
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code := b.run("run", "probe", "--out", ".")
	want := "hotcell: artifacts are not saved: a.md, c.md: a file of that name is there already: --force replaces it\n"
	if code != exitFailed || !strings.HasSuffix(b.err.String(), want) {
		t.Errorf("exit %d, %q, want %q", code, b.err.String(), want)
	}
}

func TestRunLooksAtOutBefore(t *testing.T) {
	ran := false
	b := newBench(t, func(ctx context.Context, req *a2e.CallRequest, in fs.FS, w a2e.EventWriter) *a2e.CallResponse {
		ran = true
		return succeed(nil, "")(ctx, req, in, w)
	})
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := b.run("run", "probe", "--out", "file"); code != exitUsage || ran || !strings.Contains(b.err.String(), "--out: file: not a directory") {
		t.Errorf("exit %d, ran %t: %s", code, ran, b.err.String())
	}
}

// The advice about a timeout is true for whoever bounded it.
func TestTimeoutHint(t *testing.T) {
	for _, tt := range []struct {
		skill time.Duration
		asked string
		want  string
	}{
		{0, "", "give it more time with --timeout, or timeout_seconds in skill.yaml"},
		{0, "5s", "give it more time with --timeout\n"},
		{30 * time.Second, "", "timeout_seconds in skill.yaml is what it had: raise it there"},
		{30 * time.Second, "30s", "timeout_seconds in skill.yaml is what it had: raise it there"},
		{30 * time.Second, "300s", "timeout_seconds in skill.yaml is what it had: raise it there"},
		{30 * time.Second, "5s", "give it more time with --timeout\n"},
		{0, "9999s", "no call may take longer"},
	} {
		b := newBench(t, fail(a2e.Errorf(a2e.Timeout, "too slow")))
		b.timeoutOfOne = tt.skill
		args := []string{"run", "probe"}
		if tt.asked != "" {
			args = append(args, "--timeout", tt.asked)
		}
		if code := b.run(args...); code != exitTimeout || !strings.HasSuffix(b.err.String(), "; "+strings.TrimSuffix(tt.want, "\n")+"\n") {
			t.Errorf("skill %s, call %q: %s", tt.skill, tt.asked, b.err.String())
		}
	}
}

// A traceback that came as events is not told again; one that did not is.
func TestStderrIsToldOnce(t *testing.T) {
	boom := a2e.Errorf(a2e.SkillError, "exit").With("stderr", "back:\n  line 1\nboom\n")
	for name, tt := range map[string]struct {
		events []a2e.Event
		times  int
	}{
		"a line each": {[]a2e.Event{event(a2e.KindLog, "level", "error", "message", "Traceback:"), event(a2e.KindLog, "level", "error", "message", "  line 1"),
			event(a2e.KindLog, "level", "error", "message", "boom")}, 1},
		"in one":         {[]a2e.Event{event(a2e.KindLog, "level", "error", "message", "earlier\nTraceback:\n  line 1\nboom\n")}, 1},
		"not at all":     {nil, 1},
		"in part":        {[]a2e.Event{event(a2e.KindLog, "level", "error", "message", "boom")}, 2},
		"something else": {[]a2e.Event{event(a2e.KindLog, "level", "info", "message", "boom")}, 2},
	} {
		b := newBench(t, fail(boom, tt.events...))
		b.run("run", "probe")
		if n := strings.Count(b.err.String(), "boom"); n != tt.times {
			t.Errorf("%s: told %d times, want %d:\n%s", name, n, tt.times, b.err.String())
		}
	}
}

func TestHints(t *testing.T) {
	for _, tt := range []struct {
		err  *a2e.Error
		want string
	}{
		{a2e.Errorf(a2e.SandboxCrash, "no engine answers at x: start it: %w", sandbox.ErrUnavailable).Because(a2e.ReasonEngineUnavailable),
			`no engine answers at x: start it (engine_unavailable)`},
		{a2e.Errorf(a2e.UnknownSkill, "unknown skill"), "'hotcell skills list --all' shows what is there, and what of it can't be called"},
		{a2e.Errorf(a2e.UnknownSkill, `did you mean "b"?`).With("suggestion", "b"), `did you mean "b"?`},
	} {
		if got := failureLine("a", tt.err, ""); !strings.HasSuffix(got, tt.want) {
			t.Errorf("got %q, want %q at its end", got, tt.want)
		}
	}
}

// untilCancelled is a skill that runs until it is cancelled.
func untilCancelled(started chan<- struct{}) func(context.Context, *a2e.CallRequest, fs.FS, a2e.EventWriter) *a2e.CallResponse {
	return func(ctx context.Context, req *a2e.CallRequest, inputs fs.FS, w a2e.EventWriter) *a2e.CallResponse {
		close(started)
		<-ctx.Done()
		return fail(a2e.Errorf(a2e.RuntimeError, "the call was cancelled").Because(a2e.ReasonCancelled))(ctx, req, inputs, w)
	}
}

func TestInterrupt(t *testing.T) {
	started := make(chan struct{})
	b := newBench(t, untilCancelled(started))
	done := make(chan int)
	go func() { done <- b.run("run", "probe") }()
	<-started
	(<-b.signals) <- os.Interrupt
	if code := <-done; code != exitInterrupted {
		t.Errorf("exit %d, want %d", code, exitInterrupted)
	}
	if b.super.killed.Load() {
		t.Error("one signal killed the cells")
	}
	if !strings.Contains(b.err.String(), "the call was cancelled") {
		t.Errorf("stderr = %q", b.err.String())
	}
}

func TestSecondInterruptKills(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	b := newBench(t, func(ctx context.Context, req *a2e.CallRequest, inputs fs.FS, w a2e.EventWriter) *a2e.CallResponse {
		close(started)
		<-release // deaf to its cancellation
		return fail(a2e.Errorf(a2e.RuntimeError, "killed").Because(a2e.ReasonCancelled))(ctx, req, inputs, w)
	})
	done := make(chan int)
	go func() { done <- b.run("run", "probe") }()
	<-started
	signals := <-b.signals
	signals <- os.Interrupt
	signals <- os.Interrupt
	testutil.Poll(t, 10e9, b.super.killed.Load)
	close(release)
	if code := <-done; code != exitInterrupted {
		t.Errorf("exit %d, want %d", code, exitInterrupted)
	}
}

// brokenPipe fails like a pipe whose reader has gone, after so many writes.
type brokenPipe struct{ left int }

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.left--; p.left < 0 {
		return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}
	}
	return len(b), nil
}

func TestBrokenPipeCancelsQuietly(t *testing.T) {
	b := newBench(t, func(ctx context.Context, req *a2e.CallRequest, inputs fs.FS, w a2e.EventWriter) *a2e.CallResponse {
		for i := 0; ctx.Err() == nil && i < 1000; i++ {
			emit(ctx, req, w, []a2e.Event{event(a2e.KindLog, "level", "info", "message", "again")})
		}
		return fail(a2e.Errorf(a2e.RuntimeError, "cancelled").Because(a2e.ReasonCancelled))(ctx, req, inputs, w)
	})
	b.app.stdout = &brokenPipe{left: 3}
	if code := b.run("run", "probe", "--json"); code != exitPipe || b.err.Len() > 0 {
		t.Errorf("exit %d and %q, want %d and nothing", code, b.err.String(), exitPipe)
	}
}

func TestBrokenPipeForPeople(t *testing.T) {
	b := newBench(t, succeed("data", "fine"))
	b.app.stdout = &brokenPipe{}
	if code := b.run("run", "probe"); code != exitPipe || b.err.Len() > 0 {
		t.Errorf("exit %d and %q, want %d and nothing", code, b.err.String(), exitPipe)
	}
}

func TestNoAnswerAtAll(t *testing.T) {
	b := newBench(t, func(_ context.Context, req *a2e.CallRequest, _ fs.FS, _ a2e.EventWriter) *a2e.CallResponse {
		return &a2e.CallResponse{ReqID: req.ID, Name: req.Name}
	})
	if code := b.run("run", "probe"); code != exitFailed {
		t.Errorf("exit %d, want %d", code, exitFailed)
	}
}

func TestOutcome(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
		show bool
	}{
		{nil, 0, false},
		{errors.New("x"), 1, true},
		{usagef("x"), 2, true},
		{silent(3), 3, false},
		{errors.Join(silent(4), nil), 4, false},
		{a2e.Errorf(a2e.Unauthorized, "x"), 6, true},
		{&os.PathError{Err: syscall.EPIPE}, exitPipe, false},
	} {
		if code, show := outcome(tt.err); code != tt.code || show != tt.show {
			t.Errorf("outcome(%v) = %d, %v, want %d, %v", tt.err, code, show, tt.code, tt.show)
		}
	}
}

// What skills say for their authors is shown when it is asked for, and always in JSON.
func TestDebugIsShownOnDemand(t *testing.T) {
	for flag, want := range map[string]bool{"": false, "--debug": true, "--json": true} {
		b := newBench(t, succeed(nil, "", event(a2e.KindLog, "level", "debug", "message", "inner life"), event(a2e.KindLog, "level", "info", "message", "said")))
		if code := b.run(slices.DeleteFunc([]string{"run", "probe", flag}, func(s string) bool { return s == "" })...); code != exitOK {
			t.Errorf("%s: exit %d: %s", flag, code, b.err.String())
		}
		all := b.out.String() + b.err.String()
		if strings.Contains(all, "inner life") != want || !strings.Contains(all, "said") {
			t.Errorf("%s: got %s", flag, all)
		}
	}
}
