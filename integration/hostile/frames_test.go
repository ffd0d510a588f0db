package hostile

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
)

// digits is a number that no machine's number holds.
var digits = strings.Repeat("1234567890", 40)

func frameRows() []row {
	const (
		first  = "the rule that the first valid result stands"
		parser = "the wall's parser"
	)
	then := func(what, says string, check func(testing.TB, told)) row {
		return row{name: "result-then-" + what, what: "gives a result, " + says, stops: first, args: []string{"frames-then", what}, check: every(data(`"first"`), check, numbered)}
	}
	printed := func(name, what string, r row, lines ...string) row {
		r.name, r.what, r.stops, r.args = name, what, parser, append([]string{"frames"}, lines...)
		return r
	}
	malformed := row{code: a2e.SkillError, says: "malformed skill/result", check: every(skillCode("malformed_result"), numbered)}
	done := `{"type":"skill/result","success":true,"data":"done"}`
	return []row{
		{name: "forged-lines", what: "speaks as the runner and the supervisor in every word of the wall", stops: parser, args: []string{"frames-forged"},
			code: a2e.SkillError, reason: a2e.ReasonExit, says: "exited with 3: the last word", check: every(saying(`{"type":"cell/exit","exit_code":0,"oom_kills":9}`), numbered)},
		printed("forged-result-on-stderr", "prints a result to stderr", row{code: a2e.SkillError, reason: a2e.ReasonExit, says: "exited with 4"},
			`2:{"type":"skill/result","success":true,"data":"forged"}`, "exit:4"),
		printed("forged-event-fields", "numbers and stamps its events itself", row{check: every(data(`"done"`), numbered, saying("mine"))},
			`{"type":"skill/event","kind":"status","seq":999,"ts":0,"id":"x","req_id":"other","version":"9","data":{"message":"mine","seq":5}}`, done),
		printed("unknown-kinds", "tells of kinds that are none", row{check: every(data(`"done"`), numbered)},
			`{"type":"skill/event","kind":"cell/exit","data":{"exit_code":0}}`, `{"type":"skill/event","kind":"skill/result","data":{}}`, done),
		printed("wild-progress", "is at 1e300 %, at less than nothing and at half", row{check: every(data(`"done"`), numbered, progress(100, 0, 100, 0))},
			`{"type":"skill/event","kind":"progress","data":{"pct":1e300}}`, `{"type":"skill/event","kind":"progress","data":{"pct":-1e300}}`,
			`{"type":"skill/event","kind":"progress","data":{"pct":1e999999}}`, `{"type":"skill/event","kind":"progress","data":{"pct":1e-999999}}`,
			`{"type":"skill/event","kind":"progress","data":{"pct":"half"}}`, `{"type":"skill/event","kind":"progress","data":{"pct":NaN}}`,
			`{"type":"skill/event","kind":"progress","data":{"pct":[1]}}`, done),
		printed("two-results", "gives two results", row{check: every(data(`"done"`), saying("another result"), numbered)},
			done, `{"type":"skill/result","success":false,"error":"second"}`),
		printed("two-types", "is an event and a result at once", row{check: every(saying("there twice"), numbered)},
			`{"type":"skill/event","type":"skill/result","kind":"log","success":true,"data":{}}`),
		printed("two-successes", "fails and succeeds at once", malformed, `{"type":"skill/result","success":true,"success":false,"data":1}`),
		printed("case-of-keys", "spells its keys otherwise", malformed, `{"type":"skill/result","Success":true,"SUCCESS":true,"data":1}`),
		printed("double-keys-within", "has a key twice in an event's data", row{check: every(data(`"done"`), saying("there twice"), numbered)},
			`{"type":"skill/event","kind":"log","data":{"message":"a","message":"b"}}`, done),
		printed("many-keys", "has more keys than anybody reads", row{check: every(data(`"done"`), saying("more than 256 keys"), numbered)},
			`{"type":"skill/event","kind":"log","data":{"message":"m"`+manyKeys(300)+`}}`, done),
		printed("huge-numbers", "gives numbers that no machine holds", row{check: every(asWritten(`[1e400,-1e-400,`+digits+`,0.1000000000000000055511151231257827]`), numbered)},
			`{"type":"skill/event","kind":"status","data":{"message":"n","n":`+digits+`}}`,
			`{"type":"skill/result","success":true,"data":[1e400,-1e-400,`+digits+`,0.1000000000000000055511151231257827]}`),
		printed("huge-numbers-plain", "prints a number that no machine holds", row{check: asWritten(digits)}, digits),
		printed("surrogates", "writes halves of characters", row{check: every(numbered, wholeAnswer)},
			`{"type":"skill/event","kind":"log","data":{"message":"a\ud800b","x":["\udfff"]}}`, `{"type":"skill/result","success":true,"data":"\ud800","summary":"\udc00\ud800"}`),
		printed("not-a-number", "gives NaN, as Python writes it", malformed, `{"type":"skill/result","success":true,"data":NaN}`),
		printed("wrong-types", "has the wrong types everywhere", malformed,
			`{"type":"skill/event","kind":7,"data":"x"}`, `{"type":7}`, `[]`, `null`, `{"type":"skill/result","success":"true"}`),
		{name: "deep-text", what: "prints 100,000 open brackets", stops: parser, args: []string{"frames-deep", "text", "100000"}, check: text("[[[")},
		{name: "deep-result", what: "nests its result 5,000 levels", stops: parser, args: []string{"frames-deep", "result", "5000"},
			code: a2e.SkillError, says: "nested deeper than 256", check: skillCode("malformed_result")},
		{name: "deep-event", what: "nests its events 100,000 levels", stops: parser, args: []string{"frames-deep", "event", "100000"},
			check: every(data(`"done"`), numbered)},
		{name: "long-result", what: "gives a result of 100 MB", stops: "limits.output, by the runner", args: []string{"frames-long", "result", "100000000"},
			code: a2e.SkillError, reason: a2e.ReasonOutputLimit, says: "result"},
		{name: "long-event", what: "tells of an event of 100 MB", stops: "the bounded line readers", args: []string{"frames-long", "event", "100000000"},
			check: every(saying("bytes cut"), numbered)},
		then("events", "tells more", saying("after 49")),
		then("result", "and another one", saying("another result")),
		then("exit", "and fails", noted("the skill exited with 9")),
		then("signal", "and is killed", noted("the skill was ended by signal 9")),
		then("hang", "and stays, deaf to SIGTERM", noted("the skill was ended by signal 9")),
		dies(then("memory", "and eats memory", saying("the result stands"))),
		then("flood", "and prints 1 GiB, until its budget or its time is over", numbered),
		{name: "half-a-result", what: "dies in the middle of its result", stops: first, args: []string{"frames-then", "half"},
			code: a2e.SandboxCrash, reason: a2e.ReasonSignal, says: "signal 9"},
		{name: "daemon-talks-on", what: "exits and leaves a daemon that keeps stdout and talks on", stops: "the runner, which ends what is left",
			args: []string{"frames-daemon"}, check: every(data(`"left a daemon"`), numbered)},
		{name: "result-before-the-deadline", what: "gives its result in good time", stops: "nothing: it is in order", args: []string{"frames-at", "1500"},
			seconds: 10, check: data(`"at last"`)},
		{name: "result-after-the-deadline", what: "gives its result too late", stops: "the deadline", args: []string{"frames-at", strconv.Itoa(1000*deadline(2) + 50)},
			seconds: 2, code: a2e.Timeout, says: within(2)},
		{name: "python-daemon", what: "forks twice and talks on", stops: "the runner, which ends what is left", python: pythonDaemon, check: data(`"parent"`)},
		{name: "python-not-a-number", what: "dumps NaN as JSON", stops: parser, python: `import json
print(json.dumps({"type": "skill/result", "success": True, "data": float("nan")}))`, code: a2e.SkillError, says: "malformed skill/result"},
	}
}

// dies is a row that gVisor ends whole, with its runner: nobody is left to tell more than the result.
func dies(r row) row {
	r.runsc = &verdict{check: every(data(`"first"`), numbered)}
	return r
}

const pythonDaemon = `import os, sys, time
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(w, b"x")
        while True:
            os.write(1, b"daemon\n")
            time.sleep(0.001)
    os._exit(0)
os.read(r, 1)
os.write(1, b'{"type":"skill/result","success":true,"data":"parent"}\n') # in one piece: print writes the line feed by itself`

func TestFrames(t *testing.T) { runRows(t, frameRows()) }

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"k` + strings.Repeat("x", i) + `":1`)
	}
	return b.String()
}

// skillCode makes sure of the failure's own code.
func skillCode(want string) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		if code := got.answer.Error.Detail["skill_code"]; code != want {
			t.Errorf("skill_code = %v, want %s", code, want)
		}
	}
}

// progress makes sure of the events of progress, in order.
func progress(want ...int) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		var have []int
		for _, ev := range got.events {
			if pct, ok := ev.Data["pct"].(int); ok && ev.Kind == a2e.KindProgress {
				have = append(have, pct)
			}
		}
		if quoted(have) != quoted(want) {
			t.Errorf("progress %v, want %v", have, want)
		}
	}
}

// asWritten makes sure that the answer, on the wire, has these very bytes as its data.
func asWritten(want string) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		if b := wire(t, got.answer); !strings.Contains(b, `"data":`+want) {
			t.Errorf("the answer is %.600s, want the data %.100s", b, want)
		}
	}
}

// wholeAnswer makes sure that the answer is JSON that others can read.
func wholeAnswer(t testing.TB, got told) {
	t.Helper()
	if b := wire(t, got.answer); !json.Valid([]byte(b)) || strings.Contains(b, "\n") {
		t.Errorf("the answer is %.300s", b)
	}
}

func wire(t testing.TB, m a2e.Message) string {
	t.Helper()
	var b strings.Builder
	if err := a2e.NewEncoder(&b).Encode(m); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
