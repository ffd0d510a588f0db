package console

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/curator"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/store"
)

// shelf is a real catalog over a store in a file, and the console over it.
type shelf struct {
	desk    *desk
	db      *store.Store
	disk    fstest.MapFS
	lib     *skills.Library
	custom  catalog.Custom
	reader  *curator.Curator
	agents  *curator.Agents
	options Options
}

// people are who may sign in at a shelf, by their tokens.
var people = doorman{
	"alice": {Principal: "alice", Scopes: []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}},
	"mia":   {Principal: "mia", Scopes: []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}, Groups: []auth.Membership{{Group: "team", Role: "member"}}},
	"olga":  {Principal: "olga", Scopes: []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}, Groups: []auth.Membership{{Group: "team", Role: "owner"}}},
	"read":  {Principal: "alice", Scopes: []auth.Scope{auth.SkillsRead}},
	"bound": {Principal: "alice", Agent: "helper", Scopes: []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}},
	"root":  {Principal: "root", Scopes: []auth.Scope{auth.Admin, auth.Calls, auth.SkillsRead, auth.SkillsWrite}},
}

func newShelf(t testing.TB, files ...string) *shelf {
	t.Helper()
	s := &shelf{desk: &desk{}, disk: fstest.MapFS{}}
	for i := 0; i < len(files); i += 2 {
		s.disk[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	db, err := store.Open(context.Background(), store.Options{Path: filepath.Join(t.TempDir(), "hotcell.db")})
	if err != nil {
		t.Fatal(err)
	}
	s.db = db
	t.Cleanup(func() { _ = db.Close() })
	if s.lib, err = skills.Load([]skills.Source{{Label: skills.SourceProject, FS: s.disk, Path: "skills"}}, nil); err != nil {
		t.Fatal(err)
	}
	s.reader = curator.New(curator.Config{Shipped: s.lib, Store: db, Code: []string{"*"}})
	s.agents = curator.NewAgents(db, nil)
	s.reader.Gate = s.agents
	s.custom = s.reader.Custom()
	s.options = Options{Control: s.desk, Book: s.desk, Pulse: s.desk, Reader: s.reader, Custom: s.custom, Auth: people}
	return s
}

// as opens the console for one of the people.
func (s *shelf) as(t *testing.T, token string) *browser {
	t.Helper()
	b := open(t, s.options)
	b.get("/console/login")
	if w := b.post("/console/login", "token", token); w.Code != 303 {
		t.Fatalf("sign-in: %d %s", w.Code, w.Body)
	}
	b.get("/console/skills")
	return b
}

func caller(token string) a2e.Caller { return people[token].Caller(door) }

func (s *shelf) write(t *testing.T, token string, principal int64, d catalog.Draft) *catalog.CustomSkill {
	t.Helper()
	made, err := s.custom.Create(t.Context(), caller(token), principal, d)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// number is that of a principal that somebody sees: 0 is itself, then its groups.
func (s *shelf) number(t *testing.T, token string, i int) int64 {
	t.Helper()
	all, err := s.reader.Principals(t.Context(), caller(token))
	if err != nil || len(all) <= i {
		t.Fatal(all, err)
	}
	return all[i].ID
}

func ptr[T any](v T) *T { return &v }

func skillMD(name, about, body string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %q\n---\n\n%s", name, about, body)
}

// pageOf reads a page as a browser would, and fails the test where something of a stranger's became HTML.
func pageOf(t *testing.T, w *httptest.ResponseRecorder, status int) *html.Node {
	t.Helper()
	if w.Code != status {
		t.Fatalf("%d, want %d: %.3000s", w.Code, status, said(mainOf(w)))
	}
	doc, err := html.Parse(strings.NewReader(w.Body.String()))
	if err != nil {
		t.Fatal(err)
	}
	harmless(t, doc)
	return doc
}

// harmless makes sure of what every page promises, whatever strangers call their things.
func harmless(t *testing.T, n *html.Node) {
	t.Helper()
	if n.Type == html.ElementNode {
		switch n.Data {
		case "script":
			if !strings.HasPrefix(attr(n, "src"), Base+"/static/") || n.FirstChild != nil {
				t.Errorf("a script: %v", n.Attr)
			}
		case "img", "iframe", "object", "embed", "base", "style", "video", "audio", "math":
			t.Errorf("an element %s %v", n.Data, n.Attr)
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc", strings.HasPrefix(a.Key, "hx-on"):
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			case (a.Key == "href" || a.Key == "src" || a.Key == "action" || a.Key == "formaction" || a.Key == "hx-get" || a.Key == "hx-post") &&
				!strings.HasPrefix(a.Val, Base) && a.Val != "/docs" && a.Val != "#main":
				t.Errorf("<%s %s=%q> leads elsewhere", n.Data, a.Key, a.Val)
			}
		}
	}
	if n.Type == html.TextNode && strings.ContainsAny(n.Data, "\u202e\u2066") && (n.Parent == nil || n.Parent.Data != "textarea") {
		t.Errorf("a text turns its direction: %q", n.Data)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		harmless(t, c)
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// find returns the first element with an id.
func find(n *html.Node, id string) *html.Node {
	if n.Type == html.ElementNode && attr(n, "id") == id {
		return n
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if found := find(c, id); found != nil {
			return found
		}
	}
	return nil
}

// said is the text of an element.
func said(n *html.Node) string {
	if n == nil {
		return ""
	}
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(said(c))
	}
	return b.String()
}

// has and lacks look for words on a page.
func has(t *testing.T, n *html.Node, words ...string) {
	t.Helper()
	text := strings.Join(strings.Fields(said(n)), " ")
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in %s", w, text)
		}
	}
}

func lacks(t *testing.T, n *html.Node, words ...string) {
	t.Helper()
	text := strings.Join(strings.Fields(said(n)), " ")
	for _, w := range words {
		if strings.Contains(text, w) {
			t.Errorf("%q in %s", w, text)
		}
	}
}

// filled reads the form with an id as a browser would send it unchanged.
func filled(form *html.Node) (fields []string) {
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode && attr(n, "name") != "" {
			switch n.Data {
			case "input":
				if kind := attr(n, "type"); kind == "hidden" {
					fields = append(fields, attr(n, "name"), attr(n, "value"))
				} else if kind != "checkbox" {
					fields = append(fields, attr(n, "name"), strings.NewReplacer("\r", "", "\n", "").Replace(attr(n, "value")))
				}
			case "textarea":
				fields = append(fields, attr(n, "name"), strings.ReplaceAll(said(n), "\n", "\r\n"))
			case "select":
				fields = append(fields, attr(n, "name"), chosen(n))
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(form)
	return fields
}

func chosen(n *html.Node) (value string) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && c.Data == "option" {
			for _, a := range c.Attr {
				if a.Key == "selected" {
					value = attr(c, "value")
				}
			}
		}
	}
	return value
}

// with lays other values over the fields of a form.
func with(fields []string, more ...string) []string {
	return append(append([]string{}, fields...), more...)
}

// request asks without a test around it.
func (b *browser) request(method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	b.h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

// mainOf is the content of a page.
func mainOf(w *httptest.ResponseRecorder) *html.Node {
	doc, err := html.Parse(strings.NewReader(w.Body.String()))
	if err != nil {
		return nil
	}
	if m := find(doc, "main"); m != nil {
		return m
	}
	return doc
}
