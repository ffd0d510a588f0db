package js

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a script says while it runs.
func TestEvents(t *testing.T) {
	s := newBench(t, map[string]string{"main.js": `export default async (args, skill) => {
		console.log("a", 1, { b: [2] }, null, undefined, 3n, true);
		console.warn("careful"); console.error("bad"); console.debug(new Map([["k", 1]])); console.info(new Set([1]));
		const circle = {}; circle.self = circle; console.log(circle);
		skill.log("warning", "w", 1); skill.log("just this"); skill.log("a", "b");
		skill.progress(12.5, "on"); skill.progress("50");
		skill.status("half", { rows: [1], message: "hidden" }); skill.status("plain");
		skill.artifact("t.txt", "héllo"); skill.artifact("b.bin", new Uint8Array([0, 1, 2, 3]).subarray(1, 3), "x/y");
		skill.artifact("o.json", { a: 1 }); skill.artifact("w", new Uint16Array([1])); skill.artifact("e", new ArrayBuffer(0));
		skill.summary("done  well");
		return 1;
	};`}).run(t.Context(), t, `{}`)
	want := []string{
		`log info: a 1 {"b":[2]} null undefined 3n true`, "log warning: careful", "log error: bad", `log debug: Map(1) [["k",1]]`, "log info: Set(1) [1]",
		"log info: [object Object]", "log warning: w 1", "log info: just this", "log info: a b", "progress 12.5: on", "progress 50: ",
		`status half {"rows":[1]}`, "status plain {}", "artifact t.txt text/plain; charset=utf-8 aMOpbGxv", "artifact b.bin x/y AQI=",
		"artifact o.json application/json eyJhIjoxfQ==", "artifact w application/octet-stream AQA=", "artifact e application/octet-stream ",
	}
	if diff := cmp.Diff(want, s.events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.summary != "done well" || s.data != "1" {
		t.Errorf("got %+v", s)
	}
}

// Files of the bundle and of the call, imports of both kinds, secrets and the environment.
func TestFiles(t *testing.T) {
	b := newBench(t, map[string]string{
		"main.js": `import { twice } from "./lib/twice.js"; import table from "./data/table.json"; import * as all from "/skill/lib/twice.js";
		export default async (args, skill) => {
			const later = await import("./lib/later.mjs");
			return [twice(table.n), all.twice(1), later.default, await skill.readFile("data/note.txt"), await skill.readFile("/skill/data/note.txt"),
				await skill.readFile("/workspace/in/in.csv"), [...await skill.readBytes("/workspace/in/in.csv")].length, skill.inputs(),
				skill.files().length, skill.secret("TOKEN"), skill.secret("../TOKEN"), skill.secret("NONE") ?? "none", skill.env.A, process.env.A, import.meta !== undefined];
		};`,
		"lib/twice.js": `export const twice = (n) => 2 * n;`, "lib/later.mjs": `import { twice } from "./twice.js"; export default twice(4);`,
		"data/table.json": `{"n": 21}`, "data/note.txt": "a note é", "/workspace/in/in.csv": "a,b\n", "/run/hotcell/secrets/TOKEN": "hush",
	})
	b.env = []string{"A=b=c"}
	s := b.run(t.Context(), t, `{}`)
	want := `[42,2,8,"a note é","a note é","a,b\n",4,["/workspace/in/in.csv"],5,"hush",null,"none","b=c","b=c",true]`
	if s.data != want {
		t.Errorf("got %s (%s)\nwant %s", s.data, s.err, want)
	}
}

func TestCommonJS(t *testing.T) {
	s := newBench(t, map[string]string{
		"main.js":      `const { twice } = require("./lib/twice.js"); const t = require("./t.json"); module.exports = async () => [twice(t.n), require("./lib/twice.js").twice === twice];`,
		"lib/twice.js": `exports.twice = (n) => 2 * n;`, "t.json": `{"n":4}`,
	}).run(t.Context(), t, `{}`)
	if s.data != "[8,true]" {
		t.Errorf("got %s (%s)", s.data, s.err)
	}
	s = newBench(t, map[string]string{
		"main.js":   `module.exports = async () => [(await import("./sub/m.js")).default, await require("./sub/c.js")()];`,
		"sub/c.js":  `module.exports = async () => { await null; return (await import("./m.js")).default; };`,
		"sub/m.js":  `import { n } from "./n.mjs"; export default n;`,
		"sub/n.mjs": `export const n = 5;`,
	}).run(t.Context(), t, `{}`)
	if s.data != "[5,5]" {
		t.Errorf("import() in a folder: got %s (%s)", s.data, s.err)
	}
	for script, want := range map[string]string{
		`require("fs"); module.exports = () => 1`:     `TypeError: main.js imports "fs": only files of the bundle`,
		`require("./m.js"); module.exports = () => 1`: "TypeError: main.js requires m.js, which is an ES module: use import()",
		`require("./x.js"); module.exports = () => 1`: "TypeError: main.js imports what is not there: /skill/x.js",
		`require("./e.js"); module.exports = () => 1`: "Error: from e at e.js:2:7",
	} {
		s := newBench(t, map[string]string{"main.js": script, "m.js": "export const a = 1;", "e.js": "exports.a = 1;\nthrow new Error('from e');"}).run(t.Context(), t, `{}`)
		if s.ok || !strings.HasPrefix(s.err, want) {
			t.Errorf("%s: got %q, want %q", script, s.err, want)
		}
	}
}

// What browsers and Node.js have, as far as it is here.
func TestWeb(t *testing.T) {
	for name, tt := range map[string]struct{ expression, want string }{
		"text":         {`[...new TextEncoder().encode("é")].concat(new TextDecoder().decode(new Uint8Array([0xC3, 0xA9])))`, `[195,169,"é"]`},
		"fatal text":   {`(() => { try { new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([255])); } catch (e) { return e.name; } })()`, `"TypeError"`},
		"base64":       {`[btoa("hi\xff"), atob("aGn/"), atob("aGk")]`, `["aGn/","hiÿ","hi"]`},
		"clone":        {`(() => { const a = { d: new Date(0), m: new Map([[1, { x: 1 }]]), l: [new Uint8Array([1])] }; a.self = a; const c = structuredClone(a); return [c !== a, c.self === c, c.d.getTime(), c.m.get(1).x, c.l[0][0]]; })()`, `[true,true,0,1,1]`},
		"URL":          {`(() => { const u = new URL("../b?x=1&y=a%20b#h", "https://u:p@e.example:8443/a/c/"); return [u.href, u.origin, u.host, u.port, u.pathname, u.searchParams.get("y"), u.hash]; })()`, `["https://u:p@e.example:8443/a/b?x=1&y=a+b#h","https://e.example:8443","e.example:8443","8443","/a/b","a b","#h"]`},
		"URL, changed": {`(() => { const u = new URL("https://e.example"); u.searchParams.append("q", "a&b=ü"); u.pathname = "x y"; return String(u); })()`, `"https://e.example/x%20y?q=a%26b%3D%C3%BC"`},
		"no URL":       {`[URL.canParse("nope"), URL.canParse("/a", "http://b")]`, `[false,true]`},
		"params":       {`(() => { const p = new URLSearchParams({ a: 1, b: "x y" }); p.append("a", 2); p.set("b", "~*"); p.delete("c"); return [p.toString(), p.getAll("a"), [...p].length, p.has("b")]; })()`, `["a=1&b=%7E*&a=2",["1","2"],3,true]`},
		"headers":      {`(() => { const h = new Headers({ A: "1" }); h.append("a", "2"); return [h.get("A"), [...h]]; })()`, `["1, 2",[["a","1, 2"]]]`},
		"random":       {`[crypto.randomUUID().length, crypto.getRandomValues(new Uint32Array(2)).length]`, `[36,2]`},
		"classes":      {`(() => { class A { #x = 1; static s = 2; get x() { return this.#x ?? 0; } } return [new A().x, A.s, [1, [2]].flat().at(-1), Object.fromEntries([["a", 1]])]; })()`, `[1,2,2,{"a":1}]`},
		"frozen":       {`(() => { "use strict"; try { process.env.X = 1; return "set"; } catch (e) { return e.name; } })()`, `"TypeError"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := result(t, "export default () => "+tt.expression+";"); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestFetch(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Kind", r.Header.Get("Content-Type"))
		w.WriteHeader(201)
		_ = json.NewEncoder(w).Encode(map[string]any{"body": string(body), "a": r.Header.Get("A"), "method": r.Method})
	})
	mux.Handle("GET /moved", http.RedirectHandler("/there", http.StatusFound))
	mux.HandleFunc("GET /there", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "there é") })
	mux.HandleFunc("GET /broken", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "short")
	})
	step := make(chan struct{}, 10)
	mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "one")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-step:
			_, _ = io.WriteString(w, "two")
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("GET /go", func(http.ResponseWriter, *http.Request) { step <- struct{}{} })
	server := httptest.NewServer(mux)
	defer server.Close()
	for name, tt := range map[string]struct{ body, want string }{
		"JSON":     {`const r = await fetch(base + "/echo", { method: "post", headers: { A: "b" }, body: { n: 1 } }); return [r.status, r.ok, r.headers.get("x-kind"), await r.json()];`, `[201,true,"application/json",{"a":"b","body":"{\"n\":1}","method":"POST"}]`},
		"text":     {`return (await (await fetch(base + "/echo", { method: "POST", body: "hé" })).json()).body;`, `"hé"`},
		"bytes":    {`return (await (await fetch(base + "/echo", { method: "POST", body: new Uint8Array([97, 98]) })).json()).body;`, `"ab"`},
		"form":     {`return (await (await fetch(base + "/echo", { method: "POST", body: new URLSearchParams({ a: "b c" }) })).json()).body;`, `"a=b+c"`},
		"redirect": {`const r = await fetch(new URL("/moved", base)); return [r.redirected, r.url === base + "/there", await r.text()];`, `[true,true,"there é"]`},
		"manual":   {`const r = await fetch(base + "/moved", { redirect: "manual" }); return [r.status, r.headers.get("location")];`, `[302,"/there"]`},
		"404":      {`const r = await fetch(base + "/none"); return [r.ok, r.status, r.statusText];`, `[false,404,"Not Found"]`},
		"twice":    {`const r = await fetch(base + "/there"); await r.bytes(); try { await r.text(); } catch (e) { return [e.name, r.bodyUsed]; }`, `["TypeError",true]`},
		"broken":   {`const r = await fetch(base + "/broken"); try { await r.text(); } catch (e) { return [e.name, e.message]; }`, `["TypeError","the answer broke off: unexpected EOF"]`},
		"pieces":   {`const r = (await fetch(base + "/slow")).body.getReader(); const l = []; for (;;) { const { done, value } = await r.read(); if (done) return l; l.push(new TextDecoder().decode(value)); await fetch(base + "/go"); }`, `["one","two"]`},
		"unread":   {`await fetch(base + "/slow"); return 1;`, `1`},
		"scheme":   {`try { await fetch("file:///etc/passwd"); } catch (e) { return e.message; }`, `"fetch GET file:///etc/passwd: expected a URL that begins with http:// or https://"`},
		"bad body": {`return fetch(base, { method: "POST", body: 5 }).catch((e) => e.message);`, `"fetch: body: expected text, bytes or an object"`},
		"together": {`return (await Promise.all([1, 2, 3].map(() => fetch(base + "/there").then((r) => r.status))));`, `[200,200,200]`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := result(t, "export default async () => { const base = '"+server.URL+"'; "+tt.body+" };"); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Answers that nobody reads do not use up the cell's connections, nor do those that were read.
func TestAnswersThatNobodyReads(t *testing.T) {
	var most, now atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "text") }))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			most.Store(max(most.Load(), now.Add(1)))
		case http.StateClosed:
			now.Add(-1)
		}
	}
	server.Start()
	defer server.Close()
	got := result(t, `export default async () => {
		const all = [];
		for (let i = 0; i < 400; i++) all.push(await fetch("`+server.URL+`"));
		const last = await all.at(-1).text();
		try { await all[0].text(); } catch (e) { return [last, e.message]; }
	};`)
	if want := `["text","the answer was given up: its body was not read before 150 others waited too"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if n := most.Load(); n > maxOpen+8 {
		t.Errorf("%d connections at once, want at most %d", n, maxOpen+8)
	}
	got = result(t, `export default async () => {
		let n = 0;
		for (let i = 0; i < 300; i++) n += (await (await fetch("`+server.URL+`")).text()).length;
		const reader = (await fetch("`+server.URL+`")).body.getReader();
		await reader.cancel();
		return n;
	};`)
	if got != "1200" {
		t.Errorf("got %s", got)
	}
}

// Requests to anywhere but loopback go through the proxy of the environment, whose refusal is told.
func TestFetchThroughProxy(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.RequestURI)
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, "by proxy")
	}))
	defer proxy.Close()
	b := newBench(t, map[string]string{"main.js": `export default async () => {
		const text = await (await fetch("http://plain.example/x")).text();
		try { await fetch("https://secret.example/y"); } catch (e) { return [text, e.message]; }
	};`})
	b.env = []string{"HTTP_PROXY=" + proxy.URL, "HTTPS_PROXY=" + proxy.URL}
	s := b.run(t.Context(), t, `{}`)
	if want := `["by proxy","fetch GET https://secret.example/y: the cell's proxy answered 403 Forbidden"]`; s.data != want {
		t.Errorf("got %s (%s), want %s", s.data, s.err, want)
	}
	if diff := cmp.Diff([]string{"GET http://plain.example/x", "CONNECT secret.example:443"}, asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTools(t *testing.T) {
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Header.Get("Authorization") != "Bearer hc-token":
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"success":false,"error":"not this cell's token","code":"permission_denied"}`)
		case r.URL.Path == "/v1/tools/skill:other":
			_, _ = io.WriteString(w, `{"success":true,"data":{"got":`+string(body)+`}}`)
		case r.URL.Path == "/v1/tools/odd":
			_, _ = io.WriteString(w, `surprise`)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"success":false,"error":"no such tool","code":"tool_not_found"}`)
		}
	}))
	defer gate.Close()
	b := newBench(t, map[string]string{"main.js": `export default async (args, skill) => {
		const trouble = async (name) => { try { return await skill.tool(name); } catch (e) { return [e.name, e.code, e.message]; } };
		return [await skill.tool("skill:other", { a: 1 }), await trouble("none"), await trouble("odd")];
	};`})
	b.env = []string{"HOTCELL_TOOLS_URL=" + gate.URL, "HOTCELL_TOKEN=hc-token"}
	s := b.run(t.Context(), t, `{}`)
	want := `[{"got":{"a":1}},["ToolError","tool_not_found","no such tool"],["ToolError","tool_unavailable","the tool gate answered 200 with something else than JSON"]]`
	if s.data != want {
		t.Errorf("got %s (%s)\nwant %s", s.data, s.err, want)
	}
}

// A script is told which model it was granted, and nothing where it was granted none.
func TestWhichModel(t *testing.T) {
	for lease, want := range map[string]string{
		"": `["none"]`, `{"tools":[]}`: `["none"]`,
		`{"model":{"provider":"p","kind":"openai","model":"small","config":{"temperature":0.5}}}`: `[{"provider":"p","kind":"openai","model":"small","config":{"temperature":0.5}}]`,
	} {
		files := map[string]string{"main.js": `export default (args, skill) => [skill.model() ?? "none"];`}
		if lease != "" {
			files["/run/hotcell/lease.json"] = lease
		}
		if s := newBench(t, files).run(t.Context(), t, `{}`); s.data != want {
			t.Errorf("%s: got %s (%s)", lease, s.data, s.err)
		}
	}
}

// A script that asks for a great many tools at once waits for them, and opens no more connections than its cell has files for.
func TestManyToolsAtOnce(t *testing.T) {
	var open, most atomic.Int64
	gate := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"success":true,"data":1}`) }))
	gate.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			if n := open.Add(1); n > most.Load() {
				most.Store(n)
			}
		case http.StateClosed:
			open.Add(-1)
		case http.StateActive, http.StateIdle, http.StateHijacked:
		}
	}
	gate.Start()
	defer gate.Close()
	b := newBench(t, map[string]string{"main.js": `export default async (_, skill) => (await Promise.all(Array.from({ length: 500 }, () => skill.tool("one")))).length;`})
	b.env = []string{"HOTCELL_TOOLS_URL=" + gate.URL, "HOTCELL_TOKEN=hc-token"}
	if s := b.run(t.Context(), t, `{}`); s.data != "500" || most.Load() > 64 {
		t.Errorf("got %s (%s), %d connections at once", s.data, s.err, most.Load())
	}
}
