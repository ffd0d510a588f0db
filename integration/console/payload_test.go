package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// trap is where payloads would lead: whoever asks it for anything has fallen for one.
var trap = sync.OnceValue(func() *sprung {
	t := &sprung{}
	t.server = httptest.NewServer(t)
	atEnd(func() error {
		t.server.Close()
		if fallen := t.said(); len(fallen) > 0 {
			return fmt.Errorf("payloads were followed: %q", fallen)
		}
		return nil
	})
	return t
})

// sprung is a trap, and who fell into it.
type sprung struct {
	server *httptest.Server
	mu     sync.Mutex
	list   []string
}

func (t *sprung) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, r.Method+" "+r.URL.String())
	w.Header().Set("Content-Type", "text/javascript")
	_, _ = w.Write([]byte("window.__xss='trap'"))
}

func (t *sprung) said() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.list)
}

// payloads are what hostile skills, callers and agents say. Each that makes an element marks it with data-xss; each that runs sets
// window.__xss; each that loads something asks the trap.
func payloads() map[string]string {
	at := trap().server.URL
	return map[string]string{
		"script":   `<script data-xss>window.__xss='script'</script><script data-xss src="` + at + `/script.js"></script>`,
		"image":    `<img data-xss src="` + at + `/image" onerror="window.__xss='image'">`,
		"svg":      `<svg data-xss onload="window.__xss='svg'"><script>window.__xss='svg script'</script><a xlink:href="javascript:window.__xss='svg link'"><text y=20>x</text></a></svg>`,
		"link":     `<a data-xss href="javascript:window.__xss='link'">read more</a> javascript:window.__xss='plain' data:text/html,<script>window.__xss='data'</script>`,
		"markdown": `[read more](javascript:window.__xss='markdown') ![picture](` + at + `/markdown.png) [out](` + at + `/out) <` + at + `/auto> <details data-xss open ontoggle="window.__xss='toggle'">`,
		"template": `{{.}} {{printf "%s" "x"}} {{7*7}} ${window.__xss='template'} <%= 7*7 %> {% raw %} [[x]] {{constructor.constructor("window.__xss='ng'")()}}`,
		"htmx":     `<div data-xss hx-get="` + at + `/hx" hx-trigger="load" hx-on:click="window.__xss='hx'" data-hx-get="` + at + `/data-hx" data-hx-trigger="load" data-hx-on-load="window.__xss='hx'">x</div>`,
		"quotes":   `" autofocus onfocus="window.__xss='double'" data-xss="' autofocus onfocus='window.__xss=1' data-xss='` + "` onload=`window.__xss=2`",
		"closing":  `</textarea></title></style></script></pre></code></option></select>--></noscript><script data-xss>window.__xss='closing'</script>`,
		"frames":   `<iframe data-xss srcdoc="<script>parent.__xss='frame'</script>"></iframe><object data-xss data="` + at + `/object"></object><embed data-xss src="` + at + `/embed">`,
		"page":     `<base data-xss href="` + at + `/"><meta data-xss http-equiv="refresh" content="0;url=` + at + `/refresh"><link data-xss rel="stylesheet" href="` + at + `/style"><style data-xss>@import "` + at + `/import"; body{display:none!important}</style>`,
		"form":     `<form data-xss action="` + at + `/form"><button autofocus>Sign in</button><input name=token></form>`,
		"event":    "\r\n\r\nevent: message\r\ndata: <script data-xss>window.__xss='sse'</script>\r\n\r\nid: 0\n\ndata: x\n\n",
		"terminal": "\x1b[31mred\x1b[0m \x1b]8;;" + at + "/osc\x07link\x1b]8;;\x07 \x07 \x00 \x08",
		"bidi":     "user\u202e gpj.exe\u202c \u2066hidden\u2069 \u200bzero\u200dwidth \ufeff é\u0301\u0301\u0301\u0301 \U0001f469\u200d\U0001f4bb ﷽",
		"word":     strings.Repeat("W", 5000),
	}
}

// said are the payloads in the order of their names.
func said() (list []string) {
	all := payloads()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list
}

// short is a payload that fits where little does.
func short() string {
	return `<img data-xss src=x onerror="window.__xss='short'">{{7*7}}`
}

// canary looks for what a payload would have done, and fails the test with it.
func (s *sheet) canary() {
	s.t.Helper()
	var found []string
	s.eval(`(() => {
		const found = [];
		if (window.__xss !== undefined) found.push("a payload ran: " + window.__xss);
		for (const e of document.querySelectorAll("[data-xss]")) found.push("an element was made of a payload: " + e.outerHTML.slice(0, 200));
		for (const e of document.querySelectorAll("*")) for (const a of e.attributes) {
			const value = a.value.trim().toLowerCase();
			if (a.name.startsWith("on") || a.name === "style" && value.includes("__xss")) found.push("a handler: " + a.name + "=" + a.value.slice(0, 200));
			if (["href", "src", "action", "formaction", "srcset", "data", "poster", "xlink:href"].includes(a.name) || a.name.startsWith("hx-") || a.name.startsWith("data-hx-")) {
				if (/^(javascript|vbscript|data:text)/.test(value.replace(/[\u0000-\u0020]/g, ""))) found.push("an address: " + a.value.slice(0, 200));
				if (/^(https?:)?\/\//.test(value) && !value.startsWith(location.origin + "/") && !(e.tagName === "A" && e.rel.includes("noopener") && !value.includes("127.0.0.1")))
					found.push("a way out: " + e.outerHTML.slice(0, 200));
			}
		}
		if (document.querySelectorAll("base, iframe, object, embed, meta[http-equiv]").length) found.push("an element that no page has");
		return found;
	})()`, &found)
	for _, f := range found {
		s.fault("%s: %s", s.where(), f)
	}
}

// folders writes the skills: those of testdata, and hostile ones.
func folders(root string) error {
	if err := os.CopyFS(root, os.DirFS("testdata/skills")); err != nil {
		return err
	}
	list, err := json.Marshal(said())
	if err != nil {
		return err
	}
	quoted := func(text string) string {
		b, _ := json.Marshal(strings.ToValidUTF8(text, ""))
		return string(b)
	}
	all := payloads()
	var schema []string
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if name == "terminal" || name == "event" || name == "word" {
			continue // YAML has no place for them
		}
		schema = append(schema, fmt.Sprintf(`{"title": %s, "description": %s, "type": "string", "default": %s, "enum": [%s, "n%d"]}`, quoted(all[name]), quoted(all[name]), quoted(all[name]), quoted(all[name]), i))
	}
	var properties []string
	for i, text := range schema {
		properties = append(properties, fmt.Sprintf(`"p%d": %s`, i, text))
	}
	properties = append(properties, `"__proto__": {"type": "string"}`, quoted(short())+`: {"type": "string"}`)
	files := map[string]string{
		"hostile-output/SKILL.md":                                                   "---\nname: hostile-output\ndescription: " + quoted(all["script"]+all["image"]) + "\nlicense: " + quoted(short()) + "\nmetadata: {" + quoted(short()) + ": " + quoted(short()) + "}\n---\n# " + all["svg"] + "\n\n" + markdown(),
		"hostile-output/skill.yaml":                                                 "limits: {memory: 64Mi, cpu: '1'}\ncategory: " + quoted(short()) + "\ntags: [" + quoted(short()) + "]\ntriggers: [" + quoted(all["link"]) + "]\nwhen_to_use: " + quoted(all["markdown"]) + "\nargument_hint: " + quoted(all["htmx"]) + "\nicon: " + quoted(short()) + "\nexamples: [" + quoted(short()) + "]\ninput_schema: {\"type\": \"object\", \"title\": " + quoted(short()) + ", \"properties\": {" + strings.Join(properties, ",") + "}}\n",
		"hostile-output/payloads.json":                                              string(list),
		"hostile-output/scripts/main.py":                                            hostileOutput,
		"hostile-output/scripts/page.html":                                          strings.ReplaceAll(strings.Join(said(), "\n"), "\x00", ""),
		"hostile-output/" + fileName() + ".md":                                      markdown(),
		"hostile-error/SKILL.md":                                                    "---\nname: hostile-error\ndescription: " + quoted(all["bidi"]) + "\n---\n" + all["word"],
		"hostile-error/skill.yaml":                                                  "limits: {memory: 64Mi, cpu: '1'}\n",
		"hostile-error/payloads.json":                                               string(list),
		"hostile-error/scripts/main.py":                                             hostileError,
		"<img data-xss src=x onerror=1>/SKILL.md":                                   "---\nname: " + quoted(short()) + "\ndescription: [not, a, text, " + quoted(short()) + "]\n---\nx\n",
		"broken-by-its-yaml/SKILL.md":                                               "---\nname: broken-by-its-yaml\ndescription: Has a key that nobody knows.\n---\nx\n",
		"broken-by-its-yaml/skill.yaml":                                             quoted(short()) + ": 1\n",
		"broken-by-its-yaml/scripts/main.py":                                        "print(1)\n",
		"blocked-by-its-author/SKILL.md":                                            "---\nname: blocked-by-its-author\ndescription: Is not to be called for now.\n---\nx\n",
		"blocked-by-its-author/skill.yaml":                                          "status: Blocked\n",
		"blocked-by-its-author/scripts/main.py":                                     "print(1)\n",
		"a-skill-with-a-name-as-long-as-names-may-be-which-is-a-lot-of-it/SKILL.md": "---\nname: a-skill-with-a-name-as-long-as-names-may-be-which-is-a-lot-of-it\ndescription: " + strings.Repeat("long ", 200) + "\n---\nx\n",
	}
	for path, text := range files {
		err = errors.Join(err, write(filepath.Join(root, path), text))
	}
	return err
}

// fileName is a payload as the name of a file.
func fileName() string { return `<img data-xss src=x onerror=window.__xss=1>` }

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), fs.FileMode(0o755)); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// markdown is a body that holds all payloads where Markdown has places for them.
func markdown() string {
	at := trap().server.URL
	var b strings.Builder
	b.WriteString("# Instructions\n\nA [harmless](https://docs.example/guide) link, `code`, **bold**.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n")
	for _, text := range said() {
		b.WriteString("\n\n" + strings.ReplaceAll(text, "\x00", "") + "\n")
	}
	b.WriteString("\n\n[a]: javascript:window.__xss='reference'\n\n[a] [b](" + at + "/b \"" + short() + "\") [c](data:text/html;base64,PHNjcmlwdD4=) [d](&#106;avascript:window.__xss=1)\n\n")
	b.WriteString("```html\n" + payloads()["script"] + "\n```\n\n    " + payloads()["image"] + "\n\n> " + payloads()["svg"] + "\n")
	return b.String()
}

const hostileOutput = `import json
import sys

import hotcell

said = json.load(open("/skill/payloads.json"))
for i, text in enumerate(said):
    hotcell.progress(100 * i // len(said), text)
    hotcell.log(text, "warn")
    hotcell.log(text, text)
    hotcell.status(text)
    print(text)
    print(text, file=sys.stderr)
    hotcell.event("progress", {"pct": text, "message": {"nested": [text]}, text[:100]: text})
    hotcell.event(text[:40] or "x", {"text": text})
whole = "\n".join(said).replace("\0", "")
for name, text, mime in [
    ("page.html", whole, "text/html"),
    ("picture.svg", '<svg xmlns="http://www.w3.org/2000/svg" onload="window.__xss=\'file\'"><script>window.__xss="file"</script><circle r="9"/></svg>', "image/svg+xml"),
    ("lies.png", "<script>window.__xss='lies'</script>", "image/png"),
    ("notes.md", whole, "text/markdown"),
    ("script.js", "window.__xss='js'", "text/javascript"),
    ("<img data-xss src=x onerror=window.__xss=1>.txt", said[0], "text/plain"),
    ("mime.txt", said[0], "text/html; charset=utf-7\r\nX-Evil: 1"),
    ("wide.txt", "W" * 5000, "text/plain"),
]:
    try:
        hotcell.artifact(text.encode(), name, mime)
    except Exception as error:
        print(error)
hotcell.result({"said": said, said[0]: {"deep": [said]}}, summary="".join(said)[:2000])
`

const hostileError = `import json

import hotcell

said = json.load(open("/skill/payloads.json"))
hotcell.progress(10, said[0])
hotcell.fail("\n".join(said)[:6000], "<img data-xss src=x onerror=window.__xss=1>", False)
`
