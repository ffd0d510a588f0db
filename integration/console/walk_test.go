package console

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/console"
	"github.com/hotcell/hotcell/internal/control"
)

// stop is a page that is walked to.
type stop struct {
	route  string // of the console's table
	name   string // of its picture
	path   string // of the daemon that asks nobody
	shows  []string
	status int // 0: 200
}

// call is the address of the page of a call that was seeded.
func (s *seeded) call(name string) string { return "/console/calls/" + url.PathEscape(s.calls[name]) }

// routes are all routes of the console with everything that it can show.
func routes(t *testing.T) []console.Route {
	t.Helper()
	c, err := console.New(console.Options{
		Control: struct{ control.Limited }{}, Book: struct{ control.Book }{}, Pulse: struct{ control.Pulsing }{},
		Reader: struct{ catalog.Reader }{}, Custom: struct{ catalog.Custom }{}, Agents: struct{ catalog.Agents }{}, Installer: struct{ catalog.Installer }{}, Approvals: struct{ catalog.Approvals }{},
		Audit: struct{ control.Auditor }{}, Explain: struct{ control.Explainer }{}, Images: struct{ control.Images }{}, Doctor: struct{ control.Examiner }{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.Routes()
}

// Every route of the console is walked by a test here: a new one that has none fails.
func TestEveryRouteIsWalked(t *testing.T) {
	walked := map[string]bool{}
	for _, s := range stops(&seeded{}) {
		walked[s.route] = true
	}
	source := tests(t)
	for route, test := range flows() {
		if walked[route] = true; !strings.Contains(source, "func "+test+"(t *testing.T)") {
			t.Errorf("there is no test %s, which walks %s", test, route)
		}
	}
	all := routes(t)
	for _, route := range all {
		if !walked[route.Pattern] {
			t.Errorf("no test walks %s: it belongs into stops or flows", route.Pattern)
		}
		delete(walked, route.Pattern)
	}
	for route := range walked {
		t.Errorf("the console has no route %s", route)
	}
}

// tests is the source of the tests here.
func tests(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// stop visits a page of the walk.
func (s *sheet) stop(p stop) {
	s.t.Helper()
	want := 200
	if p.status != 0 {
		want = p.status
		s.expectFailure(p.path)
	}
	s.visit(p.path)
	s.mu.Lock()
	status := s.status
	s.mu.Unlock()
	if status != want {
		s.fault("%s: %d, want %d", s.where(), status, want)
	}
}

// Every page is sound in dark and light, on wide and narrow screens, and axe-core finds nothing serious.
func TestPages(t *testing.T) {
	d := openDaemon(t)
	for _, l := range looks() {
		t.Run(l.String(), func(t *testing.T) {
			s := blank(t, d, l)
			for _, p := range stops(d.seeded) {
				s.stop(p)
				s.settle()
				s.shows(p.shows...)
				s.sound()
				if l != (look{width: narrow}) { // its colours and its layout are other looks' too
					s.judged()
				}
				s.shoot(p.name)
				s.check()
			}
		})
	}
}

// Every page can be read where there are no scripts.
func TestPagesWithoutScripts(t *testing.T) {
	d := openDaemon(t)
	for _, l := range []look{{noScript: true, width: narrow, dark: true}} {
		t.Run(l.String(), func(t *testing.T) {
			s := blank(t, d, l)
			for _, p := range stops(d.seeded) {
				s.stop(p)
				s.shows(p.shows...)
				s.fits()
				s.canary()
				s.check()
			}
		})
	}
}

// Everything on every page can be reached with the keyboard, and one sees where it is. The skip link leads to the content.
func TestKeyboard(t *testing.T) {
	d := openDaemon(t)
	s := blank(t, d, look{})
	for _, p := range stops(d.seeded) {
		s.stop(p)
		s.settle()
		s.keyed()
		s.check()
	}
	s.visit("/console/")
	s.press("body")
	s.eval(`(document.querySelector(".skip").focus(), document.querySelector(".skip").click(), 1)`, nil)
	s.until("the skip link leads to the content", `document.activeElement?.id === "main" || location.hash === "#main"`)
	if strings.Contains(s.where(), "login") {
		t.Error("the overview is not there")
	}
}
