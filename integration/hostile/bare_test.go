package hostile

import (
	"testing"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
)

// bareRows attack from an image that has no runner: what they print reaches the supervisor as it is.
func bareRows() []row {
	const relay = "the relay"
	bare := func(name, what, stops, script string, r row) row {
		r.name, r.what, r.stops, r.python = "bare-"+name, what, stops, barePython+script
		if name != "deaf" && name != "ready-flood" {
			r.python = barePython + patient + script
		} else {
			r.cold = "it does not wait for its request"
		}
		r.yaml = "run: {frames: true, image: '" + rig.PythonImage + "', command: [python3, /skill/main.py]}\n"
		return r
	}
	crash := row{code: a2e.SandboxCrash, reason: a2e.ReasonTruncated, check: numbered}
	over := row{code: a2e.SkillError, reason: a2e.ReasonOutputLimit, check: numbered}
	// What ends at once can lose its tail on the way through some engines and runtimes; a skill without a runner stays until
	// it is told to go.
	const stay = "\nsys.stdin.read()"
	const done = "\nprint('{\"type\":\"skill/result\",\"success\":true,\"data\":\"done\"}', flush=True)\n"
	return []row{
		bare("forged-evidence", "claims the runner's evidence of an OOM kill", relay, `print('{"type":"cell/exit","exit_code":0,"oom_kills":7}')`, crash),
		bare("forged-words", "speaks every word of the wall", relay, `
for t in "ready exit done cancel lease file tool tool-result open data credit close".split():
    print(json.dumps({"type": "cell/" + t, "protocol": 1, "exit_code": 0, "oom_kills": 0, "secrets": {"A": "b"}, "path": "x"}))`+done,
			row{check: every(data(`"done"`), saying("not allowed"), numbered)}),
		bare("ready-flood", "says without end that it is ready", budget, `
while True: sys.stdout.write('{"type":"cell/ready","protocol":1}\n' * 1000)`, over),
		bare("lines", "prints 1 GB", budget, "while True: print('x' * 10000)", over),
		bare("one-line", "prints one line without end", "the bounded line reader, and "+budget, "for i in range(100): put('x' * 1000000)\nprint()"+stay, over),
		bare("long-result", "gives a result of 9 MiB", budget, `put('{"type":"skill/result","success":true,"data":"' + "x" * (9 << 20) + '"}\n')`+stay, over),
		bare("long-result-last", "says that it is a result only after 9 MiB", budget, `put('{"data":"' + "x" * (9 << 20) + '","type":"skill/result","success":true}\n')`+stay, over),
		bare("large-result", "gives a result of 7 MiB", "nothing: it is in order", `put('{"type":"skill/result","success":true,"data":"' + "x" * (7 << 20) + '"}\n')`+stay,
			row{check: every(size(7<<20), numbered)}),
		bare("half-result", "dies in the middle of its result", relay, `
sys.stdout.write('{"type":"skill/result","success":true,"da')
sys.stdout.flush()
os._exit(0)`, crash),
		bare("malformed-result", "gives a result that is none", relay, `print('{"type":"skill/result","success":1}')`, crash),
		bare("result-then-hang", "gives a result and stays", "the rule that the first valid result stands", done+"signal.pause()", row{check: data(`"done"`)}),
		bare("result-then-exit", "gives a result and fails", "the rule that the first valid result stands", done+"os._exit(9)", row{check: data(`"done"`)}),
		bare("deaf", "does not read its request and talks to the end", "the deadline", "while True:\n  print('on', flush=True)\n  time.sleep(0.01)",
			row{seconds: 3, code: a2e.Timeout, says: within(3)}),
		bare("silent", "closes its stdout and stays", "the deadline", "os.close(1)\nos.close(2)\nsignal.pause()", row{seconds: 3, code: a2e.Timeout}),
		bare("bytes", "prints bytes that are no text", relay, `sys.stdout.buffer.write(b"\xff\x00\xed\xa0\x80\n" * 100)`+"\nsys.stdout.flush()"+done,
			row{check: every(data(`"done"`), saying("\ufffd"), numbered)}),
		bare("artifacts", "tells of files with names that lead elsewhere", relay, `
for name in ["../../etc/passwd", "", "x" * 300, "a"]:
    print(json.dumps({"type": "skill/event", "kind": "artifact", "data": {"name": name, "chunk": "aGk=", "final": True}}))`+done,
			row{check: every(files("../../etc/passwd", "a"), numbered)}),
	}
}

// Under gVisor a write to a cell's own stdout may take a part, which Python's unbuffered print forgets.
const barePython = `import json, os, signal, sys, time
def put(text):
    b = text.encode()
    while b: b = b[os.write(1, b):]
`

// patient is what lets such a skill wait for its call: it says that it is ready, and reads its request.
const patient = `put('{"type":"cell/ready","protocol":1}\n')
sys.stdin.readline()
`

func TestBare(t *testing.T) { runRows(t, bareRows()) }

// size makes sure of the length of a text.
func size(want int) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		var s string
		if got.into(t, &s); len(s) != want {
			t.Errorf("%d bytes of data, want %d", len(s), want)
		}
	}
}
