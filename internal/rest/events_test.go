package rest

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// running is a call that says something each second, and ends with the fifth event.
type running struct {
	fake
	mu    sync.Mutex
	begun time.Time
	gone  bool // the journal forgets the call
}

func (f *running) Of(string) control.Control { return f }

func (f *running) said() int { return min(5, int(time.Since(f.begun)/time.Second)) }

func (f *running) Show(context.Context, string) (control.Call, *a2e.CallResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return control.Call{}, nil, control.ErrNotFound
	}
	call := control.Call{State: control.Running, Events: f.said()}
	if call.Events == 5 {
		call.State = control.Succeeded
		return call, &a2e.CallResponse{Header: a2e.Header{ID: "x", TS: 1}, ReqID: "r", Data: &a2e.Result{Success: true}, CreatedAt: 1}, nil
	}
	return call, nil, nil
}

func (f *running) Events(_ context.Context, _ string, from int) (all []a2e.Event, _ error) {
	for seq := from; seq < min(f.said(), from+2); seq++ { // two at a time: there may be more
		all = append(all, a2e.Event{Header: a2e.Header{ID: "e", TS: 1}, Kind: "log", Seq: seq})
	}
	return all, nil
}

func heard(t *testing.T, h http.Handler, request string) (status int, text string, err error) {
	t.Helper()
	answer, _ := served(t, h, strings.Replace(request, "\r\n", "\r\nHost: localhost\r\nConnection: close\r\n", 1)+"\r\n")
	resp, err := http.ReadResponse(answer, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func TestEventsAreFollowed(t *testing.T) {
	for name, tt := range map[string]struct {
		request string
		want    []string // parts, in order
	}{
		"all":              {"GET /v1/calls/x/events HTTP/1.1\r\nAccept: text/event-stream\r\n", []string{"id: 0\n", "id: 4\n", "event: skill/call/resp\n", `"success":true`}},
		"after":            {"GET /v1/calls/x/events?after=2 HTTP/1.1\r\nAccept: text/event-stream\r\n", []string{"id: 3\n", "id: 4\n"}},
		"from":             {"GET /v1/calls/x/events?from=4 HTTP/1.1\r\nAccept: text/event-stream\r\n", []string{"id: 4\n"}},
		"taken up again":   {"GET /v1/calls/x/events HTTP/1.1\r\nAccept: text/event-stream\r\nLast-Event-ID: 3\r\n", []string{"id: 4\n"}},
		"lines":            {"GET /v1/calls/x/events HTTP/1.1\r\nAccept: application/x-ndjson\r\n", []string{`"seq":0}` + "\n", `"seq":4}` + "\n", `"type":"skill/call/resp"`}},
		"wait":             {"GET /v1/calls/x/events?wait=30&after=0 HTTP/1.1\r\n", []string{`{"events":[{`, `"seq":1}]}`}},
		"wait in vain":     {"GET /v1/calls/x/events?wait=1&after=7 HTTP/1.1\r\n", []string{`{"events":[]}`}},
		"head":             {"HEAD /v1/calls/x/events?wait=9 HTTP/1.1\r\nAccept: text/event-stream\r\n", nil},
		"wait for the end": {"GET /v1/calls/x/events?wait=60&after=4 HTTP/1.1\r\n", []string{`{"events":[]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				status, text, err := heard(t, New(Options{Control: &running{begun: time.Now()}}), tt.request)
				left := text
				for _, part := range tt.want {
					_, after, found := strings.Cut(left, part)
					if !found {
						t.Errorf("%q is missing, %d %v\n%s", part, status, err, text)
					}
					left = after
				}
				if name == "after" && strings.Contains(text, "id: 2\n") || strings.Count(text, "skill/call/resp") > 2 {
					t.Errorf("too much:\n%s", text)
				}
			})
		})
	}
}

func TestBadFollowers(t *testing.T) {
	for target, want := range map[string]string{
		"/v1/calls/x/events?after=1&from=1":  "after, from: expected one of them",
		"/v1/calls/x/events?after=-1":        "after: expected one number",
		"/v1/calls/x/events?after=x":         "after: expected one number",
		"/v1/calls/x/events?wait=61":         "wait: expected one number from 0 to 60",
		"/v1/calls/%00/events":               "id: expected text without control characters",
		"/v1/calls/x/events?after=1&after=2": "after: expected one number",
	} {
		if w := ask(New(Options{Control: &fake{}}), "GET", target); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	w := ask(New(Options{Control: &fake{}}), "GET", "/v1/calls/x/events", func(r *http.Request) { r.Header.Set("Last-Event-ID", "-1") })
	if w.Code != 400 {
		t.Errorf("Last-Event-ID: %d", w.Code)
	}
	w = ask(New(Options{Control: &fake{err: control.ErrNotFound}}), "GET", "/v1/calls/x/events", func(r *http.Request) { r.Header.Set("Accept", kindSSE) })
	if w.Code != 404 || w.Header().Get("Content-Type") != kindJSON {
		t.Errorf("an unknown call: %d %s", w.Code, w.Body)
	}
}

// A stream that can't go on is cut off: it must not look like one that ended well.
func TestAStreamThatBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &running{begun: time.Now()}
		time.AfterFunc(2500*time.Millisecond, func() { f.mu.Lock(); f.gone = true; f.mu.Unlock() })
		_, text, err := heard(t, New(Options{Control: f}), "GET /v1/calls/x/events HTTP/1.1\r\nAccept: text/event-stream\r\n")
		if err == nil || !strings.Contains(text, "id: 1\n") || strings.Contains(text, "skill/call/resp") {
			t.Errorf("%v\n%s", err, text)
		}
	})
}

func TestFollowersAreBounded(t *testing.T) {
	a := newAPI(Options{Control: &fake{}})
	for range maxFollowers / 2 {
		if _, ok := a.followers.Take("greedy", 1); !ok {
			t.Fatal("no place")
		}
	}
	if _, ok := a.followers.Take("other", maxFollowers/2); !ok {
		t.Fatal("there is no room beside one principal's followers")
	}
	for _, principal := range []string{"greedy", "third"} {
		ctx := auth.NewContext(t.Context(), auth.Identity{Principal: principal})
		r, _ := http.NewRequestWithContext(ctx, "GET", "/v1/calls/x/events?wait=1", nil)
		r.SetPathValue("id", "x")
		err := a.events(nil, r)
		if p, ok := err.(*problem); !ok || p.status != 503 || p.retryAfter == 0 {
			t.Errorf("%s: %v", principal, err)
		}
	}
}

// A stream that breaks before it began is an error like any other.
func TestAStreamThatNeverBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &running{begun: time.Now().Add(time.Hour)}
		time.AfterFunc(500*time.Millisecond, func() { f.mu.Lock(); f.gone = true; f.mu.Unlock() })
		status, text, err := heard(t, New(Options{Control: f}), "GET /v1/calls/x/events HTTP/1.1\r\nAccept: text/event-stream\r\n")
		if err != nil || status != 404 || text != `{"error":{"code":"not_found","message":"no such call"}}`+"\n" {
			t.Errorf("%d %v\n%s", status, err, text)
		}
	})
}

// Who follows a call does not keep the door from closing.
func TestFollowersLetTheDoorClose(t *testing.T) {
	for _, accept := range []string{kindSSE, kindJSON} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(context.Background())
			ln, ended := &pipes{make(chan net.Conn), make(chan struct{})}, make(chan error, 1)
			go func() {
				ended <- Serve(ctx, ln, New(Options{Control: &running{begun: time.Now().Add(time.Hour)}}), slog.New(slog.DiscardHandler))
			}()
			ours, theirs := net.Pipe()
			ln.conns <- theirs
			if _, err := io.WriteString(ours, "GET /v1/calls/x/events?wait=60 HTTP/1.1\r\nHost: localhost\r\nAccept: "+accept+"\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.Copy(io.Discard, ours) }()
			time.Sleep(5 * time.Second)
			start := time.Now()
			stop()
			if err := <-ended; err != nil || time.Since(start) > time.Second {
				t.Errorf("%s: closed after %v: %v", accept, time.Since(start), err)
			}
			_ = ours.Close()
		})
	}
}

// Answers that clients do not take have a bounded number of places, of which each principal leaves some. Who finds none waits.
func TestPlacesForLargeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(Options{Control: &fake{}})
		as := func(principal string) *http.Request {
			r, _ := http.NewRequestWithContext(auth.NewContext(t.Context(), auth.Identity{Principal: principal}), "GET", "/v1/calls/x/events", nil)
			r.SetPathValue("id", "x")
			return r
		}
		var leave []func()
		for range maxReads / 2 {
			one, err := a.reading(as("greedy"))
			if err != nil {
				t.Fatal(err)
			}
			leave = append(leave, one)
		}
		began := time.Now()
		err := a.events(httptest.NewRecorder(), as("greedy"))
		if p, ok := err.(*problem); !ok || p.status != 503 || p.retryAfter == 0 || time.Since(began) != readWait {
			t.Errorf("one more: %v after %v", err, time.Since(began))
		}
		if err := a.events(httptest.NewRecorder(), as("other")); err != nil {
			t.Errorf("another: %v", err)
		}
		time.AfterFunc(time.Second, leave[0])
		for range 2 {
			if err := a.events(httptest.NewRecorder(), as("greedy")); err != nil {
				t.Errorf("later: %v", err)
			}
		}
	})
}
