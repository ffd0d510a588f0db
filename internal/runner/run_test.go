package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/wall"
)

func TestPlainOutputBecomesTheResult(t *testing.T) {
	for _, tt := range []struct{ name, script, data string }{
		{"nothing", ``, `null`},
		{"blank", `echo; echo "  "`, `null`},
		{"text", `echo hello; echo world`, `"hello\nworld"`},
		{"no line feed", `printf 'a<b>'`, `"a<b>"`},
		{"JSON", `echo '{"a": [1, 2]}'`, `{"a":[1,2]}`},
		{"JSON on many lines", `printf '{\n  "a": 1\n}\n'`, `{"a":1}`},
		{"a number", `echo 42`, `42`},
		{"two values are text", `echo 1; echo 2`, `"1\n2"`},
		{"a claim to be the runner is text", `echo '{"type":"cell/exit","exit_code":0}'`, `{"type":"cell/exit","exit_code":0}`},
		{"NUL and bad UTF-8", `printf 'a\000\377b'`, `"a\u0000` + "\uFFFD" + `b"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := boot(t, tt.script).play()
			if o.result == nil || !*o.result.Success || string(o.result.Data) != dataOf(tt.data) || o.result.Truncated {
				t.Errorf("result = %+v, want data %s", o.result, tt.data)
			}
			if o.exit.ExitCode != 0 || o.exit.Signal != 0 || o.exit.OutputOver != "" {
				t.Errorf("exit = %+v", o.exit)
			}
		})
	}
}

// dataOf is data as wall.DecodeResult gives it: null is absent.
func dataOf(s string) string {
	if s == "null" {
		return ""
	}
	return s
}

func TestFramesPassAndAllElseIsLogged(t *testing.T) {
	o := boot(t, `
		echo '{"type":"skill/event","kind":"progress","data":{"pct":10},"id":"x","seq":7}'
		echo 'plain <text>'
		echo '{"type":"cell/ready","protocol":9}'
		echo '{"type":"skill/event","kind":"progress","data":[]}'
		echo '{"type":"skill/event","data":{}}'
		echo '{"type":"skill/result","success":true,"data":1,"more":"cell/exit"}'
		echo '{"type":"skill/result","success":false}'
		echo '{"type":"skill/event","kind":"status","data":{"message":"late"}}'
	`).play()
	var got []string
	for _, l := range o.lines {
		got = append(got, l.raw)
	}
	log := func(level, message string) string {
		return `{"type":"skill/event","kind":"log","data":{"level":"` + level + `","message":"` + message + `"}}`
	}
	want := []string{
		`{"type":"skill/event","kind":"progress","data":{"pct":10}}`,
		log("info", `plain <text>`),
		log("info", `{\"type\":\"cell/ready\",\"protocol\":9}`),
		log("warn", `a line of type skill/event was taken as text: data: expected an object`),
		log("info", `{\"type\":\"skill/event\",\"kind\":\"progress\",\"data\":[]}`),
		log("info", `{\"type\":\"skill/event\",\"data\":{}}`),
		`{"type":"skill/result","success":true,"data":1}`,
		log("warn", `the skill printed another result, which was ignored: the first one stands`),
		`{"type":"skill/event","kind":"status","data":{"message":"late"}}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
}

func TestEndsWithoutAResult(t *testing.T) {
	for _, tt := range []struct {
		name   string
		script string
		want   wall.Exit
	}{
		{"exit 3", `echo out; echo boom >&2; exit 3`, wall.Exit{ExitCode: 3, StderrTail: "boom"}},
		{"exit 137 is not a signal", `exit 137`, wall.Exit{ExitCode: 137}},
		{"a signal", `kill -9 $$`, wall.Exit{Signal: 9}},
		{"SIGTERM is not ignored in the skill", `kill -TERM $$; exit 4`, wall.Exit{Signal: 15}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := boot(t, tt.script).play()
			if o.result != nil {
				t.Errorf("a result came: %+v", o.result)
			}
			got := wall.Exit{ExitCode: o.exit.ExitCode, Signal: o.exit.Signal, StderrTail: o.exit.StderrTail}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("exit (-want +got):\n%s", d)
			}
			if tt.want.StderrTail != "" && !o.hasLog(t, "error: boom") {
				t.Errorf("logs = %q", o.logs(t))
			}
		})
	}
}

func TestCommandsThatDoNotStart(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, tt := range []struct {
		name    string
		command string
		code    int
		text    string
	}{
		{"not in PATH", "pyhton3", 127, `command "pyhton3" not found in PATH (`},
		{"no file", dir + "/none", 127, "no such file"},
		{"a directory", dir, 126, "is a directory"},
		{"not executable", write("plain", "#!/bin/sh\n", 0o644), 126, "is not executable"},
		{"no interpreter", write("orphan", "#!/no/such/interpreter\n", 0o755), 127, "its interpreter is not in the image"},
		{"no program", write("noise", "\x00\x01", 0o755), 126, "is no program for this machine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := boot(t, "", func(c *Config) { c.Args.Command = []string{tt.command} }).play()
			if o.exit.ExitCode != tt.code || !strings.Contains(o.exit.StartError, tt.text) || o.result != nil {
				t.Errorf("exit = %+v, want %d and %q", o.exit, tt.code, tt.text)
			}
		})
	}
}

func TestTheSkillGetsItsRequest(t *testing.T) {
	line := `{"type":"skill/call/req","id":"1","correlation_id":"turn 7","arguments":{"x":"<é>"}}`
	c := boot(t, `
		read -r line; [ "$line" = "$(cat $ROOT/run/hotcell/request.json)" ] && echo same
		cat; echo eof
		echo "$SKILL_CORRELATION_ID"
		[ "$PWD" = "$ROOT/workspace" ] && [ -d in ] && echo cwd
		printf %s "$line" > $ROOT/out/line.txt
		[ $(ps -o sid= -p $$) = $$ ] && echo session
	`)
	c.next()
	c.send(line)
	o := c.finish()
	if got := string(o.result.Data); got != `"same\neof\nturn 7\ncwd\nsession"` {
		t.Errorf("data = %s", got)
	}
	if got, _ := os.ReadFile(filepath.Join(c.root, wall.DirOut, "line.txt")); string(got) != line {
		t.Errorf("stdin = %s", got)
	}
	if fi, err := os.Stat(filepath.Join(c.root, wall.RequestPath)); err != nil || fi.Mode() != 0o400 {
		t.Errorf("request.json: %v, %v", fi.Mode(), err)
	}
}

func TestASkillNeedNotReadALongRequest(t *testing.T) {
	c := boot(t, `echo done`)
	c.next()
	c.send(`{"type":"skill/call/req","arguments":{"x":"` + strings.Repeat("x", 4<<20) + `"}}`)
	if o := c.finish(); string(o.result.Data) != `"done"` {
		t.Errorf("data = %s", o.result.Data)
	}
}

func TestLongOutputIsCut(t *testing.T) {
	o := boot(t, `head -c 3000000 /dev/zero | tr '\0' x; echo; echo after`).play()
	if !o.result.Truncated || len(o.result.Data) < 4000 || o.exit.OutputOver != overOutput {
		t.Errorf("truncated = %v, %d bytes of data, exit %+v", o.result.Truncated, len(o.result.Data), o.exit)
	}
	if logs := o.logs(t); len(logs) != 2 || !strings.HasSuffix(logs[0], "bytes cut]") || logs[1] != "info: after" {
		t.Errorf("logs = %.200q", logs)
	}
}

func TestALongLineWithinTheBudgetIsWholeInTheResult(t *testing.T) {
	o := boot(t, `printf '"'; head -c 3000000 /dev/zero | tr '\0' x; echo '"'`, func(c *Config) { c.Args.Output = 4 << 20 }).play()
	if o.result.Truncated || len(o.result.Data) != 3_000_002 || o.exit.OutputOver != "" {
		t.Errorf("truncated = %v, %d bytes of data, exit %+v", o.result.Truncated, len(o.result.Data), o.exit)
	}
	if logs := o.logs(t); len(logs) != 1 || len(logs[0]) > maxMessage+100 {
		t.Errorf("%d logs, the first of %d bytes", len(logs), len(logs[0]))
	}
}

// The supervisor knows a long line by its first key.
func TestALongResultMayHaveItsTypeLast(t *testing.T) {
	o := boot(t, `printf '{"data":"'; head -c 2000000 /dev/zero | tr '\0' x; echo '","success":true,"type":"skill/result"}'`, func(c *Config) { c.Args.Output = 4 << 20 }).play()
	if o.result == nil || !*o.result.Success || len(o.result.Data) != 2_000_002 {
		t.Errorf("result = %.200v, exit = %+v", o.result, o.exit)
	}
}

func TestFilesBeyondTheBudgetAreNoSuccess(t *testing.T) {
	c := boot(t, `truncate -s 1G "$ROOT/out/big"; echo done`)
	o := c.play()
	if o.result != nil || o.exit.OutputOver != overOut {
		t.Errorf("result = %+v, exit = %+v", o.result, o.exit)
	}
}

func TestAMalformedResultIsNoSuccess(t *testing.T) {
	for _, line := range []string{`{"type":"skill/result","success":"false","error":"broken"}`, `{"type":"skill/result","data":1}`} {
		o := boot(t, `echo '`+line+`'`).play()
		if o.result == nil || *o.result.Success || o.result.ErrorCode != "malformed_result" || !strings.Contains(o.result.Error, "success") {
			t.Errorf("%s: result = %+v", line, o.result)
		}
	}
	for _, line := range []string{`{"type":"skill/result","success":true,"data":NaN}`, `{"type":"skill/result","success":true,"success":false}`, `{"type":"skill/result","success":true`} {
		o := boot(t, `echo '`+line+`'`).play()
		if o.result == nil || *o.result.Success || o.result.ErrorCode != "malformed_result" {
			t.Errorf("%s: result = %+v", line, o.result)
		}
	}
	o := boot(t, `echo '{"type":"skill/result"}'; echo '{"type":"skill/result","success":true,"data":7}'`).play()
	if o.result == nil || !*o.result.Success || string(o.result.Data) != "7" {
		t.Errorf("a valid result after a malformed one: %+v", o.result)
	}
}

func TestAResultBeyondTheBudgetDoesNotPass(t *testing.T) {
	for _, exit := range []string{"0", "1"} {
		o := boot(t, `printf '{"type":"skill/result","success":false,"data":"'; head -c 1048576 /dev/zero | tr '\0' x; echo '"}'; exit `+exit).play()
		if o.result != nil || o.exit.OutputOver != overResult || !o.hasLog(t, "warn: a line of type skill/result was taken as text") {
			t.Errorf("exit %s: result = %v, exit = %+v", exit, o.result != nil, o.exit)
		}
	}
}

func TestCancelTermsTheGroup(t *testing.T) {
	c := boot(t, `trap 'echo "{\"type\":\"skill/result\",\"success\":false,\"error\":\"stopped\"}"; exit 0' TERM; echo ready; while :; do sleep 0.05; done`)
	c.next()
	c.send(request)
	c.logged("ready")
	c.send(wall.Control{Type: wall.TypeCancel})
	o := c.finish()
	if o.result == nil || o.result.Error != "stopped" || !o.exit.Cancelled {
		t.Errorf("result = %+v, exit = %+v", o.result, o.exit)
	}
}

func TestCancelBeforeTheRequest(t *testing.T) {
	c := boot(t, `echo never`)
	c.next()
	c.send(wall.Control{Type: wall.TypeCancel})
	if o := c.finish(); !o.exit.Cancelled || o.exit.StartError != errCancelled.Error() || len(o.lines) > 0 {
		t.Errorf("exit = %+v, lines = %v", o.exit, o.lines)
	}
}

func TestASkillThatLingersIsEnded(t *testing.T) {
	const result = `echo '{"type":"skill/result","success":true}'; `
	for _, tt := range []struct {
		name, script string
		signal       int
		after        time.Duration
	}{
		{"politely", result + `exec sleep 60`, 15, lingerGrace},
		{"then by force", `trap '' TERM; ` + result + `while :; do sleep 60; done`, 9, 2 * lingerGrace},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			o := boot(t, tt.script).play()
			if o.exit.Signal != tt.signal || o.result == nil {
				t.Errorf("exit = %+v", o.exit)
			}
			if took := time.Since(began); took < tt.after || took > tt.after+20*time.Second {
				t.Errorf("took %v, want %v", took, tt.after)
			}
		})
	}
}

func TestAGrandchildThatHoldsStdoutDoesNotHangTheRunner(t *testing.T) {
	began := time.Now()
	o := boot(t, `setsid sh -c 'touch $ROOT/up; sleep 25' & until [ -e $ROOT/up ]; do sleep 0.02; done; echo done`).play()
	if string(o.result.Data) != `"done"` {
		t.Errorf("data = %s", o.result.Data)
	}
	if took := time.Since(began); took < drainGrace || took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestHangUpKillsTheSkill(t *testing.T) {
	for _, tt := range []struct {
		name string
		hang func(c *cell)
		code int
	}{
		{"stdin ends", func(c *cell) { c.stdin.Close() }, exitHangup},
		{"stdin ends inside a line", func(c *cell) { _, _ = c.stdin.WriteString(`{"type":"cell/done"}`); c.stdin.Close() }, exitHangup},
		{"done", func(c *cell) { c.send(wall.Control{Type: wall.TypeDone}) }, exitComplete},
		{"stdout fails", func(c *cell) { c.stdout.Close() }, exitHangup},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := boot(t, `trap '' TERM HUP INT; echo pid=$$; while :; do sleep 0.05; echo x; done`)
			c.next()
			c.send(request)
			_, message := c.next().log(t)
			pid, err := strconv.Atoi(strings.TrimPrefix(message, "pid="))
			if err != nil {
				t.Fatal(err)
			}
			tt.hang(c)
			c.exits(tt.code)
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("the skill is still there: %v", err)
			}
		})
	}
}

func TestHangUpBeforeTheRequest(t *testing.T) {
	c := boot(t, `echo never`)
	c.next()
	c.stdin.Close()
	c.exits(exitHangup)
}

// stuck is a supervisor that has stopped reading.
type stuck struct{ free chan struct{} }

func (s stuck) Write([]byte) (int, error) { <-s.free; return 0, os.ErrClosed }

func TestHangUpIsSeenWhileStdoutIsStuck(t *testing.T) {
	s := stuck{make(chan struct{})}
	defer close(s.free)
	c := boot(t, ``, func(c *Config) { c.Stdout = s })
	began := time.Now()
	c.stdin.Close()
	c.exits(exitHangup)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestTheRunnerGoesWithoutDone(t *testing.T) {
	c := boot(t, ``)
	c.next()
	c.send(request)
	c.until(wall.TypeExit)
	began := time.Now()
	c.exits(exitComplete)
	if took := time.Since(began); took < doneGrace-time.Second || took > doneGrace+20*time.Second {
		t.Errorf("took %v, want %v", took, doneGrace)
	}
}

func TestLaterLinesAreIgnored(t *testing.T) {
	c := boot(t, `echo on; read -r a; read -r b && echo "got a second line"; until [ -e $ROOT/go ]; do sleep 0.02; done`)
	c.next()
	c.send(request)
	c.logged("on")
	c.send(request, `{"type":"what/ever"}`, `[1]`, wall.File{Type: wall.TypeFile, Path: "late", Final: true})
	c.logged("line of type skill/call/req after its request")
	c.logged("line of type cell/file after its request")
	if err := os.WriteFile(filepath.Join(c.root, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := c.finish()
	if string(o.result.Data) != `"on"` {
		t.Errorf("data = %s", o.result.Data)
	}
	if _, err := os.Stat(filepath.Join(c.root, wall.DirInput, "late")); err == nil {
		t.Error("a late file was written")
	}
}
