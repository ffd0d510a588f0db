package console

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// What is the audit's is not on the page of who owns the call.
func TestAccountIsForAdmins(t *testing.T) {
	d := &desk{}
	c := d.add("c1", "sum", time.Second, nil, 1, nil)
	c.Account = &control.Account{Ref: "registry.internal/sum:3", Version: "9.8.7", Uses: &control.Uses{
		Hosts: map[string]int{"db.internal:5432": 1}, Providers: map[string]int{"secret-llm": 1}, Tools: map[string]int{"mcp:private": 1}, TokensIn: 4711, Refused: 3,
	}}
	o := shown(d)
	o.Auth = doorman{"alice": {Principal: "alice", Scopes: []auth.Scope{auth.Calls}}, "root": {Principal: "root", Scopes: []auth.Scope{auth.Admin}}}
	secret := []string{"registry.internal", "9.8.7", "db.internal", "secret-llm", "mcp:private", "4\u202f711", "refused it"}
	for who, want := range map[string]bool{"alice": false, "root": true} {
		h := open(t, o).h
		for _, path := range []string{"/console/calls/c1", "/console/calls/c1/live"} {
			r := httptest.NewRequest("GET", path, nil)
			r.Header.Set("Authorization", "Bearer "+who)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			for _, s := range secret {
				if got := strings.Contains(w.Body.String(), s); w.Code != 200 || got != want {
					t.Errorf("%s %s: %d, %q is there: %v, want %v", who, path, w.Code, s, got, want)
				}
			}
		}
	}
	if c.Account == nil {
		t.Error("the page changed the call itself")
	}
}

// heavy is a desk whose call said much: each event is made when it is read, and the most that is held meanwhile is noted.
type heavy struct {
	*desk
	pieces, size, reads int
	most                uint64
}

func (h *heavy) Of(string) control.Control { return h }
func (h *heavy) Events(_ context.Context, _ string, from int) ([]a2e.Event, error) {
	h.reads++
	if from >= h.pieces {
		return nil, nil
	}
	if from%10 == 9 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		h.most = max(h.most, m.HeapAlloc)
	}
	b := make([]byte, h.size)
	if from == 0 {
		copy(b, "\x89PNG\r\n\x1a\n")
	}
	data := map[string]any{"name": "a.png", "mime": "image/png", "chunk": base64.StdEncoding.EncodeToString(b), "final": from == h.pieces-1}
	return []a2e.Event{{Seq: from, Kind: a2e.KindArtifact, Data: data}}, nil
}

func newHeavy(pieces, size int) (*heavy, Options) {
	h := &heavy{desk: &desk{}, pieces: pieces, size: size}
	h.add("c1", "sum", time.Second, nil, 1, nil).Events = pieces
	o := shown(h.desk)
	o.Control = h
	return h, o
}

// pieced counts what it is given, and keeps none of it.
type pieced struct {
	httptest.ResponseRecorder
	pieces, bytes int
}

func (p *pieced) Write(b []byte) (int, error) {
	p.pieces, p.bytes = p.pieces+1, p.bytes+len(b)
	return len(b), nil
}

// Of a call that said much a page holds a piece at a time.
func TestMuchIsNotHeld(t *testing.T) {
	const size = 1 << 20
	h, o := newHeavy(60, size)
	c := open(t, o).h
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	for _, path := range []string{"", "?from=1", "/files", "/download?name=a.png"} {
		w := &pieced{}
		c.ServeHTTP(w, httptest.NewRequest("GET", "/console/calls/c1"+path, nil))
		if w.Code != 0 && w.Code != 200 {
			t.Errorf("%q: %d", path, w.Code)
		}
	}
	if held := int64(h.most) - int64(m.HeapAlloc); held > 20*size {
		t.Errorf("%d bytes were held", held)
	}
	_, o = newHeavy(12, size)
	w := &pieced{}
	open(t, o).h.ServeHTTP(w, httptest.NewRequest("GET", "/console/calls/c1/picture?name=a.png", nil))
	if w.Header().Get("Content-Type") != "image/png" || w.bytes != 12*size || w.pieces != 12 {
		t.Errorf("%v, %d bytes in %d pieces", w.Header(), w.bytes, w.pieces)
	}
	_, o = newHeavy(17, size)
	if w := open(t, o).get("/console/calls/c1/picture?name=a.png"); w.Code != 404 {
		t.Errorf("a picture that is too large: %d", w.Code)
	}
}

// A call that says nothing is not read anew while somebody watches.
func TestWatchingReadsWhatIsNew(t *testing.T) {
	h, o := newHeavy(3, 10)
	h.calls[0].State, h.calls[0].Ended = control.Running, time.Time{}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	v := &visit{Console: c, w: httptest.NewRecorder(), r: httptest.NewRequest("GET", "/", nil), who: auth.Nobody()}
	first, err := v.callView(t.Context(), "c1", anyPage, nil)
	if err != nil || len(first.Events.Rows) != 3 || len(first.Files.All) != 1 {
		t.Fatal(first, err)
	}
	h.reads = 0
	again, err := v.callView(t.Context(), "c1", anyPage, first)
	if err != nil || h.reads != 0 || again.Events != first.Events || again.Files != first.Files {
		t.Errorf("%d reads, %v", h.reads, err)
	}
	h.pieces, h.calls[0].Events = 4, 4
	if again, err = v.callView(t.Context(), "c1", anyPage, again); err != nil || len(again.Events.Rows) != 4 {
		t.Errorf("%+v %v", again.Events, err)
	}
}

// Only so many read what calls said at once, and no principal keeps the others from it.
func TestReadersWait(t *testing.T) {
	_, o := newHeavy(1, 10)
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := func(principal string) *visit {
		return &visit{Console: c, w: httptest.NewRecorder(), r: httptest.NewRequest("GET", "/", nil).WithContext(ctx), who: auth.Identity{Principal: principal}}
	}
	for range maxReads / 2 {
		if _, err := v("alice").reading(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := v("alice").reading(); !errors.As(err, new(*trouble)) {
		t.Error("one principal reads more than its half", err)
	}
	if _, err := v("bob").reading(); err != nil {
		t.Error(err)
	}
}

// A form that can't be read to its end does nothing, whatever stands at its beginning.
func TestHalfFormsDoNothing(t *testing.T) {
	d := &desk{}
	d.add("c1", "sum", time.Second, nil, 1, nil).State = control.Running
	b := open(t, shown(d))
	b.get("/console/")
	const form, parts = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
	for name, one := range map[string]struct {
		kind, body string
		limit      int64
		status     int
	}{
		"an escape":    {form, "a=%zz", 1000, 400},
		"a semicolon":  {form, "a=1;b=2", 1000, 400},
		"many":         {form, strings.Repeat("a&", 200_000), MaxBody, 400},
		"too large":    {form, "a=" + strings.Repeat("x", 1000), 100, 413},
		"no boundary":  {"multipart/form-data", "a", 1000, 400},
		"cut off":      {parts, "--x\r\nContent-Disposition: form-data; name=a\r\n\r\nhalf", 1000, 400},
		"bomb":         {parts, strings.Repeat("--x\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n", 20_000) + "--x--", MaxBody, 400},
		"a large part": {parts, "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n" + strings.Repeat("y", 500) + "\r\n--x--", 100, 413},
		"whole":        {form, "a=1", 1000, 303},
		"whole parts":  {parts, "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--x--", 1000, 303},
		"none":         {"", "", 1000, 303},
	} {
		d.canceled = nil
		r := httptest.NewRequest("POST", "/console/calls/c1/cancel", io.NopCloser(strings.NewReader(one.body)))
		r.Body = http.MaxBytesReader(httptest.NewRecorder(), r.Body, one.limit)
		r.Header.Set("X-CSRF-Token", b.mark)
		if one.kind != "" {
			r.Header.Set("Content-Type", one.kind)
		}
		if w := b.do(r); w.Code != one.status || (len(d.canceled) > 0) != (one.status == 303) {
			t.Errorf("%s: %d, cancelled %v", name, w.Code, d.canceled)
		}
	}
}

// A header that anybody can write stands for no mark, and neither does a token that a proxy adds for a browser.
func TestTokensOfBrowsersNeedTheMark(t *testing.T) {
	people := doorman{"tok": {Principal: "alice", Scopes: []auth.Scope{auth.Calls}}}
	for name, one := range map[string]struct {
		who     auth.Authenticator
		token   string
		headers []string
		status  int
	}{
		"a program":           {people, "tok", nil, 303},
		"a browser, cookie":   {people, "tok", []string{"Cookie", cookieName + "=" + strings.Repeat("x", 43)}, 403},
		"a browser, origin":   {people, "tok", []string{"Origin", "http://example.com"}, 403},
		"a browser, metadata": {people, "tok", []string{"Sec-Fetch-Site", "same-origin"}, 403},
		"nobody signs in":     {auth.Open{}, "anything", nil, 403},
		"unknown":             {people, "nonsense", nil, 303}, // to the sign-in page
	} {
		d := &desk{}
		d.add("c1", "sum", time.Second, nil, 1, nil).State = control.Running
		o := shown(d)
		o.Auth = one.who
		r := httptest.NewRequest("POST", "/console/calls/c1/cancel", nil)
		r.Header.Set("Authorization", "Bearer "+one.token)
		for i := 0; i < len(one.headers); i += 2 {
			r.Header.Set(one.headers[i], one.headers[i+1])
		}
		w := open(t, o).do(r)
		if w.Code != one.status || (len(d.canceled) > 0) != (name == "a program") {
			t.Errorf("%s: %d, cancelled %v", name, w.Code, d.canceled)
		}
	}
}

// A token that is refused beside a session ends nobody's session. What is tried is in the log, and no token is.
func TestRefusedTokens(t *testing.T) {
	var log bytes.Buffer
	o := empty()
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	o.Auth = doorman{"tok": {Principal: "alice", Scopes: []auth.Scope{auth.Calls}}}
	b := open(t, o)
	b.get("/console/login")
	if b.post("/console/login", "token", "guessed-token"); !strings.Contains(log.String(), "a sign-in was refused") || !strings.Contains(log.String(), "192.0.2.1") {
		t.Errorf("log: %s", &log)
	}
	b.post("/console/login", "token", "tok")
	r := httptest.NewRequest("GET", "/console/", nil)
	r.Header.Set("Authorization", "Bearer nonsense-token")
	if w := b.do(r); w.Code != 303 {
		t.Errorf("%d", w.Code)
	}
	if w := b.get("/console/"); w.Code != 200 {
		t.Errorf("the session is gone: %d", w.Code)
	}
	if strings.Contains(log.String(), "-token") || strings.Contains(log.String(), "tok ") {
		t.Errorf("log: %s", &log)
	}
}

func TestPagesAreAlone(t *testing.T) {
	b := open(t, empty())
	if got := b.get("/console/").Header().Get("Cross-Origin-Opener-Policy"); got != "same-origin" {
		t.Errorf("%q", got)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := httptest.NewRequest("HEAD", "/console/live/overview", nil)
		b.h.ServeHTTP(httptest.NewRecorder(), r)
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("HEAD of a live page does not end")
	}
}

// A small text can ask for a table of millions of cells.
func TestTablesAreBounded(t *testing.T) {
	table := func(columns, rows int) string {
		return "|" + strings.Repeat("a|", columns) + "\n|" + strings.Repeat("-|", columns) + "\n" + strings.Repeat("|\n", rows)
	}
	for body, want := range map[string]bool{table(2000, 40_000): false, table(150, 150): false, table(10, 1000): true, strings.Repeat(table(10, 20)+"\n", 50): true} {
		began := time.Now()
		html, plain := drawn(body)
		if (html != "") != want || (plain == "") != want || time.Since(began) > 30*time.Second {
			t.Errorf("%d bytes: %d drawn, %d plain, %v", len(body), len(html), len(plain), time.Since(began))
		}
	}
}
