package hostile

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/a2e"
)

const budget = "limits.output, counted by the supervisor"

// short limits a flood in a normal run, where a small budget shows the same as a large one.
func short() string {
	if os.Getenv("HOTCELL_SOAK_ROUNDS") != "" {
		return ""
	}
	return "limits: {output: 256Ki}\n"
}

// flood is a row that prints more than it may.
func flood(name, what string, args ...string) row {
	return row{name: name, what: what, stops: budget, yaml: short(), args: args, code: a2e.SkillError, reason: a2e.ReasonOutputLimit, check: numbered}
}

func outputRows() []row {
	const mib, gib = "1048576", "1073741824"
	const reader = "the bounded line readers"
	raw := func(kind string, checks ...func(testing.TB, told)) row {
		return row{name: "print-" + kind, what: "prints bytes that are no text", stops: reader + " and their UTF-8", args: []string{"print-raw", kind},
			check: every(append(checks, numbered)...)}
	}
	return []row{
		flood("stdout-1g", "prints 1 GiB", "print", "stdout", gib, "100"),
		flood("stderr-1g", "prints 1 GiB of errors", "print", "stderr", gib, "1000"),
		flood("both-1g", "prints 1 GiB to both", "print", "both", gib, "4096"),
		flood("tiny-lines", "prints a million lines of one byte", "print-lines", "1000000", "x"),
		{name: "empty-lines", what: "prints 20 MB of line feeds", stops: "the runner, which tells of no empty line", args: []string{"print", "stdout", "20000000", "1"},
			check: every(data(`null`), numbered)},
		{name: "events", what: "tells of more events than there may be", stops: "the number of events",
			args: []string{"print-lines", "131073", `{"type":"skill/event","kind":"status","data":{"n":#}}`},
			code: a2e.SkillError, reason: a2e.ReasonOutputLimit, says: "events budget", check: numbered},
		flood("bad-frames", "prints frames that are none", "print-lines", "1000000", `{"type":"skill/event","kind":"log","data":[#]}`),
		flood("long-lines", "prints 1 GiB in lines of 1 MiB", "print", "stdout", gib, mib),
		{name: "line-100m", what: "prints one line of 100 MB", stops: reader, args: []string{"print", "stdout", "100000000", "0"},
			check: every(truncated(4096), noted("budget, and the rest was dropped"), numbered)},
		{name: "line-100m-stderr", what: "prints one error of 100 MB", stops: reader, args: []string{"print", "stderr", "100000000", "0"},
			check: every(data(`null`), saying("bytes cut"), numbered)},
		raw("binary", text("\ufffd")),
		raw("nul", text("\x00\x00\x00")),
		raw("invalid", text("\ufffda")),
		raw("open-json", data(`"{\"a\": [1, 2"`)),
		raw("open-value", data(`{"a":1}`)),
		raw("open-result", data(`"no line feed"`)),
		{name: "print-split", what: "prints characters in pieces", stops: reader, args: []string{"print-split", splitText},
			check: every(data(quoted(splitText)), saying(splitText), numbered)},
		{name: "stdout-closed", what: "closes its stdout and goes on", stops: "the runner", args: []string{"print-closed", "stdout", "0"},
			check: every(data(`null`), saying("still here"))},
		{name: "stdout-closed-fails", what: "closes its stdout and fails", stops: "the runner", args: []string{"print-closed", "stdout", "5"},
			code: a2e.SkillError, reason: a2e.ReasonExit, says: "exited with 5: still here"},
		{name: "stderr-closed", what: "closes its stderr and fails", stops: "the runner", args: []string{"print-closed", "stderr", "5"},
			code: a2e.SkillError, reason: a2e.ReasonExit, says: "exited with 5", check: saying("still here")},
		{name: "both-closed", what: "closes all its streams", stops: "the runner", args: []string{"print-closed", "both", "0"}, check: data(`null`)},
		{name: "stdin-unread", what: "does not read its request of 4 MB", stops: "the runner, which waits for no reader",
			args: []string{"unread", strings.Repeat("r", 4_000_000)}, check: data(`"did not listen"`)},
		{name: "talks-to-the-end", what: "is in the middle of its output at the deadline", stops: "the deadline", args: []string{"print-until", "60000"},
			seconds: 2, code: a2e.Timeout, says: within(2), check: numbered},
		{name: "python-flood", what: "prints without end", stops: budget, yaml: short(), python: "while True: print('y' * 50)",
			code: a2e.SkillError, reason: a2e.ReasonOutputLimit, check: numbered},
		{name: "python-binary", what: "writes bytes and surrogates", stops: reader, python: pythonBinary, check: every(data(`"\ufffd\u0000ok"`), numbered)},
		{name: "python-stdout-closed", what: "closes stdout below the interpreter", stops: "the runner, which tells an exit",
			python: "import os\nos.close(1)\nprint('nowhere', flush=True)", code: a2e.SkillError, reason: a2e.ReasonExit, says: "exited with 1"},
		{name: "python-stdin-unread", what: "does not read its request", stops: "the runner", python: "print(7)", check: data(`7`)},
	}
}

const splitText = "grüße, мир 世界 𝄞 👩‍👩‍👧"

const pythonBinary = `import sys
sys.stdout.buffer.write(b"\xff\x00")
sys.stdout.buffer.flush()
sys.stdout.reconfigure(errors="surrogateescape")
print("ok")`

func TestOutput(t *testing.T) { runRows(t, outputRows()) }

// every is several checks in one.
func every(checks ...func(testing.TB, told)) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		for _, check := range checks {
			check(t, got)
		}
	}
}

// numbered makes sure that the events are the supervisor's: its numbers, its stamps, its call, its four kinds.
func numbered(t testing.TB, got told) {
	t.Helper()
	call := got.answer.ReqID
	for i, ev := range got.events {
		age := time.Since(time.Unix(int64(ev.TS), 0))
		known := slices.Contains([]string{a2e.KindLog, a2e.KindProgress, a2e.KindStatus, a2e.KindArtifact}, ev.Kind)
		if ev.Seq != i || ev.ReqID != call || ev.Type != a2e.TypeEvent || len(ev.ID) != 32 || !known || age < -time.Minute || age > 30*time.Minute {
			t.Fatalf("event %d is not the supervisor's: %+v", i, ev)
		}
		if i >= 1000 {
			continue // the others look the same
		}
		if b, err := json.Marshal(ev); err != nil || !utf8.Valid(b) {
			t.Fatalf("event %d has no JSON form: %v", i, err)
		}
	}
}

// data makes sure of the result's data, as JSON.
func data(want string) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		var have, should any
		got.into(t, &have)
		if err := json.Unmarshal([]byte(want), &should); err != nil {
			t.Fatal(err)
		}
		if a, b := quoted(have), quoted(should); a != b {
			t.Errorf("data = %.300s, want %s", a, b)
		}
	}
}

// text makes sure that the data is a text that begins like this.
func text(begins string) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		var s string
		got.into(t, &s)
		if i := strings.Index(s, begins); i < 0 || !utf8.ValidString(s) {
			t.Errorf("data = %.100q, want %q in it", s, begins)
		}
	}
}

// truncated makes sure that the data is a text that was cut, and near the limit.
func truncated(limit int) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		var s string
		got.into(t, &s)
		if !got.answer.Data.Truncated || len(s) > limit || len(s) < limit*9/10 { // of a line too long the beginning is kept
			t.Errorf("%d bytes of data, truncated: %v, want nearly %d", len(s), got.answer.Data.Truncated, limit)
		}
	}
}

// saying makes sure that some event's message holds this.
func saying(part string) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		if !slices.ContainsFunc(got.messages(), func(s string) bool { return strings.Contains(s, part) }) {
			t.Errorf("no event says %q", part)
		}
	}
}

func quoted(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(b)
}
