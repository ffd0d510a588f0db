package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/testutil"
)

// The daemon says where its console is, and all pages are there.
func TestServeConsole(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nowhere.sock") // answers nothing
	b := newBench(t, succeed(nil, ""))
	b.app.open, b.app.gather = open, gather
	r := start(t, b, "serve", "--listen", "127.0.0.1:0", "--socket", filepath.Join(t.TempDir(), "h.sock"), "--data-dir", t.TempDir())
	base := r.ready(t)
	testutil.Poll(t, 0, func() bool { return strings.Contains(r.stderr.String(), "hotcell: console at "+base+"/console\n") })
	code, page := get(t, base+"/console")
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, page)
	}
	for _, area := range []string{"", "calls", "skills", "custom", "agents", "approvals", "policies", "audit"} {
		if !strings.Contains(page, `href="/console/`+area+`"`) {
			t.Errorf("the menu does not lead to %q", area)
		}
		if code, page := get(t, base+"/console/"+area); code != http.StatusOK {
			t.Errorf("%s: %d %s", area, code, page)
		}
	}
	if code, page := get(t, base+"/console/doctor"); code != http.StatusOK || !strings.Contains(page, "Examined") && !strings.Contains(page, "Looking") {
		t.Errorf("%d %s", code, page)
	}
	if code := r.stop(t); code != exitOK {
		t.Errorf("exit %d: %s", code, r.stderr.String())
	}
}
