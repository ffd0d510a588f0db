package engineapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestOperation(t *testing.T) {
	for request, want := range map[string]string{
		"GET /_ping":                                  "ping",
		"HEAD /_ping":                                 "ping",
		"GET /v1.41/info":                             "info",
		"GET /v1.41/version":                          "version",
		"GET /v1.41/system/df":                        "disk_usage",
		"POST /v1.41/containers/create":               "container_create",
		"GET /v1.41/containers/json":                  "container_list",
		"GET /v1.41/containers/abc/json":              "container_inspect",
		"POST /v1.41/containers/abc/start":            "container_start",
		"POST /v1.41/containers/abc/wait":             "container_wait",
		"POST /v1.41/containers/abc/attach":           "container_attach",
		"POST /v1.41/containers/abc/kill":             "container_kill",
		"PUT /v1.41/containers/abc/archive":           "container_copy",
		"DELETE /v1.41/containers/abc":                "container_remove",
		"GET /v1.41/volumes":                          "volume_list",
		"GET /v1.41/volumes/x":                        "volume_inspect",
		"DELETE /v1.41/volumes/x":                     "volume_remove",
		"POST /v1.41/images/create":                   "image_pull",
		"GET /v1.41/images/json":                      "image_list",
		"POST /v1.41/images/load":                     "image_load",
		"GET /v1.41/images/hotcell/python:3/json":     "image_inspect",
		"GET /v1.41/images/r.example:5000/a/b:1/json": "image_inspect",
		"DELETE /v1.41/images/sha256:1":               "image_remove",
		"GET /":                                       "other",
		"GET /v1.41":                                  "other",
		"POST /v1.41/containers/abc/exec":             "other",
		"GET /v1.41/containers/a/b/c":                 "other",
	} {
		req, err := http.NewRequest(request[:len(request)-len(request[indexByte(request):])], "http://docker"+request[indexByte(request)+1:], nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := Operation(req.Method, req.URL.Path); got != want {
			t.Errorf("%s is %s, want %s", request, got, want)
		}
	}
}

func indexByte(s string) int {
	for i := range s {
		if s[i] == ' ' {
			return i
		}
	}
	return len(s)
}

func TestFault(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	late, done := context.WithTimeout(t.Context(), 0)
	defer done()
	for name, tt := range map[string]struct {
		ctx    context.Context
		status int
		err    error
		want   string
	}{
		"well":         {t.Context(), 201, nil, ""},
		"upgraded":     {t.Context(), 101, nil, ""},
		"not modified": {t.Context(), 304, nil, ""},
		"not found":    {t.Context(), 404, nil, "not_found"},
		"conflict":     {t.Context(), 409, nil, "conflict"},
		"bad request":  {t.Context(), 400, nil, "refused"},
		"broken":       {t.Context(), 500, nil, "engine"},
		"gone":         {t.Context(), 0, errors.New("connection refused"), "unreachable"},
		"slow":         {late, 0, context.DeadlineExceeded, "timeout"},
		"slow network": {t.Context(), 0, &net.DNSError{IsTimeout: true}, "timeout"},
		"broken off":   {over, 0, context.Canceled, ""},
	} {
		if got := Fault(tt.ctx, tt.status, tt.err); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

type told struct{ operation, fault string }

type teller struct{ all []told }

func (w *teller) Asked(operation, fault string, _ time.Duration) {
	w.all = append(w.all, told{operation, fault})
}

func TestWatch(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	w := &teller{}
	cl := http.Client{Transport: Watch(srv.Client().Transport, w)}
	resp, err := cl.Get(srv.URL + "/v1.41/containers/abc/json")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	srv.Close()
	if _, err := cl.Get(srv.URL + "/_ping"); err == nil {
		t.Error("somebody answers")
	}
	if len(w.all) != 2 || w.all[0] != (told{"container_inspect", "not_found"}) || w.all[1] != (told{"ping", "unreachable"}) {
		t.Errorf("%v", w.all)
	}
	if next := http.DefaultTransport; Watch(next, nil) != next {
		t.Error("nobody watches, and yet there is something between")
	}
}
