package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/testutil"
)

// The commands of docs/rest.md work as they stand there, one after the other, and there is one for each route.
func TestTheCommandsOfTheDocs(t *testing.T) {
	testutil.Require(t, "curl")
	h := newHouse(t, badge{
		"user": {Principal: "alice", Scopes: []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}}, "ops": {Principal: "ops", Scopes: []auth.Scope{auth.Admin}},
	})
	var mu sync.Mutex
	var asked []string
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.Path)
		mu.Unlock()
		h.door.ServeHTTP(w, r)
	}))
	defer front.Close()
	text, err := os.ReadFile("../../docs/rest.md")
	if err != nil {
		t.Fatal(err)
	}
	script := "set -eu -o pipefail\ncurl() { command curl --fail-with-body \"$@\"; echo; }\n"
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		script += block[1]
	}
	file := filepath.Join(t.TempDir(), "commands")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-x", file)
	c.Dir = filepath.Dir(file)
	c.Env = append(os.Environ(), "URL="+front.URL, "TOKEN=user", "ADMIN=ops")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, route := range (&world{house: h}).routesAs("ops") {
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(route), `[^/]+(/[^/]+)*?`) + "$")
		found := false
		for _, a := range asked {
			method, path, _ := strings.Cut(a, " ")
			found = found || pattern.MatchString(method+" "+path) && segments(route) <= segments(path)
		}
		if !found {
			t.Errorf("docs/rest.md has no command for %s", route)
		}
	}
}

func segments(s string) int { return strings.Count(s, "/") }
