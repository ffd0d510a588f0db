package js

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What scripts return.
func TestResults(t *testing.T) {
	for name, tt := range map[string]struct{ script, want string }{
		"async":           {`export default async (args) => ({ n: args.n + 1 });`, `{"n":2}`},
		"plain":           {`export default (args) => args;`, `{"n":1}`},
		"named":           {`export default async function main(args) { return [args.n]; }`, `[1]`},
		"nothing":         {`export default () => {};`, `null`},
		"null":            {`export default async () => null;`, `null`},
		"text":            {`export default () => "a\u2028<b>é😀";`, `"a` + "\u2028" + `<b>é😀"`},
		"toJSON":          {`export default () => new Date(0);`, `"1970-01-01T00:00:00.000Z"`},
		"large numbers":   {`export default () => [1e21, 9007199254740993, 0.1];`, `[1e+21,9007199254740992,0.1]`},
		"top-level await": {`const x = await new Promise((r) => setTimeout(() => r(7), 1)); export default () => x;`, `7`},
		"exported later":  {`const main = () => 3; export { main as default };`, `3`},
		"CommonJS":        {`module.exports = async (args) => args.n;`, `1`},
		"exports.default": {`exports.default = (args) => args.n;`, `1`},
		"shebang":         {"#!/usr/bin/env node\nexport default () => 1;", `1`},
		"byte order mark": {"\uFEFFexport default () => 1;", `1`},
		"request":         {`export default (_, skill) => [skill.request.name, skill.request.correlation_id];`, `["demo","c1"]`},
		"microtasks":      {`export default async () => { const l = []; queueMicrotask(() => l.push(2)); l.push(1); await null; return l; };`, `[1,2]`},
		"timers in order": {`export default () => new Promise((done) => { const l = [];
			setTimeout(() => done(l), 30); setTimeout(() => l.push("b"), 12); setTimeout((x) => l.push(x), 2, "a"); const id = setTimeout(() => l.push("no"), 3); clearTimeout(id); });`, `["a","b"]`},
		"interval":     {`export default () => new Promise((done) => { let n = 0; const id = setInterval(() => { if (++n === 3) { clearInterval(id); done(n); } }, 1); });`, `3`},
		"left behind":  {`export default async () => { setInterval(() => {}, 1); setTimeout(() => {}, 100000); return 1; };`, `1`},
		"thenable":     {`export default () => ({ then(done) { setTimeout(() => done({ n: 4 }), 1); } });`, `{"n":4}`},
		"getter, once": {`let n = 0; export default () => ({ get n() { return ++n; } });`, `{"n":1}`},
		"typed arrays": {`class A extends Uint8Array {} export default () => { const a = new Uint8Array([1, 2, 3]), b = new ArrayBuffer(8);
			new Float64Array(b)[0] = 1; return [a.slice(1).length, a instanceof Uint8Array, a.constructor === Uint8Array, [...Uint8Array.of(4, 5)], new Uint8Array(b, 6, 2).length,
			[...new A(a)], new A(2) instanceof A, b instanceof ArrayBuffer, ArrayBuffer.isView(a), new Uint8Array().length, [...Uint16Array.from([1, 2, 3])], new Uint8Array("2").length]; };`,
			`[2,true,true,[4,5],2,[1,2,3],true,true,true,0,[1,2,3],2]`},
		"hard to show":   {`export default () => { const a = {}; a.a = a; console.log(a, Symbol("s"), new Proxy({}, { get() { throw 1; } }), { toString() { throw 1; }, toJSON() { throw 2; } }); return 1; };`, `1`},
		"JSON":           {`export default () => JSON.parse('{"a":[1,"\\\\"]}', (k, v) => (k === "0" ? 2 : v));`, `{"a":[2,"\\"]}`},
		"JSON untouched": {`JSON.stringify = () => "null"; export default () => ({ a: 1 });`, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := result(t, tt.script); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// How scripts fail, in the words that their authors read.
func TestFailures(t *testing.T) {
	for name, tt := range map[string]struct{ script, err, code string }{
		"thrown":             {"export default async (args) => {\n  const f = () => { null.x; };\n  f();\n};", "TypeError: Cannot read property 'x' of undefined at main.js:2:26", "exception"},
		"after a pause":      {"export default async () => {\n  await new Promise((r) => setTimeout(r, 1));\n  throw new RangeError('too far');\n};", "RangeError: too far at main.js:3:9", "exception"},
		"not async":          {"export default () => {\n  undefinedName();\n};", "ReferenceError: undefinedName is not defined at main.js:2:16", "exception"},
		"top level":          {"\nthrow new Error('early');\nexport default () => 1;", "Error: early at main.js:2:7", "exception"},
		"a string":           {"export default () => {\n  throw 'just words';\n};", "just words at main.js:2:3", "exception"},
		"rejected":           {"export default () => Promise.reject({ a: 1 });", "[object Object]", "exception"},
		"own code":           {"export default () => { throw Object.assign(new Error('no column'), { code: 'no_column', retryable: false }); };", "Error: no column at main.js:1:44", "no_column"},
		"odd code":           {"export default () => { throw Object.assign(new Error('x'), { code: 'NO COLUMN!' }); };", "Error: x at main.js:1:44", "exception"},
		"throws itself":      {"export default () => { throw { toString() { throw 1; } }; };", "the script threw something that can't be read", "exception"},
		"a timer":            {"export default () => new Promise(() => {\n  setTimeout(() => { throw new Error('late'); }, 1);\n});", "Error: late at main.js:2:28", "exception"},
		"endless recursion":  {"const f = () => f() + 1;\nexport default () => f();", "RangeError: more than 2000 calls are nested at main.js:1:18", "exception"},
		"throws itself deep": {"const f = () => f();\nexport default () => { throw { toString: f }; };", "the script threw something that can't be read", "exception"},
		"syntax":             {"export default () => {\n  const = 1;\n};", "SyntaxError: Unexpected token = at main.js:2:9", "syntax_error"},
		"compile":            {"export default () => 1;\nlet a = 1;\nlet a = 2;", "SyntaxError: Identifier 'a' has already been declared at main.js:3:5", "syntax_error"},
		"no function":        {"export default 3;", "main.js: the default export is no function: expected export default async (args, skill) => result", "no_entry"},
		"nothing exported":   {"const a = 1;", "main.js: the default export is no function: expected export default async (args, skill) => result", "no_entry"},
		"CommonJS, none":     {"module.exports = 3;", "main.js: module.exports is no function: expected module.exports = async (args, skill) => result", "no_entry"},
		"Node":               {"import fs from 'fs';\nexport default () => 1;", `main.js imports "fs": only files of the bundle can be imported, as ./name.js or ./name.json; there is no Node.js here, and packages must be bundled into one file`, "bad_import"},
		"outside":            {"import x from '../../etc/x.js';\nexport default () => 1;", `main.js imports "../../etc/x.js", which is outside of the bundle`, "bad_import"},
		"not there":          {"import x from './x.js';\nexport default () => 1;", "main.js imports what is not there: /skill/x.js: no such file or directory", "bad_import"},
		"no extension":       {"import x from './x';\nexport default () => 1;", `main.js imports "./x": expected the file's whole name, which ends in .js, .mjs or .json`, "bad_import"},
		"never settles":      {"export default () => new Promise(() => {});", "the default export's promise never settled: nothing is left that it could wait for", "never_settled"},
		"top level never":    {"await new Promise(() => {});\nexport default () => 1;", "main.js: its top level waits for something that never comes", "never_settled"},
		"a function":         {"export default () => () => 1;", "the result is no JSON: it is a function or a symbol", "bad_result"},
		"a getter throws":    {"export default () => ({\n  get a() { throw new Error('no a'); },\n});", "the result is no JSON: Error: no a at main.js:2:19", "bad_result"},
		"throws a getter":    {"export default () => { throw { get a() { throw 1; } }; };", "[object Object] at main.js:1:24", "exception"},
		"rejects a getter":   {"export default () => Promise.reject({ get a() { throw 1; } });", "[object Object]", "exception"},
		"a body's getter":    {"export default async () => fetch('https://example.org/', { body: { get a() { throw new Error('no a'); } } });", "Error: no a at main.js:1:84", "exception"},
		"odd retryable":      {"export default () => { throw Object.assign(new Error('x'), { retryable: { get a() { throw 1; } } }); };", "Error: x at main.js:1:44", "exception"},
		"a huge buffer":      {"export default () => new ArrayBuffer(2 ** 40);", "RangeError: ArrayBuffer: more than 2 GiB at main.js:1:22", "exception"},
		"a huger buffer":     {"export default () => new ArrayBuffer(2 ** 52);", "RangeError: ArrayBuffer: more than 2 GiB at main.js:1:22", "exception"},
		"huge numbers":       {"export default () => new Float64Array(2 ** 29);", "RangeError: Float64Array: more than 2 GiB at main.js:1:22", "exception"},
		"huge bytes":         {"export default () => Uint8Array.from({ length: 2 ** 40 });", "RangeError: Uint8Array: more than 2 GiB at main.js:1:37", "exception"},
		"like a huge array":  {"export default () => new Uint8Array({ length: 2 ** 40 });", "RangeError: Uint8Array: more than 2 GiB at main.js:1:22", "exception"},
		"too deep":           {"export default () => { let a = 1; for (let i = 0; i < 5000; i++) a = [a]; return a; };", "the result is nested deeper than 255 levels", "bad_result"},
		"a circle":           {"export default () => { const a = {}; a.a = a; return a; };", "the result is no JSON: TypeError: Converting circular structure to JSON", "bad_result"},
		"a BigInt":           {"export default () => ({ n: 1n });", "the result is no JSON: TypeError: Do not know how to serialize a BigInt", "bad_result"},
		"a getter":           {"export default () => ({ get x() { throw new Error('boo'); } });", "the result is no JSON: Error: boo at main.js:1:41", "bad_result"},
		"thrown getter":      {"export default () => { throw { get x() { throw new Error('boo'); }, toString() { return 'told'; } }; };", "told at main.js:1:24", "exception"},
		"artifact getter":    {"export default (_, skill) => skill.artifact('a', { get x() { throw new Error('boo'); } });", "Error: boo at main.js:1:68", "exception"},
		"deep JSON":          {"export default () => {\n  JSON.parse('['.repeat(20000) + ']'.repeat(20000));\n};", "RangeError: JSON.parse: the text nests too deep at main.js:2:13", "exception"},
		"bad JSON":           {"export default () => {\n  JSON.parse('[');\n};", "SyntaxError: Unexpected end of JSON input (EOF) at main.js:2:13", "exception"},
		"too large":          {"export default () => {\n  return 'x'.repeat(1e18);\n};", "RangeError: the script wants a value that is larger than any memory", "exception"},
		"no tools":           {"export default async (_, skill) => {\n  await skill.tool('time');\n};", "ToolError: no tools were granted to this call: name them under tools in skill.yaml at main.js:2:19", "permission_denied"},
		"no file":            {"export default async (_, skill) => skill.readFile('nothing.txt');", "Error: /skill/nothing.txt: no such file or directory at main.js:1:50", "exception"},
		"outside file":       {"export default async (_, skill) => skill.readFile('/etc/passwd');", "Error: /etc/passwd: not in /skill at main.js:1:50", "exception"},
		"no network":         {"export default async () => {\n  await fetch('https://example.org/');\n};", "TypeError: fetch GET https://example.org/: this cell has no network: network.allow in skill.yaml must name the host, and the operator allow it at main.js:2:14", "exception"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newBench(t, map[string]string{"main.js": tt.script}).run(t.Context(), t, `{}`)
			if s.ok || s.err != tt.err || s.code != tt.code {
				t.Errorf("got %q (%s)\nwant %q (%s)\n%q", s.err, s.code, tt.err, tt.code, s.events)
			}
			for _, line := range append(s.events, s.err) {
				if strings.Contains(line, "prelude") || strings.Contains(line, "goroutine") || strings.Contains(line, "native") {
					t.Errorf("it shows what is ours: %q", line)
				}
			}
		})
	}
}

// The whole stack is in the log, the script's frames alone.
func TestStack(t *testing.T) {
	s := newBench(t, map[string]string{
		"main.js":     "import { deep } from './lib/deep.js';\nexport default async () => {\n  [1].forEach(() => deep());\n};",
		"lib/deep.js": "export function deep() {\n  throw new Error('down here');\n}",
	}).run(t.Context(), t, `{}`)
	if want := "Error: down here at lib/deep.js:2:9"; s.err != want {
		t.Errorf("got %q, want %q", s.err, want)
	}
	want := []string{"log error: Error: down here\n\tat deep (lib/deep.js:2:9)\n\tat main.js:3:25\n\tat default (main.js:3:14)"}
	if diff := cmp.Diff(want, s.events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An endless loop ends with the process's context, and so does a wait.
func TestCancelled(t *testing.T) {
	for name, script := range map[string]string{
		"endless loop": `export default () => { for (;;); };`,
		"endless wait": `export default () => new Promise(() => setInterval(() => {}, 1000));`,
		"caught":       `export default () => { for (;;) { try { for (;;); } catch {} } };`,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("asked to stop"))
			defer cancel()
			s := newBench(t, map[string]string{"main.js": script}).run(ctx, t, `{}`)
			if s.ok || s.code != "cancelled" || !strings.HasPrefix(s.err, "the call was cancelled while the skill ran") {
				t.Errorf("got %q (%s)", s.err, s.code)
			}
		})
	}
}

// A promise that is rejected while nobody waits is told, and does no other harm.
func TestUnhandled(t *testing.T) {
	s := newBench(t, map[string]string{"main.js": "export default async () => {\n  Promise.reject(new Error('lost'));\n  Promise.reject(1).catch(() => {});\n  return 1;\n};"}).run(t.Context(), t, `{}`)
	if !s.ok || len(s.events) == 0 || s.events[len(s.events)-1] != "log error: a promise was rejected that nobody waits for: Error: lost at main.js:2:18" {
		t.Errorf("got %+v", s)
	}
}

// What is wrong with a script is said after the request, so that a waiting process says nothing; without one it says that.
func TestNoRequest(t *testing.T) {
	b := newBench(t, map[string]string{"main.js": "syntax error"})
	s := b.run(t.Context(), t, "nothing")
	if s.ok || s.code != "bad_request" {
		t.Errorf("got %q (%s)", s.err, s.code)
	}
}
