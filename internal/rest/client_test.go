package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

func dial(t *testing.T, h http.Handler) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := NewClient(srv.URL+"/", auth.Secret{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClientAndDoorAgree(t *testing.T) {
	f := &fake{
		calls:  []control.Call{aCall()},
		answer: &a2e.CallResponse{ReqID: "r1", Data: &a2e.Result{Success: true, Data: json.Number("12345678901234567890")}},
		events: []a2e.Event{{Kind: "log", Seq: 3, Data: map[string]any{"message": "hi"}}},
	}
	c, ctx := dial(t, New(Options{Control: f})), context.Background()
	calls, err := c.List(ctx, 7)
	if diff := cmp.Diff(f.calls, calls); err != nil || diff != "" || f.limit != 7 {
		t.Errorf("list: %v %s, limit %d", err, diff, f.limit)
	}
	call, answer, err := c.Show(ctx, "a/b c?d#e%")
	if diff := cmp.Diff(f.calls[0], call); err != nil || diff != "" || f.id != "a/b c?d#e%" {
		t.Errorf("show: %v %s, id %q", err, diff, f.id)
	}
	if answer == nil || fmt.Sprint(answer.Data.Data) != "12345678901234567890" {
		t.Errorf("answer %+v", answer)
	}
	events, err := c.Events(ctx, "x", 3)
	if diff := cmp.Diff(f.events, events); err != nil || diff != "" || f.from != 3 {
		t.Errorf("events: %v %s, from %d", err, diff, f.from)
	}
	if err := c.Cancel(ctx, "y"); err != nil || f.id != "y" {
		t.Errorf("cancel: %v", err)
	}
	f.answer = nil
	if _, answer, err := c.Show(ctx, "x"); err != nil || answer != nil {
		t.Errorf("show before the end: %+v %v", answer, err)
	}
}

func TestClientErrors(t *testing.T) {
	ctx := context.Background()
	f := &fake{err: control.ErrNotFound, cancelErr: control.ErrEnded}
	c := dial(t, New(Options{Control: f}))
	if _, _, err := c.Show(ctx, "x"); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("show: %v", err)
	}
	if err := c.Cancel(ctx, "x"); !errors.Is(err, control.ErrEnded) {
		t.Errorf("cancel: %v", err)
	}
	f.asked = nil
	for _, id := range []string{".", ".."} {
		if err := c.Cancel(ctx, id); !errors.Is(err, control.ErrNotFound) || len(f.asked) > 0 {
			t.Errorf("%q: %v", id, err)
		}
	}
	if err := c.Cancel(ctx, ""); err == nil || len(f.asked) > 0 {
		t.Errorf("empty id: %v", err)
	}
	f.err = errors.New("x")
	if _, err := c.List(ctx, 0); err == nil || err.Error() != "daemon "+c.base+": internal error" {
		t.Errorf("list: %v", err)
	}
	if _, err := c.List(ctx, -1); err == nil || !strings.Contains(err.Error(), "limit: expected one number from 0 to 10000") {
		t.Errorf("list: %v", err)
	}
}

func TestClientAmongStrangers(t *testing.T) {
	for name, tt := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"another server": {func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) },
			"BASE is no hotcell daemon: it answers with HTTP status 404"},
		"its own 404": {func(w http.ResponseWriter, r *http.Request) { fail(w, r, 404, "not_found", "no such path") },
			"daemon BASE: no such path"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/", http.StatusFound)
		},
			"BASE is no hotcell daemon: it answers with HTTP status 302"},
		"not JSON": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
			"daemon BASE: its answer cannot be read"},
		"terminal escapes": {func(w http.ResponseWriter, r *http.Request) { fail(w, r, 400, "x", "a\x1b[2J\nb") },
			"daemon BASE: a[2J"},
		"cut short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		}, "daemon BASE: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, tt.h)
			_, err := c.List(context.Background(), 1)
			want := strings.ReplaceAll(tt.want, "BASE", c.base)
			if err == nil || !strings.HasPrefix(err.Error(), want) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestNoDaemon(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(base, auth.Secret{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.List(context.Background(), 1)
	if want := "no hotcell daemon at " + base + ": start one with 'hotcell serve'"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.List(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestClientAddresses(t *testing.T) {
	for _, bad := range []string{"", "127.0.0.1:8765", "ftp://x", "http://", "http://u:p@x", "http://x?q", "http://x#f", "http://%zz", "unix:///x"} {
		if _, err := NewClient(bad, auth.Secret{}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
