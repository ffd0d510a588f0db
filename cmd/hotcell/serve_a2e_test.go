package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
)

// A session over the daemon's listener, under its rules: clients other than browsers need no header for it, and a page in a
// browser gets none.
func TestServeA2EOverHTTP(t *testing.T) {
	r := start(t, newBench(t, succeed(map[string]any{"n": 1}, "done")), "serve", "--listen", "127.0.0.1:0", "--socket", filepath.Join(t.TempDir(), "h.sock"))
	base := r.ready(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	ask := func(method, path, body string, header ...string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Header.Get("Content-Type") != "application/json" {
			return resp, ""
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(text)
	}
	for name, header := range map[string][]string{
		"another site":      {"Origin", "https://evil.example"},
		"a page's fetch":    {"Sec-Fetch-Site", "cross-site"},
		"a form":            {"Content-Type", "application/x-www-form-urlencoded"},
		"a form's own kind": {"Content-Type", "multipart/form-data; boundary=x"},
	} {
		if resp, text := ask("POST", "/session", "", header...); resp.StatusCode < 400 || strings.Contains(text, "session_id") {
			t.Errorf("%s: %s %s", name, resp.Status, text)
		}
	}
	if resp, text := ask("POST", "/session", strings.Repeat(" ", 4<<10+1), "Content-Type", "application/json"); resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a long hello: %s %s", resp.Status, text)
	}
	// A page in a browser would have to ask first, and learns that it may not.
	asks := []string{"Origin", "http://localhost:1", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "x-session-id"}
	if resp, text := ask("OPTIONS", "/send", "", asks...); resp.StatusCode < 400 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a preflight: %s %s", resp.Status, text)
	}
	_, text := ask("POST", "/session", "")
	id := strings.Split(text, `"`)[3]
	stream, _ := ask("GET", "/stream", "", "X-Session-Id", id)
	defer stream.Body.Close()
	for kind, want := range map[string]int{"text/plain": 200, "application/json": 200, "": 415, "text/html": 415} {
		line := `{"type":"skill/call/req","id":"c-` + kind + `","name":"probe"}`
		if resp, text := ask("POST", "/send", line, "X-Session-Id", id, "Content-Type", kind); resp.StatusCode != want {
			t.Errorf("%q: %s %s", kind, resp.Status, text)
		}
	}
	heard := make([]byte, 0, 1<<10)
	for buf := make([]byte, 1<<10); strings.Count(string(heard), "skill/call/resp") < 2; {
		n, err := stream.Body.Read(buf)
		if heard = append(heard, buf[:n]...); err != nil {
			t.Fatalf("%v: %s", err, heard)
		}
	}
	if code, body := get(t, base+"/health"); code != http.StatusOK || body != `{"status":"ok"}` {
		t.Errorf("/health = %d %s", code, body)
	}
	if code := r.stop(t); code != 0 {
		t.Errorf("exit %d: %s", code, r.stderr.String())
	}
	if rest, err := io.ReadAll(stream.Body); err != nil || len(strings.TrimSpace(string(rest))) != 0 {
		t.Errorf("the stream ended with %q, %v", rest, err)
	}
}

// What ends a host on stdin and stdout: a signal after the end of stdin, or its parent's end. Neither of the first two alone.
func TestFarewell(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for name, tt := range map[string]struct {
		input, signal, orphaned bool
		killed                  bool
	}{
		"nothing":  {},
		"input":    {input: true},
		"signal":   {signal: true},
		"both":     {input: true, signal: true, killed: true},
		"orphaned": {orphaned: true, killed: true},
	} {
		t.Run(name, func(t *testing.T) {
			var parent atomic.Int64
			parent.Store(7)
			f := newFarewell(func() int { return int(parent.Load()) }, time.Millisecond)
			s := &fakeSupervisor{}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			watched, stop := f.watch(ctx, s, log)
			if tt.input {
				f.inputEnded()
				f.inputEnded()
			}
			if tt.signal {
				cancel()
			}
			if tt.orphaned {
				parent.Store(1)
				<-watched.Done()
			}
			if tt.killed {
				testutil.Poll(t, 20*time.Second, func() bool { return s.drains.Load() == 1 })
			}
			stop()
			if got := s.drains.Load() == 1; got != tt.killed {
				t.Errorf("killed: %v", got)
			}
			if watched.Err() == nil {
				t.Error("the context is left open")
			}
		})
	}
}
