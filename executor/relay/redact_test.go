package relay

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/a2e"
)

const key = "sk-ant/ß+<&>\"\\ 0123456789 abcdefghij"

func frame(t testing.TB, kind string, data map[string]any) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"type": "skill/event", "kind": kind, "data": data})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// everything is all that came out, as text and with artifacts decoded.
func everything(t testing.TB, got said) string {
	t.Helper()
	var b strings.Builder
	artifacts := map[string][]byte{}
	for _, ev := range got.events {
		if chunk, ok := ev.Data["chunk"].(string); ok && ev.Kind == a2e.KindArtifact {
			text, err := base64.StdEncoding.DecodeString(chunk)
			if err != nil {
				t.Fatal(err)
			}
			name := ev.Data["name"].(string)
			artifacts[name] = append(artifacts[name], text...)
			continue
		}
		fmt.Fprintln(&b, marshal(t, ev.Data), ev.Data["message"])
	}
	for _, m := range got.milestones {
		if m.Result != nil {
			fmt.Fprintf(&b, "%s %s %s %s\n", m.Result.Data, m.Result.Summary, m.Result.Error, m.Result.ErrorCode)
		}
		if m.Exit != nil {
			fmt.Fprintf(&b, "%+v\n", *m.Exit)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(artifacts)) {
		fmt.Fprintf(&b, "%s: %s\n", name, artifacts[name])
	}
	return b.String()
}

// spellings are the ways in which a value gets into an output by accident.
func spellings(t testing.TB, value string) map[string]string {
	t.Helper()
	quoted := marshal(t, value)
	python := strings.Builder{}
	for _, c := range value {
		if c > 0x7e {
			fmt.Fprintf(&python, `\u%04x`, c)
		} else if c == '"' || c == '\\' {
			python.WriteString("\\" + string(c))
		} else {
			python.WriteRune(c)
		}
	}
	return map[string]string{
		"plain": value, "json": quoted, "json without html": strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(quoted),
		"python's json": python.String(), "query": url.QueryEscape(value), "path": url.PathEscape(value),
		"lower case": strings.NewReplacer("%2F", "%2f", "%2B", "%2b", "%3C", "%3c", "%3E", "%3e", "%C3%9F", "%c3%9f", "%5C", "%5c").Replace(url.QueryEscape(value)),
		"base64":     base64.StdEncoding.EncodeToString([]byte(value)),
		"base64 + 1": base64.StdEncoding.EncodeToString([]byte("x" + value + "y")),
		"base64 + 2": base64.RawURLEncoding.EncodeToString([]byte("xy" + value + "yz")),
		"basic auth": "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+value)),
		"hex":        hex.EncodeToString([]byte(value)), "upper hex": strings.ToUpper(hex.EncodeToString([]byte(value))),
	}
}

// needle is a part of a spelling that is long enough to be worth something.
func needle(spelling string) string { return spelling[len(spelling)/4 : len(spelling)*3/4] }

func TestSecretsAreTakenOutOfEverything(t *testing.T) {
	for name, spelling := range spellings(t, key) {
		t.Run(name, func(t *testing.T) {
			said, kind := "before "+spelling+" after", spelling
			if len(kind) > 64 {
				kind = key
			}
			got := relayed(t, Options{Redact: [][]byte{[]byte(key), []byte("another one")}}, lines(
				frame(t, "progress", map[string]any{"pct": 5, "message": said, "more": map[string]any{said: []any{1, said}}, said: true}),
				frame(t, "log", map[string]any{"level": "error", "message": said}),
				frame(t, "status", map[string]any{"message": map[string]any{"deep": said}}),
				frame(t, kind, map[string]any{"message": said}),
				frame(t, "artifact", map[string]any{"name": "a.txt", "mime": said, "chunk": base64.StdEncoding.EncodeToString([]byte(said)), "final": true}),
				marshal(t, map[string]any{"type": "skill/result", "success": false, "error": said, "error_code": said, "data": []any{said}, "summary": said}),
				marshal(t, map[string]any{"type": "cell/exit", "exit_code": 1, "oom_kills": 0, "stderr_tail": said, "start_error": said}),
				marshal(t, map[string]any{"type": "cell/" + said}),
				said,
			))
			all := everything(t, got)
			if strings.Contains(all, needle(spelling)) || strings.Contains(all, needle(marshal(t, spelling))) {
				t.Errorf("%q is in\n%s", needle(spelling), all)
			}
			if n := strings.Count(all, "[redacted]"); n < 14 {
				t.Errorf("%d replacements in\n%s", n, all)
			}
			if !strings.Contains(all, "before ") || !strings.Contains(all, " after") {
				t.Errorf("more is gone than the secret:\n%s", all)
			}
		})
	}
}

func TestSecretsInPieces(t *testing.T) {
	whole := newRedaction([][]byte{[]byte(key)})
	for name, spelling := range spellings(t, key) {
		want := whole.text("head " + spelling + " tail")
		for at := 1; at < len(spelling); at++ {
			if !utf8.RuneStart(spelling[at]) {
				continue // JSON has no halves of characters
			}
			chunk := func(s string, final bool) string {
				return frame(t, "artifact", map[string]any{"name": "a", "chunk": base64.StdEncoding.EncodeToString([]byte(s)), "final": final})
			}
			log := func(level, s string) string { return frame(t, "log", map[string]any{"level": level, "message": s}) }
			got := relayed(t, Options{Redact: [][]byte{[]byte(key)}}, lines(
				chunk("head "+spelling[:at], false), log("info", "head "+spelling[:at]), log("error", "another stream"),
				chunk(spelling[at:]+" tail", at%2 == 0), log("info", spelling[at:]+" tail"),
			))
			all := everything(t, got)
			if !strings.Contains(all, "a: "+want+"\n") {
				t.Fatalf("%s in two chunks at %d:\n%s", name, at, all)
			}
			var logged string
			for _, ev := range got.events {
				if ev.Data["level"] == "info" {
					logged += fmt.Sprint(ev.Data["message"])
				}
			}
			if rest := strings.ReplaceAll(logged, "[redacted]", ""); len(rest) > len(want)-len("[redacted]")+7 || !strings.HasSuffix(logged, " tail") {
				t.Fatalf("%s in two lines at %d: %s", name, at, logged)
			}
		}
	}
}

func TestBrokenLines(t *testing.T) {
	value := strings.Repeat("0123456789abcdef", 20) + "end"
	text := base64.StdEncoding.EncodeToString([]byte("user:" + value))
	var wrapped []string
	for len(text) > 76 {
		wrapped, text = append(wrapped, text[:76]), text[76:]
	}
	wrapped = append(wrapped, text)
	got := relayed(t, Options{Redact: [][]byte{[]byte(value)}}, lines(append(wrapped,
		marshal(t, map[string]any{"type": "skill/result", "success": true, "data": strings.Join(wrapped, "\r\n")}))...))
	all := everything(t, got)
	for _, line := range wrapped[1 : len(wrapped)-1] {
		if strings.Contains(all, line[10:]) {
			t.Errorf("%s is in\n%s", line, all)
		}
	}
	if data := string(got.milestone(func(m Milestone) bool { return m.Result != nil }).Result.Data); len(data) > 40 {
		t.Error(data)
	}
}

func TestValuesOfSeveralLines(t *testing.T) {
	pem := "-----BEGIN KEY-----\nMIIEvQIBADANBgkqh\nkiG9w0BAQEFAASCBKc\nshort\n-----END KEY-----\n"
	got := relayed(t, Options{Redact: [][]byte{[]byte(pem)}}, lines(append(strings.Split(pem, "\n"), "only kiG9w0BAQEFAASCBKc here",
		frame(t, "status", map[string]any{"message": pem}), frame(t, "status", map[string]any{"message": marshal(t, pem)}))...))
	all := everything(t, got)
	for line := range strings.Lines(pem) {
		if line = strings.TrimSpace(line); len(line) >= 8 && strings.Contains(all, line) {
			t.Errorf("%s is in\n%s", line, all)
		}
	}
	if !strings.Contains(all, "only [redacted] here") {
		t.Error(all)
	}
}

func TestACutEndOfStderr(t *testing.T) {
	const key = "sk-0123456789abcdefghij"
	for from := range len(key) - 8 {
		got := relayed(t, Options{Redact: [][]byte{[]byte(key)}}, lines(
			marshal(t, map[string]any{"type": "cell/exit", "exit_code": 1, "oom_kills": 0, "stderr_tail": key[from:] + " and " + key[:from+8]})))
		if tail := got.milestones[0].Exit.StderrTail; tail != "[redacted] and [redacted]" {
			t.Errorf("from %d: %q", from, tail)
		}
	}
}

func TestACutLine(t *testing.T) {
	got := relayed(t, Options{Redact: [][]byte{[]byte(key)}, Output: 8 << 20}, strings.NewReader(strings.Repeat("x", 112)+key+strings.Repeat("y", 2<<20)+"\n"))
	if all := everything(t, got); strings.Contains(all, key[:8]) || !strings.Contains(all, "too long") {
		t.Errorf("%.300s", all)
	}
}

func TestASecretThatIsANumber(t *testing.T) {
	got := relayed(t, Options{Redact: [][]byte{[]byte("1234567890")}}, lines(
		`{"type":"skill/event","kind":"progress","data":{"pct":1,"id":1234567890,"ids":[-1234567890.5,12345]}}`,
		`{"type":"skill/result","success":true,"data":{"n":1234567890,"m":[12345678901,true,null]}}`))
	want := map[string]any{
		"pct": 1, "message": "", "id": "[redacted]", "ids": json.RawMessage(`["[redacted]",12345]`),
	}
	if diff := cmp.Diff(want, got.events[0].Data); diff != "" {
		t.Error(diff)
	}
	if data := string(got.milestones[0].Result.Data); data != `{"n":"[redacted]","m":["[redacted]",true,null]}` {
		t.Error(data)
	}
}

// What holds no secret stays as it is, also where much of it begins like one.
func TestOtherOutputStays(t *testing.T) {
	out := func(redact ...[]byte) said {
		return relayed(t, Options{Redact: redact}, lines(
			frame(t, "progress", map[string]any{"pct": 5, "message": "sk-ant is no key", "list": []any{"sk-ant", 1.50, "\u2028<&>"}}),
			frame(t, "artifact", map[string]any{"name": "a", "chunk": "c2stYW50L8O", "final": false}),
			frame(t, "artifact", map[string]any{"name": "a", "chunk": "c2stYW50L8Of", "final": false}),
			frame(t, "artifact", map[string]any{"name": "a", "chunk": "c2stYW50", "final": false}),
			frame(t, "artifact", map[string]any{"name": "b", "chunk": "", "final": true}),
			`{"type":"skill/result","success":true,"data":{"a":[1.0e2,"\u0073k-ant"]},"summary":"x"}`,
			"sk-ant", "short",
		))
	}
	plain, redacted := out(), out([]byte(key), []byte("short"))
	if diff := cmp.Diff(everything(t, plain), everything(t, redacted)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(plain.milestones, redacted.milestones); diff != "" {
		t.Error(diff)
	}
}

// The matcher finds what a plain search finds.
func TestScanFindsWhatSearchFinds(t *testing.T) {
	letters := rapid.StringMatching(`[ab]{8,12}`)
	rapid.Check(t, func(t *rapid.T) {
		var values [][]byte
		for _, v := range rapid.SliceOfN(letters, 1, 3).Draw(t, "values") {
			values = append(values, []byte(v))
		}
		m := newMatcher(values)
		text := []byte(rapid.StringMatching(`[abc]{0,60}`).Draw(t, "text"))
		want := bytes.Repeat([]byte("."), len(text))
		for _, p := range m.patterns {
			for i := range len(text) {
				if bytes.HasPrefix(text[i:], p) {
					copy(want[i:], bytes.Repeat([]byte("x"), len(p)))
				}
			}
		}
		got := bytes.Repeat([]byte("."), len(text))
		found, begun := m.scan(text, nil)
		for _, s := range found {
			copy(got[s.from:s.to], bytes.Repeat([]byte("x"), s.to-s.from))
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%q\n%s\n%s", text, got, want)
		}
		for _, o := range begun {
			if !bytes.HasPrefix(m.patterns[o.pattern], text[o.from:]) || o.matched != len(text)-o.from {
				t.Fatalf("%q ends with %d bytes of %q from %d?", text, o.matched, m.patterns[o.pattern], o.from)
			}
		}
	})
}

// However a file is cut into chunks, what comes out is the file without the secrets.
func TestChunksOfAnySize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[ab+/]{8,20}`).Draw(t, "value")
		parts := rapid.SliceOfN(rapid.OneOf(rapid.Just(value), rapid.StringMatching(`[abc\n]{0,10}`)), 0, 8).Draw(t, "parts")
		file := []byte(strings.Join(parts, ""))
		m := newMatcher([][]byte{[]byte(value)})
		r := newRedaction([][]byte{[]byte(value)})
		var got []byte
		for rest := file; ; {
			n := rapid.IntRange(0, len(rest)).Draw(t, "size")
			final := n == len(rest)
			chunk, err := base64.StdEncoding.DecodeString(r.chunk(&event{data: map[string]any{"name": "a", "final": final}},
				base64.StdEncoding.EncodeToString(rest[:n])))
			if err != nil {
				t.Fatal(err)
			}
			got, rest = append(got, chunk...), rest[n:]
			if final {
				break
			}
		}
		if bytes.Contains(got, []byte(value)) {
			t.Fatalf("%q is in %q", value, got)
		}
		if found, _ := m.scan(file, nil); len(found) == 0 && !bytes.Equal(got, file) {
			t.Fatalf("%q became %q", file, got)
		}
	})
}

func FuzzRedactJSON(f *testing.F) {
	f.Add([]byte(`{"a":"` + strings.Repeat("x", 7) + `\u0030123456789\n","b":[1234567890,-0.5e10,null,true],"0123456789":""}`))
	f.Add([]byte(`"\ud800 0123456789 \\"`))
	f.Add([]byte(`[[],{},"","0123456789"]`))
	m := newMatcher([][]byte{[]byte("0123456789"), []byte("1234567890"), []byte("\"quoted\\value\"")})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		out := m.json(bytes.Clone(raw))
		if !json.Valid(out) {
			t.Fatalf("%q became %q", raw, out)
		}
		var v any
		if err := json.Unmarshal(out, &v); err == nil && bytes.Contains([]byte(fmt.Sprint(v)), []byte("0123456789")) && !bytes.ContainsAny(raw, "eE.-+") {
			t.Fatalf("%q became %q", raw, out)
		}
	})
}

func TestNoSecretsCostNothing(t *testing.T) {
	if r := newRedaction([][]byte{[]byte("short"), nil}); r != nil {
		t.Error("there is something to take out")
	}
	var r *redaction
	e := logEvent("info", "hello")
	if n := testing.AllocsPerRun(100, func() { r.event(&e) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// A long value that repeats itself is found as one.
func TestALongMonotonousValue(t *testing.T) {
	m := newMatcher([][]byte{bytes.Repeat([]byte("a"), 8<<10)})
	if found, _ := m.scan(bytes.Repeat([]byte("a"), 128<<10), nil); len(found) != 1 || found[0] != (span{0, 128 << 10}) {
		t.Errorf("found %v", found)
	}
}

// A long secret does not make a flood of bad lines dear.
func TestAFloodOfNotesWithALongSecret(t *testing.T) {
	b := make([]byte, 48<<10)
	for i := range b {
		b[i] = byte('a' + (i*i+i/7)%26)
	}
	began := time.Now()
	got := relayed(t, Options{Redact: [][]byte{b}}, strings.NewReader(strings.Repeat(`{"type":"cell/x"}`+"\n", 10_000)))
	if took := time.Since(began); took > 30*time.Second || len(got.events) != 10_000 {
		t.Errorf("%v, %d events", took, len(got.events))
	}
}

func BenchmarkRedact(b *testing.B) {
	var values [][]byte
	for i := range 4 {
		values = append(values, []byte(fmt.Sprintf("sk-ant-api03-%090d", i)))
	}
	m := newMatcher(values)
	text := bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog, 0123456789 "), 1<<14)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.whole(text)
	}
}

// What waits of a chunk is its end alone, and not the whole of it.
func TestTheEndOfAChunkIsAllThatWaits(t *testing.T) {
	r := newRedaction([][]byte{[]byte("sesame-open")})
	chunk := base64.StdEncoding.EncodeToString(append(make([]byte, 700<<10), "sesame"...))
	r.chunk(&event{data: map[string]any{"name": "a"}}, chunk)
	if n := cap(r.tails["a"].bytes); n < len("sesame") || n > 64 {
		t.Errorf("%d bytes wait", n)
	}
}
