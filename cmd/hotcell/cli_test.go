package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

func TestWrongUsage(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"rnu"}, `unknown command "rnu", did you mean 'hotcell run'?`},
		{[]string{"frobnicate"}, `unknown command "frobnicate": expected one of agents, approvals, audit, calls, config, doctor, images, mcp, policy, run, secrets, serve, skills, stdio, tokens, version (see 'hotcell help')`},
		{[]string{"\x1b[31mx"}, `unknown command "x"`},
		{[]string{"skills"}, `hotcell: skills: expected one of init, install, lint, list, rollback, show, uninstall, versions (see 'hotcell help skills')`},
		{[]string{"skills", "lits"}, `unknown command "lits", did you mean 'hotcell skills list'?`},
		{[]string{"help", "nonsense"}, `unknown command "nonsense"`},
		{[]string{"run"}, `hotcell: run: expected SKILL, got nothing (see 'hotcell help run')`},
		{[]string{"run", "a", "b"}, `hotcell: run: expected SKILL, got 2 arguments: a b`},
		{[]string{"run", "probe", "--nope"}, `hotcell: run: unknown flag: --nope (see 'hotcell help run')`},
		{[]string{"run", "probe", "--timeout", "1500ms"}, `--timeout 1500ms: expected whole seconds, such as 30s`},
		{[]string{"run", "probe", "--timeout", "-1s"}, `--timeout -1s: expected whole seconds`},
		{[]string{"run", "probe", "--timeout", "0"}, `--timeout 0: expected whole seconds`},
		{[]string{"run", "probe", "--timeout", "soon"}, `--timeout soon: expected whole seconds`},
		{[]string{"run", "probe", "--arg", "x"}, `--arg "x": expected key=text, key=@file or key:=JSON`},
		{[]string{"run", "probe", "--input", "no"}, `--input no: no such file or directory`},
		{[]string{"run", "probe", "--force"}, `--force needs --out DIR`},
		{[]string{"run", "probe", "--skills", "no"}, `--skills or HOTCELL_SKILLS: no: no such file or directory`},
		{[]string{"run", "probe", "--driver", "chroot"}, `hotcell: --driver: sandbox.driver: expected auto, docker, oci or kubernetes, not "chroot"`},
		{[]string{"run", "probe", "--config", "no.yaml"}, `no.yaml: no such file or directory`},
		{[]string{"version", "x"}, `hotcell: version: expected no argument, got "x"`},
		{[]string{"config", "check", "a", "b"}, `expected at most one FILE`},
		{[]string{"skills", "show", "no"}, `unknown skill "no": 'hotcell skills list --all' shows what is there`},
		{[]string{"skills", "lint", "no"}, `no: no such file or directory`},
		{[]string{"skills", "lint"}, `skills lint: expected PATH..., got nothing (see 'hotcell help skills lint')`},
		{[]string{"policy", "explain", "no"}, `unknown skill "no"`},
		{[]string{"doctor", "now"}, `hotcell: doctor: expected no argument, got "now" (see 'hotcell help doctor')`},
		{[]string{"doctor", "--fix"}, `hotcell: doctor: unknown flag: --fix`},
		{[]string{"doctor", "--config", "no.yaml"}, `no.yaml: no such file or directory`},
		{[]string{"docter"}, `unknown command "docter", did you mean 'hotcell doctor'?`},
		{[]string{"calls", "list", "--limit", "x"}, `hotcell: calls list: invalid argument "x" for "--limit" flag: invalid syntax (see`},
		{[]string{"serve", "--listen", "0.0.0.0:1"}, `hotcell: --listen: listen: "0.0.0.0" is not a loopback address`},
		{[]string{"--nope"}, `hotcell: unknown flag: --nope (see 'hotcell help')`},
		{[]string{"calls", "list", "--limit", "-1"}, `--limit -1: expected no less than 0`},
		{[]string{"calls", "list", "--verdict", "bad"}, `--verdict: expected running, succeeded, failed, canceled or the code of an error such as timeout, got "bad"`},
		{[]string{"calls", "list", "--since", "monday"}, `--since: expected a time such as 2030-01-31T12:00:00Z or 2030-01-31, or how long ago, such as 12h or 7d`},
		{[]string{"calls", "list", "--url", "localhost"}, `--url localhost: expected http://host:port`},
		{[]string{"calls", "show"}, `hotcell: calls show: expected ID, got nothing`},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			b := newBench(t, succeed(nil, ""))
			if code := b.run(tt.args...); code != exitUsage {
				t.Errorf("exit %d, want %d", code, exitUsage)
			}
			if b.out.Len() > 0 {
				t.Errorf("stdout = %q", b.out.String())
			}
			got := b.err.String()
			if !strings.HasPrefix(got, "hotcell: ") || !strings.Contains(got, tt.want) || strings.Count(got, "\n") != 1 {
				t.Errorf("stderr = %q, want one line with %q", got, tt.want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"help"}, {"--help"}, {"help", "run"}, {"run", "--help"}, {"help", "skills", "list"}} {
		b := newBench(t, succeed(nil, ""))
		if code := b.run(args...); code != 0 || b.err.Len() > 0 || !strings.Contains(b.out.String(), "Usage:") {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, code, b.out.String(), b.err.String())
		}
	}
}

const probeYAML = `version: 1.2.0
category: development
tags: [coding]
run: {command: [python3, main.py], image: "python:3.12-slim"}
timeout_seconds: 120
limits: {memory: 128Mi}
input_schema: {type: object, properties: {n: {type: integer}}, required: [n]}
`

// writeSkill makes a bundle below the folder skills.
func writeSkill(t *testing.T, name, sidecar string) {
	t.Helper()
	dir := filepath.Join("skills", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"SKILL.md":   "---\nname: " + name + "\ndescription: Counts what it is given.\n---\nCount.\n",
		"skill.yaml": sidecar, "main.py": "print(1)\n",
	} {
		path := filepath.Join(dir, file)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o644), os.Chmod(path, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// own is the environment of a test that sees no bundled skill.
func own(b *bench) *bench {
	b.env["HOTCELL__SKILLS__BUNDLED"] = "false"
	return b
}

func TestSkills(t *testing.T) {
	for _, tt := range []struct {
		golden string
		args   []string
		code   int
		more   bool
	}{
		{"list", []string{"skills", "list"}, 0, false},
		{"list-all", []string{"skills", "list", "--all"}, 0, false},
		{"show", []string{"skills", "show", "counter"}, 0, false},
		{"show-broken", []string{"skills", "show", "broken"}, 0, false},
		{"lint-good", []string{"skills", "lint", "skills/counter"}, 0, false},
		{"lint-broken", []string{"skills", "lint", "skills/broken"}, 1, false},
		{"lint-all", []string{"skills", "lint", "skills"}, 1, false},
		{"explain", []string{"policy", "explain", "counter", "--timeout", "300s"}, 0, false},
		{"lint-limits", []string{"skills", "lint", "skills/starved"}, 1, true},
		{"lint-many", []string{"skills", "lint", "fine"}, 0, true},
		{"explain-blocked", []string{"policy", "explain", "starved"}, 1, true},
		{"explain-derived", []string{"policy", "explain", "small"}, 0, true},
		{"show-blocked", []string{"skills", "show", "starved"}, 0, true},
		{"show-frames", []string{"skills", "show", "frames"}, 0, true},
		{"suggest", []string{"skills", "show", "conter"}, 2, false},
		{"config-check", []string{"config", "check"}, 0, false},
	} {
		t.Run(tt.golden, func(t *testing.T) {
			b := own(newBench(t, succeed(nil, "")))
			writeSkill(t, "counter", probeYAML)
			writeSkill(t, "broken", "versoin: 1.0.0\nlimits: {memory: lots}\n")
			if tt.more {
				more(t)
			}
			if code := b.run(tt.args...); code != tt.code {
				t.Errorf("exit %d, want %d", code, tt.code)
			}
			testutil.Golden(t, b.golden("skills/"+tt.golden+".txt"), []byte(b.transcript(tt.code)))
		})
	}
}

// more makes a skill that can never run, one with derived sizes, one of an image of its own, and a folder of two that are fine.
func more(t *testing.T) {
	t.Helper()
	writeSkill(t, "starved", "status: Published\nlimits: {memory: 10, pids: 3}\ntimeout_seconds: 9999\n")
	writeSkill(t, "small", "limits: {memory: 64Mi}\n")
	writeSkill(t, "frames", "run: {image: acme/own, frames: true}\n")
	if err := errors.Join(os.Mkdir("fine", 0o755), os.Rename("skills/small", "fine/small"), os.Rename("skills/frames", "fine/frames")); err != nil {
		t.Fatal(err)
	}
	writeSkill(t, "small", "limits: {memory: 64Mi}\n")
	writeSkill(t, "frames", "run: {image: acme/own, frames: true}\n")
}

// What can't run says so at once: neither the call nor the explanation sends people to the other.
func TestAStarvedSkillIsNoCircle(t *testing.T) {
	b := own(newBench(t, nil))
	b.app.open = open
	more(t)
	why := "skill.yaml:2:18: limits.memory: 10 is too little, expected at least 16Mi"
	if code := b.run("run", "starved", "--data-dir", "data"); code != exitFailed || !strings.Contains(b.err.String(), why) || strings.Contains(b.err.String(), "policy explain") {
		t.Errorf("run: exit %d, %q, want %q", code, b.err.String(), why)
	}
	b.err.Reset()
	if code := b.run("policy", "explain", "starved", "--spec"); code != exitFailed || !strings.Contains(b.err.String(), why) {
		t.Errorf("spec: exit %d, %q, want %q", code, b.err.String(), why)
	}
	b.out.Reset()
	if code := b.run("policy", "explain", "starved", "--json"); code != exitFailed || !json.Valid(b.out.Bytes()) || !strings.Contains(b.out.String(), `"status": "Blocked"`) {
		t.Errorf("JSON: exit %d, %q", code, b.out.String())
	}
}

func TestConfiguredFoldersThatAreNotThere(t *testing.T) {
	b := own(newBench(t, nil))
	b.env["HOTCELL__SKILLS__DIRS"] = "none,other"
	want := "hotcell: warning: HOTCELL__SKILLS__DIRS: skills.dirs: there is no folder none\n" +
		"hotcell: warning: HOTCELL__SKILLS__DIRS: skills.dirs: there is no folder other\n"
	if code := b.run("config", "check"); code != 0 || b.err.String() != want {
		t.Errorf("exit %d, %q, want %q", code, b.err.String(), want)
	}
	b = own(newBench(t, nil))
	if err := errors.Join(os.Mkdir("a", 0o755), os.Mkdir("b", 0o755)); err != nil {
		t.Fatal(err)
	}
	b.env[envSkills] = "b"
	if code := b.run("config", "show", "--skills", "a"); code != 0 || b.err.Len() > 0 ||
		!strings.Contains(b.out.String(), "dirs: [a, b, skills]  # flag --skills, then env HOTCELL_SKILLS, then default\n") {
		t.Errorf("exit %d, %s%s", code, b.out.String(), b.err.String())
	}
}

func TestJSONOfSkills(t *testing.T) {
	for _, args := range [][]string{
		{"skills", "list", "--json"}, {"skills", "show", "counter", "--json"}, {"skills", "lint", "skills/counter", "--json"},
		{"policy", "explain", "counter", "--json"}, {"policy", "explain", "counter", "--spec"}, {"version", "--json"},
	} {
		b := own(newBench(t, succeed(nil, "")))
		writeSkill(t, "counter", probeYAML)
		if code := b.run(args...); code != 0 || !json.Valid(b.out.Bytes()) {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, code, b.out.String(), b.err.String())
		}
	}
}

func TestSkillFoldersComeInOrder(t *testing.T) {
	b := own(newBench(t, succeed(nil, "")))
	for _, dir := range []string{"flag", "env", "."} {
		if err := os.MkdirAll(filepath.Join(dir, "skills"), 0o755); err != nil {
			t.Fatal(err)
		}
		wd, _ := os.Getwd()
		if err := os.Chdir(dir); err != nil {
			t.Fatal(err)
		}
		writeSkill(t, "one", "category: "+map[string]string{"flag": "flag", "env": "env", ".": "config"}[dir]+"\n")
		if err := os.Chdir(wd); err != nil {
			t.Fatal(err)
		}
	}
	category := func(args ...string) string {
		b.out.Reset()
		if code := b.run(append([]string{"skills", "list", "--json"}, args...)...); code != 0 {
			t.Fatal(b.err.String())
		}
		var rows []listed
		if err := json.Unmarshal(b.out.Bytes(), &rows); err != nil || len(rows) == 0 {
			t.Fatalf("%v: %s", err, b.out.String())
		}
		return rows[0].Category
	}
	if got := category(); got != "config" {
		t.Errorf("from %s, want config", got)
	}
	b.env[envSkills] = "env/skills:"
	if got := category(); got != "env" {
		t.Errorf("from %s, want env", got)
	}
	if got := category("--skills", "flag/skills"); got != "flag" {
		t.Errorf("from %s, want flag", got)
	}
}

func TestConfigErrorsNameThePlace(t *testing.T) {
	b := newBench(t, succeed(nil, ""))
	if err := os.WriteFile("bad.yaml", []byte("listen: 127.0.0.1:1\nsandbox:\n  drivr: docker\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := b.run("config", "check", "bad.yaml"); code != exitUsage || !strings.Contains(b.err.String(), "bad.yaml:3:3: sandbox.drivr") {
		t.Errorf("exit %d, stderr %q", code, b.err.String())
	}
	b.err.Reset()
	if code := b.run("config", "show"); code != 0 || !strings.Contains(b.out.String(), `listen: "127.0.0.1:8765"  # default`) {
		t.Errorf("exit %d, stdout %q", code, b.out.String())
	}
}

func TestVersionNamesWhatIsBuiltIn(t *testing.T) {
	got := version(fstest.MapFS{"hotcell-runner-arm64": {Data: []byte("1234")}, "hotcell-engine-amd64.gz": {Data: []byte("123")}})
	if diff := cmp.Diff(map[string]int64{"arm64": 4}, got.Runners); diff != "" {
		t.Errorf("runners (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"amd64": 3}, got.Engines); diff != "" {
		t.Errorf("engines (-want +got):\n%s", diff)
	}
	b := newBench(t, succeed(nil, ""))
	if code := b.run("version"); code != 0 || !strings.HasPrefix(b.out.String(), "hotcell ") {
		t.Errorf("exit %d, %q", code, b.out.String())
	}
}

// fakeDaemon is a control with one call.
type fakeDaemon struct {
	err error
}

func (d fakeDaemon) call() control.Call {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return control.Call{
		ID: "01JC", ReqID: "r1", Skill: "probe\x1b[31m", Door: "http", State: control.Failed, Code: a2e.Timeout,
		Accepted: at, Started: at, Ended: at.Add(2 * time.Second), Events: 2,
		Usage:      &control.Usage{MemoryPeakBytes: 12 << 20, CPUMS: 1500, PIDsPeak: 3},
		Confidence: "kernel", Unenforced: []string{"seccomp", "network\x1b[31m"}, Notes: map[string]any{"exit_code": 3},
		Phases: []control.Phase{{Name: "queue", Took: 40 * time.Millisecond}, {Name: "run\x1b[31m", From: 40 * time.Millisecond, Took: 1900 * time.Millisecond}},
	}
}

func (d fakeDaemon) List(context.Context, int) ([]control.Call, error) {
	return []control.Call{d.call()}, d.err
}

func (d fakeDaemon) Show(context.Context, string) (control.Call, *a2e.CallResponse, error) {
	return d.call(), a2e.Failure("r1", "probe", a2e.Errorf(a2e.Timeout, "too slow"), 2*time.Second), d.err
}

// searchable is a daemon that keeps what it was asked for.
type searchable struct {
	fakeDaemon
	asked *control.CallQuery
}

func (d searchable) Search(_ context.Context, q control.CallQuery) (control.CallPage, error) {
	*d.asked = q
	return control.CallPage{Calls: []control.Call{d.call()}}, d.err
}

// Each flag of the list is what the daemon is asked for; without any it is asked for the list.
func TestCallsListAsksForWhatIsMeant(t *testing.T) {
	for _, args := range []string{"", "--skill probe --principal ann --verdict failed --since 2026-01-02T03:04:05Z --limit 3"} {
		b := newBench(t, succeed(nil, ""))
		var asked control.CallQuery
		b.app.dial = func(string, auth.Secret) (control.Control, error) { return searchable{fakeDaemon{}, &asked}, nil }
		if code := b.run(append([]string{"calls", "list"}, strings.Fields(args)...)...); code != 0 || !strings.Contains(b.out.String(), "01JC") {
			t.Errorf("%s: exit %d, %s%s", args, code, b.out.String(), b.err.String())
		}
		want := control.CallQuery{}
		if args != "" {
			want = control.CallQuery{Skill: "probe", Principal: "ann", Verdict: "failed", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Limit: 3}
		}
		if d := cmp.Diff(want, asked); d != "" {
			t.Error(d)
		}
	}
}

// Events has one event on each page.
func (d fakeDaemon) Events(_ context.Context, _ string, from int) ([]a2e.Event, error) {
	all := []a2e.Event{event(a2e.KindProgress, "pct", 10.0, "message", "x"), event(a2e.KindLog, "level", "info", "message", "y")}
	if from >= len(all) {
		return nil, d.err
	}
	all[from].Seq = from
	return all[from : from+1], d.err
}

func (d fakeDaemon) Cancel(context.Context, string) error { return d.err }

func TestCalls(t *testing.T) {
	t.Setenv("TZ", "UTC")
	time.Local = time.UTC
	for _, tt := range []struct {
		golden string
		args   []string
	}{
		{"list", []string{"list"}}, {"show", []string{"show", "01JC"}}, {"events", []string{"events", "01JC"}}, {"cancel", []string{"cancel", "01JC"}},
		{"list-json", []string{"list", "--json"}}, {"cancel-json", []string{"cancel", "01JC", "--json"}},
	} {
		t.Run(tt.golden, func(t *testing.T) {
			b := newBench(t, succeed(nil, ""))
			b.app.dial = func(base string, _ auth.Secret) (control.Control, error) {
				if base != "http://127.0.0.1:8765" {
					t.Errorf("dialled %s", base)
				}
				return fakeDaemon{}, nil
			}
			code := b.run(append([]string{"calls"}, tt.args...)...)
			testutil.Golden(t, b.golden("calls/"+tt.golden+".txt"), []byte(b.transcript(code)))
		})
	}
}

func TestPhasesOfACallThatRuns(t *testing.T) {
	c := control.Call{State: control.Running, Accepted: time.Now().Add(-time.Hour), Phases: []control.Phase{{Name: "queue", Took: time.Second}, {Name: "run", From: time.Second}}}
	if got := phasesText(c); !strings.HasPrefix(got, "queue 1.00 s, run 3599") || !strings.HasSuffix(got, " s so far") {
		t.Error(got)
	}
}

func TestCallsErrors(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	for _, tt := range []struct {
		err  error
		code int
		want string
	}{
		{control.ErrNotFound, exitUsage, "'hotcell calls list' shows"},
		{control.ErrEnded, exitFailed, "has ended already"},
		{control.ErrElsewhere, exitFailed, "runs in another hotcell process, such as 'hotcell run': stop it there"},
		{dial, exitFailed, "no hotcell daemon answers (connection refused): start one with 'hotcell serve'"},
	} {
		b := newBench(t, succeed(nil, ""))
		b.app.dial = func(string, auth.Secret) (control.Control, error) { return fakeDaemon{err: tt.err}, nil }
		if code := b.run("calls", "cancel", "01JC"); code != tt.code || !strings.Contains(b.err.String(), tt.want) {
			t.Errorf("%v: exit %d, %q", tt.err, code, b.err.String())
		}
	}
}

func TestDataFolder(t *testing.T) {
	b := newBench(t, nil)
	b.app.open = open
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := "hotcell: data folder file/data can't be written (not a directory): choose another with --data-dir or data_dir\n"
	if code := b.run("run", "probe", "--data-dir", "file/data"); code != exitFailed || b.err.String() != want {
		t.Errorf("exit %d, stderr %q, want %d and %q", code, b.err.String(), exitFailed, want)
	}
}

// Nothing runs without a journal, and the one line says which file it is.
func TestNoCallWithoutAJournal(t *testing.T) {
	b := newBench(t, nil)
	b.app.open = open
	if err := os.Mkdir("data", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("data/hotcell.db", []byte(strings.Repeat("not a journal ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"run", "probe"}, {"serve"}, {"stdio"}} {
		b.err.Reset()
		code := b.run(append(command, "--data-dir", "data")...)
		text := b.err.String()
		if code != exitFailed || strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "hotcell: journal data/hotcell.db: ") || !strings.Contains(text, "move it away") {
			t.Errorf("%s: exit %d, stderr %q", command[0], code, text)
		}
	}
}

func TestWiredTogetherWithoutAnEngine(t *testing.T) {
	b := newBench(t, nil)
	b.app.open = open
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none.sock"))
	writeSkill(t, "counter", probeYAML)
	if code := b.run("run", "counter", "--arg", "n=1", "--data-dir", "data"); code != exitCrash || !strings.Contains(b.err.String(), "(engine_unavailable)") {
		t.Errorf("exit %d, stderr %q", code, b.err.String())
	}
	b.err.Reset()
	if code := b.run("run", "conter", "--data-dir", "data"); code != exitUsage || !strings.Contains(b.err.String(), `did you mean "counter"?`) {
		t.Errorf("exit %d, stderr %q", code, b.err.String())
	}
}
