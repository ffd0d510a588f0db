package console

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/auth"
)

// may are the scopes of who has a token at the guarded daemon.
func may(name string) []auth.Scope {
	return map[string][]auth.Scope{
		"root":   {auth.Admin, auth.Calls, auth.SkillsRead, auth.SkillsWrite},
		"alice":  {auth.Calls, auth.SkillsRead, auth.SkillsWrite},
		"bob":    {auth.Calls},
		"reader": {auth.SkillsRead},
		"scribe": {auth.Calls, auth.SkillsRead},
	}[name]
}

// value is a part of a pattern that any value may take.
var value = regexp.MustCompile(`\{[^}]*\}`)

// Every route is refused to everybody whose token has not its scope, and to agents where it is for people, however it is asked for. Who
// is not signed in is led to the sign-in page.
func TestEveryRouteAsEveryPrincipal(t *testing.T) {
	d := guardedDaemon(t)
	for _, route := range routes(t) {
		if route.Scope == "" {
			continue
		}
		method, pattern, _ := strings.Cut(route.Pattern, " ")
		path := value.ReplaceAllString(strings.ReplaceAll(pattern, "{$}", ""), "1")
		for _, name := range []string{"root", "alice", "bob", "reader", "scribe", ""} {
			status, to := d.knock(t, name, method, path)
			allowed := slices.Contains(may(name), route.Scope) && !(route.People && name == "scribe")
			switch {
			case name == "" && (status != http.StatusSeeOther || !strings.HasPrefix(to, "/console/login?next=")):
				t.Errorf("%s for nobody: %d, %q", route.Pattern, status, to)
			case name != "" && !allowed && status != http.StatusForbidden:
				t.Errorf("%s for %s: %d, want 403", route.Pattern, name, status)
			case allowed && method == http.MethodGet && (status == http.StatusForbidden || status >= 500 || status == http.StatusSeeOther && strings.Contains(to, "login")):
				t.Errorf("%s for %s: %d, %q", route.Pattern, name, status, to)
			}
		}
	}
}

// knock asks for a route with somebody's token and nothing in its form. Where that might do something it is not asked.
func (d *daemon) knock(t *testing.T, name, method, path string) (status int, to string) {
	t.Helper()
	if method != http.MethodGet && (name == "root" || name == "alice") {
		return http.StatusForbidden, "" // they may, and it might be done
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, d.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if method != http.MethodGet {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if name != "" {
		req.Header.Set("Authorization", "Bearer "+d.tokens[name])
	}
	client := &http.Client{Transport: plain.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	return resp.StatusCode, resp.Header.Get("Location")
}

// A person signs in with a token, sees what the token is for, and signs out. The token is in no address, no page and no storage.
func TestSignIn(t *testing.T) {
	d := guardedDaemon(t)
	for _, l := range []look{{}, {width: narrow, dark: true}, {noScript: true}} {
		t.Run(l.String(), func(t *testing.T) {
			s := blank(t, d, l)
			s.visit("/console/skills")
			s.until("the sign-in page", `location.pathname === "/console/login" && location.search.includes("next=")`)
			s.sound()
			if !l.noScript {
				s.judged()
			}
			s.shoot("sign-in")
			s.expectFailure("401")
			s.write("#token", "hct_wrong")
			s.press("main form button")
			s.until("the refusal", `document.querySelector("[role=alert]")?.innerText.includes("not known")`)
			s.shoot("sign-in-refused")
			s.write("#token", d.tokens["alice"])
			s.press("main form button")
			s.until("the page that was wanted", `location.pathname === "/console/skills"`)
			var leaks bool
			s.eval(fmt.Sprintf(`[document.documentElement.outerHTML, location.href, document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage)].join().includes(%q)`, d.tokens["alice"]), &leaks)
			if leaks {
				t.Error("the token can be read by scripts")
			}
			s.shows("alice", "Sign out")
			var menu []string
			s.eval(`[...document.querySelectorAll("nav.menu a")].map(a => a.textContent)`, &menu)
			for _, name := range []string{"Audit", "Doctor", "Images", "Policies"} {
				if slices.Contains(menu, name) {
					t.Errorf("the menu of alice has %s", name)
				}
			}
			s.press(`form[action="/console/logout"] button`)
			s.until("signed out", `location.pathname === "/console/login"`)
			s.visit("/console/calls")
			s.until("still signed out", `location.pathname === "/console/login"`)
		})
	}
}

// A form that somebody else made is refused, and a page that is not there says so.
func TestForeignForms(t *testing.T) {
	d := openDaemon(t)
	s := blank(t, d, look{})
	s.expectFailure("/console/")
	s.visit("/console/no-such-page")
	s.shows("No such page")
	s.fits()
	s.judged()
	s.shoot("no-such-page")
	s.eval(`(() => { const f = document.createElement("form"); f.method = "post"; f.action = "/console/logout"; document.body.append(f); f.submit(); return 1 })()`, nil)
	s.until("the refusal", `document.querySelector("h1")?.innerText.includes("too old")`)
}
