package rest

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

func part(seq int, name, mime, chunk string, final bool) a2e.Event {
	return a2e.Event{Kind: a2e.KindArtifact, Seq: seq, Data: map[string]any{
		"name": name, "mime": mime, "chunk": base64.StdEncoding.EncodeToString([]byte(chunk)), "final": final,
	}}
}

// What is not whole is not given, and the reason is the true one.
func TestArtifactsThatAreNotWhole(t *testing.T) {
	running, ended := control.Call{State: control.Running}, control.Call{State: control.Succeeded}
	broken := part(1, "a", "", "x", true)
	broken.Data["chunk"] = "*"
	for name, tt := range map[string]struct {
		call   control.Call
		events []a2e.Event
		want   string
	}{
		"whole":               {ended, []a2e.Event{part(0, "a", "text/plain", "x", false), {Kind: "log", Seq: 1}, part(2, "a", "", "y", true)}, "200 xy"},
		"whole, and more":     {ended, []a2e.Event{part(0, "a", "", "x", true), part(1, "a", "", "z", true)}, "200 x"},
		"whole while it runs": {running, []a2e.Event{part(0, "a", "", "x", true)}, "200 x"},
		"empty":               {ended, []a2e.Event{part(0, "a", "", "", true)}, "200 "},
		"a gap behind it":     {ended, []a2e.Event{part(0, "a", "", "x", true), part(5, "b", "", "y", true)}, "200 x"},
		"in the making":       {running, []a2e.Event{part(0, "a", "", "xy", false)}, "409 the call still writes this artifact: there are 2 bytes so far"},
		"never finished":      {ended, []a2e.Event{part(0, "a", "", "xy", false)}, "410 pieces of this artifact are missing: there are 2 bytes"},
		"the middle is gone":  {ended, []a2e.Event{part(0, "a", "", "x", false), part(2, "a", "", "z", true)}, "410 pieces of this artifact are missing: there are 2 bytes"},
		"the start is gone":   {ended, []a2e.Event{part(1, "a", "", "z", true)}, "410 pieces of this artifact are missing"},
		"no base64":           {ended, []a2e.Event{part(0, "a", "", "x", false), broken}, "410 the skill sent a piece of this artifact that is no base64"},
		"another":             {ended, []a2e.Event{part(0, "b", "", "x", true)}, "404 no such artifact"},
		"no call":             {control.Call{}, nil, "404 no such artifact"},
	} {
		f := &fake{calls: []control.Call{tt.call}, events: tt.events, paged: true}
		f.paged = len(tt.events) == 0 || tt.events[len(tt.events)-1].Seq == len(tt.events)-1
		h := New(Options{Control: &gapped{f}})
		w := ask(h, "GET", "/v1/calls/x/artifacts/a")
		got := fmt.Sprint(w.Code, " ", w.Body)
		if w.Code != 200 {
			_, after, _ := strings.Cut(w.Body.String(), `"message":"`)
			got = fmt.Sprint(w.Code, " ", after)
		}
		if !strings.HasPrefix(got, tt.want) || w.Code == 200 && got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
		if list := ask(h, "GET", "/v1/calls/x/artifacts"); w.Code != 404 && strings.Contains(list.Body.String(), `"name":"a","mime":"","bytes":`) && strings.Contains(list.Body.String(), `"complete":true`) != (w.Code == 200) {
			t.Errorf("%s: %d, but %s", name, w.Code, list.Body)
		}
	}
}

// gapped gives the events by their seq, of which some are missing.
type gapped struct{ *fake }

func (g *gapped) Of(string) control.Control { return g }

func (g *gapped) Events(_ context.Context, _ string, from int) (all []a2e.Event, _ error) {
	for _, ev := range g.events {
		if ev.Seq >= from {
			all = append(all, ev)
		}
	}
	return all[:min(len(all), 2)], nil
}

// No artifact becomes a page, a script or a header, whatever a skill says of it.
func TestHostileArtifacts(t *testing.T) {
	for said, want := range map[string]string{
		"text/html": kindBytes, "image/svg+xml": kindBytes, "text/javascript": kindBytes, "application/xhtml+xml": kindBytes, "": kindBytes, "\x00": kindBytes,
		"text/plain; charset=utf-16": "text/plain; charset=utf-8", "IMAGE/PNG": "image/png", "multipart/x-mixed-replace; boundary=x": kindBytes,
		"text/plain\r\nSet-Cookie: a=b": kindBytes,
	} {
		if got := safeType(said); got != want {
			t.Errorf("%q: %q", said, got)
		}
	}
	for name, want := range map[string]string{
		"a/b.txt": "attachment; filename=b.txt", "../../etc/passwd": "attachment; filename=passwd", "..": "attachment; filename=artifact",
		`c:\x.exe`: "attachment; filename=x.exe", "é.txt": "attachment; filename*=utf-8''%C3%A9.txt", "": "attachment; filename=artifact",
		"a\r\nSet-Cookie: x": `attachment; filename="a__Set-Cookie: x"`, `"`: `attachment; filename="\""`, "a/": "attachment; filename=a",
	} {
		if got := disposition(name); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
	f := &fake{calls: []control.Call{{State: control.Succeeded}}, events: []a2e.Event{part(0, "../<x>", "text/html", "<script>", true)}, paged: true}
	w := ask(New(Options{Control: f}), "GET", "/v1/calls/x/artifacts/..%2F%3Cx%3E")
	if w.Code != 200 || w.Header().Get("Content-Type") != kindBytes || w.Header().Get("X-Content-Type-Options") != "nosniff" ||
		!strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment") || w.Header().Get("Content-Length") != "8" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := ask(New(Options{Control: f}), "GET", "/v1/calls/x/artifacts/../<x>"); w.Code != 404 {
		t.Errorf("a path that is not clean: %d", w.Code)
	}
}

// deaf is a client that has gone.
type deaf struct{ *httptest.ResponseRecorder }

func (deaf) Write([]byte) (int, error) { return 0, net.ErrClosed }

// A client that goes away in the middle of a download is not worth a line in the log: whoever calls could fill it.
func TestADownloadThatNobodyTakes(t *testing.T) {
	var said bytes.Buffer
	f := &fake{calls: []control.Call{{State: control.Succeeded}}, events: []a2e.Event{part(0, "a", "text/plain", "text", true)}, paged: true}
	h := New(Options{Control: f, Log: slog.New(slog.NewTextHandler(&said, nil))})
	r := httptest.NewRequest("GET", "/v1/calls/x/artifacts/a", nil)
	r.Host = "localhost"
	defer func() {
		if v := recover(); v != http.ErrAbortHandler || said.Len() > 0 {
			t.Errorf("it ended with %v, and the log says %q", v, said.String())
		}
	}()
	h.ServeHTTP(deaf{httptest.NewRecorder()}, r)
}
