package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

func aCall() control.Call {
	return control.Call{
		ID: "01J", ReqID: "r<1>", Skill: "code-review", Door: "socket", State: control.Running,
		Accepted: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

const aCallJSON = `{"id":"01J","req_id":"r<1>","skill":"code-review","door":"socket","state":"Running","accepted":"2026-01-02T03:04:05Z","events":0}`

func ask(h http.Handler, method, target string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:8765"
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestRoutes(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "up 1") })
	ended := &a2e.CallResponse{ReqID: "r1", Data: &a2e.Result{Success: true, Data: "<b>"}}
	for name, tt := range map[string]struct {
		fake           fake
		method, target string
		status         int
		body           string
	}{
		"health":  {fake{}, "GET", "/healthz", 200, `{"status":"ok"}`},
		"ready":   {fake{}, "GET", "/readyz", 200, `{"status":"ready"}`},
		"metrics": {fake{}, "GET", "/metrics", 200, "up 1"},
		"list":    {fake{calls: []control.Call{aCall()}}, "GET", "/v1/calls", 200, `{"calls":[` + aCallJSON + `]}`},
		"no calls": {
			fake{}, "GET", "/v1/calls?limit=5", 200, `{"calls":[]}`,
		},
		"list fails": {fake{err: errors.New("disk /secret is full")}, "GET", "/v1/calls", 500, `{"error":{"code":"internal","message":"internal error"}}`},
		"panic":      {fake{panics: true}, "GET", "/v1/calls", 500, `{"error":{"code":"internal","message":"internal error"}}`},
		"show":       {fake{calls: []control.Call{aCall()}}, "GET", "/v1/calls/01J", 200, `{"call":` + aCallJSON + `,"answer":null}`},
		"show ended": {
			fake{calls: []control.Call{aCall()}, answer: ended}, "GET", "/v1/calls/01J", 200,
			`"data":{"success":true,"data":"<b>","summary":null,"duration_ms":0}`,
		},
		"show unknown": {fake{err: control.ErrNotFound}, "GET", "/v1/calls/x", 404, `{"error":{"code":"not_found","message":"no such call"}}`},
		"events":       {fake{events: []a2e.Event{{Kind: "log", Seq: 3}}}, "GET", "/v1/calls/x/events?from=3", 200, `"kind":"log"`},
		"no events":    {fake{}, "GET", "/v1/calls/x/events", 200, `{"events":[]}`},
		"cancel":       {fake{calls: []control.Call{aCall()}}, "DELETE", "/v1/calls/01J", 202, `{"call":` + aCallJSON + `}`},
		"cancel unknown": {
			fake{cancelErr: control.ErrNotFound}, "DELETE", "/v1/calls/x", 404, `{"error":{"code":"not_found","message":"no such call"}}`,
		},
		"cancel ended": {fake{cancelErr: control.ErrEnded}, "DELETE", "/v1/calls/x", 409, `{"error":{"code":"ended","message":"call has ended"}}`},
		"unencodable": {
			fake{calls: []control.Call{aCall()}, answer: &a2e.CallResponse{Data: &a2e.Result{Data: make(chan int)}}},
			"GET", "/v1/calls/x", 500, `"the answer cannot be written as JSON"`,
		},
		"no path":      {fake{}, "GET", "/v2", 404, `{"error":{"code":"not_found","message":"no such path"}}`},
		"root":         {fake{}, "GET", "/", 404, `"message":"no such path: /docs describes what there is"`},
		"options":      {fake{}, "OPTIONS", "/v1/calls", 405, `{"error":{"code":"method_not_allowed","message":"expected GET, HEAD"}}`},
		"method":       {fake{}, "DELETE", "/v1/calls", 405, "expected GET, HEAD"},
		"method by id": {fake{}, "PATCH", "/v1/calls/x", 415, "expected content type application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(New(Options{Control: &tt.fake, Metrics: metrics}), tt.method, tt.target)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.body) {
				t.Errorf("got %d %s\nwant %d %s", w.Code, w.Body, tt.status, tt.body)
			}
			if w.Code == 405 && w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("Allow: %q", w.Header().Get("Allow"))
			}
			if name != "metrics" && w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("content type %q", w.Header().Get("Content-Type"))
			}
		})
	}
}

func TestHeadersAndLog(t *testing.T) {
	var log bytes.Buffer
	h := New(Options{
		Control: &fake{err: errors.New("disk is full")}, Version: "1.2", Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	w := ask(h, "GET", "/v1/calls")
	for k, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Server": "hotcell/1.2",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
	} {
		if got := w.Header().Get(k); got != want {
			t.Errorf("%s: %q", k, got)
		}
	}
	if !strings.Contains(log.String(), "disk is full") {
		t.Errorf("the cause is not in the log: %s", log.String())
	}
}

func TestNoMetrics(t *testing.T) {
	if w := ask(New(Options{Control: &fake{}}), "GET", "/metrics"); w.Code != 404 {
		t.Errorf("status %d", w.Code)
	}
}

func TestReadiness(t *testing.T) {
	var deadline bool
	h := New(Options{Control: &fake{}, Ready: func(ctx context.Context) error {
		_, deadline = ctx.Deadline()
		return errors.New("no engine\x1b[2J" + strings.Repeat("x", 400) + "\nsecond line")
	}})
	w := ask(h, "GET", "/readyz")
	body := w.Body.String()
	if w.Code != 503 || !strings.HasPrefix(body, `{"status":"not ready","reason":"no engine[2Jxxx`) || strings.Contains(body, "second") || len(body) > 400 {
		t.Errorf("%d %s", w.Code, body)
	}
	if !deadline {
		t.Error("the check has no deadline")
	}
	h = New(Options{Control: &fake{}, Ready: func(context.Context) error { return nil }})
	if w := ask(h, "GET", "/readyz"); w.Code != 200 {
		t.Errorf("status %d", w.Code)
	}
}

// Whoever floods the check has the engine asked no more often than one who waits for each answer.
func TestReadinessIsSharedByThoseWhoAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		h := New(Options{Control: &fake{}, Ready: func(ctx context.Context) error {
			asked.Add(1)
			<-ctx.Done()
			return errors.New("the engine hangs")
		}})
		var flood sync.WaitGroup
		for range 500 {
			flood.Go(func() {
				if w := ask(h, "GET", "/readyz"); w.Code != 503 || !strings.Contains(w.Body.String(), "the engine hangs") {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			})
		}
		flood.Wait()
		if n := asked.Load(); n != 1 {
			t.Errorf("the engine was asked %d times", n)
		}
	})
}

func TestHostileNumbers(t *testing.T) {
	for query, want := range map[string]int{
		"": defaultList, "?limit=0": 0, "?limit=10000": 10000, "?other=1": defaultList,
		"?limit=": -1, "?limit=-1": -1, "?limit=10001": -1, "?limit=1e3": -1, "?limit=0x1": -1, "?limit=%00": -1,
		"?limit=1&limit=2": -1, "?limit=99999999999999999999": -1, "?limit=1%20": -1,
	} {
		f := &fake{}
		w := ask(New(Options{Control: f}), "GET", "/v1/calls"+query)
		switch {
		case want >= 0 && (w.Code != 200 || f.limit != want):
			t.Errorf("%q: status %d, limit %d", query, w.Code, f.limit)
		case want < 0 && (w.Code != 400 || len(f.asked) > 0 || !strings.Contains(w.Body.String(), "limit: expected one number from 0 to 10000")):
			t.Errorf("%q: status %d %s", query, w.Code, w.Body)
		}
	}
	f := &fake{}
	if w := ask(New(Options{Control: f}), "GET", "/v1/calls/x/events?from=-1"); w.Code != 400 || len(f.asked) > 0 {
		t.Errorf("from=-1: status %d", w.Code)
	}
}

func TestHostileIDs(t *testing.T) {
	for path, want := range map[string]string{
		"01JABC": "01JABC", "a%2Fb": "a/b", "a%20b": "a b", "%C3%A9": "é", "a%2F..%2Fb": "a/../b", "a;b": "a;b",
		strings.Repeat("a", 256): strings.Repeat("a", 256),
		"%00":                    "", "a%0Ab": "", "a%1Bb": "", "%FF": "", strings.Repeat("a", 257): "",
	} {
		for _, route := range []struct{ method, suffix string }{{"GET", ""}, {"GET", "/events"}, {"DELETE", ""}} {
			f := &fake{calls: []control.Call{aCall()}}
			w := ask(New(Options{Control: f}), route.method, "/v1/calls/"+path+route.suffix)
			switch {
			case want != "" && (w.Code/100 != 2 || f.id != want):
				t.Errorf("%s %q: status %d, asked for %q", route.method, path, w.Code, f.id)
			case want == "" && (w.Code != 400 || len(f.asked) > 0):
				t.Errorf("%s %q: status %d, asked %v", route.method, path, w.Code, f.asked)
			}
		}
	}
}
