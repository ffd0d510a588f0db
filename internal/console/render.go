package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hotcell/hotcell/internal/auth"
)

//go:embed web
var web embed.FS

// drawings are the templates: each page's own set, with the frame and the shared parts in it. A set is read when its page is first
// asked for: all of them hold more memory than all else of a daemon that serves nobody.
type drawings struct {
	pages map[string]func() (*template.Template, error)
	files map[string]asset // by name
	mark  string           // of the assets: changes when one of them does

	Styles, Scripts []string // what every page loads, in order
}

// draw knows the templates. A file of web/pages defines "content" and may define parts of its own; those of web/parts are
// everybody's.
func draw() (*drawings, error) {
	files, err := fs.Glob(web, "web/pages/*.html")
	if err != nil {
		return nil, err
	}
	d := &drawings{pages: map[string]func() (*template.Template, error){}}
	for _, file := range files {
		d.pages[strings.TrimSuffix(path.Base(file), ".html")] = sync.OnceValues(func() (*template.Template, error) {
			return template.New("").Funcs(funcs()).ParseFS(web, "web/*.html", "web/parts/*.html", file)
		})
	}
	return d, d.assets()
}

// frame is what every page has around its content.
type frame struct {
	Title  string
	Menu   []entry
	Who    string // "": nobody has to sign in
	Signed bool
	CSRF   string
	Notice string
	Mark   string
	Version,
	Path string
	Load *drawings
	Data any // the page's own
}

// entry is one of the menu.
type entry struct {
	Name, Path string
	Here       bool
}

// notices are what a page says after something was done. Addresses name them by their keys.
var notices = map[string]string{
	"agent-created": "The agent is there. Switch on what it may use.",
	"agent-deleted": "The agent is deleted.",
	"agent-saved":   "Saved.",
	"approved":      "Approved, and done.",
	"denied":        "Denied. The agent is told so when it asks.",
	"image-pinned":  "The image is pinned. Calls get this content from now on.",
	"image-removed": "The pin is gone. The next call pins the tag anew.",
	"pull-started":  "The pull has begun. It goes on if you leave this page.",
	"pull-running":  "This image is being pulled already.",
	"cancelling":    "The call is being cancelled.",
	"again":         "The call was started again; this is the new one.",
	"made":          "The skill is made. It can be called from now on.",
	"saved":         "Saved. Calls that follow use it.",
	"restored":      "Restored. What it was a moment ago is kept: restoring once more brings it back.",
	"rolled-back":   "The earlier version is the current one now. Calls that follow use it.",
}

// render shows a page: web/pages/NAME.html with data as .Data.
func (v *visit) render(name, title string, data any) error {
	return v.renderAs(http.StatusOK, name, title, data)
}

func (v *visit) renderAs(status int, name, title string, data any) error {
	f := frame{
		Title: title, Menu: v.menu(), Signed: v.signed, CSRF: v.mark, Notice: notices[v.query("done", 40)], Mark: v.drawn.mark,
		Version: v.o.Version, Path: v.r.URL.Path, Load: v.drawn, Data: data,
	}
	if v.known && v.who.Principal != "" {
		f.Who = v.who.Principal
	}
	return v.execute(status, name, "frame", f)
}

// part shows a part of a page alone: the template defined as what in web/pages/NAME.html or web/parts.
func (v *visit) part(name, what string, data any) error {
	return v.partAs(http.StatusOK, name, what, data)
}

func (v *visit) partAs(status int, name, what string, data any) error {
	return v.execute(status, name, what, frame{CSRF: v.mark, Mark: v.drawn.mark, Path: v.r.URL.Path, Data: data})
}

func (v *visit) execute(status int, name, what string, f frame) error {
	b, err := v.drawPart(name, what, f)
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(b) // a browser that left
	return nil
}

// drawPart draws a template whole before anything of it is sent.
func (v *visit) drawPart(name, what string, f frame) ([]byte, error) {
	read := v.drawn.pages[name]
	if read == nil {
		return nil, fmt.Errorf("no page is called %q", name)
	}
	t, err := read()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.ExecuteTemplate(&b, what, f)
	return b.Bytes(), err
}

// menu lists the areas that the one who asks may open.
func (v *visit) menu() []entry {
	if !v.known {
		return nil
	}
	var all []entry
	for _, a := range v.areas() {
		if a.there && v.who.May(a.scope) {
			all = append(all, entry{a.name, a.path, here(v.r.URL.Path, a.path)})
		}
	}
	return all
}

func here(path, area string) bool {
	if area == Base+"/" {
		return path == area
	}
	return path == area || strings.HasPrefix(path, area+"/")
}

// area is a part of the console that the menu leads to.
type area struct {
	name, path string
	scope      auth.Scope
	there      bool
}

func (c *Console) areas() []area {
	return []area{
		{"Overview", Base + "/", auth.Calls, true},
		{"Calls", Base + "/calls", auth.Calls, true},
		{"Skills", Base + "/skills", auth.SkillsRead, c.o.Reader != nil},
		{"Custom skills", Base + "/custom", auth.SkillsRead, c.o.Custom != nil},
		{"Agents", Base + "/agents", auth.SkillsRead, c.o.Agents != nil},
		{"Approvals", Base + "/approvals", auth.SkillsRead, c.o.Approvals != nil},
		{"Policies", Base + "/policies", auth.Admin, c.o.Explain != nil},
		{"Images", Base + "/images", auth.Admin, c.o.Images != nil},
		{"Audit", Base + "/audit", auth.Admin, c.o.Audit != nil},
		{"Doctor", Base + "/doctor", auth.Admin, c.o.Doctor != nil},
	}
}

// asset is a file that pages load. It is read where it lies, each time: browsers keep it.
type asset struct{ kind, file string }

func (d *drawings) assets() error {
	d.files = map[string]asset{}
	sum := sha256.New()
	names, err := fs.Glob(web, "web/static/*")
	if err != nil {
		return err
	}
	for _, name := range names {
		b, err := web.ReadFile(name)
		if err != nil {
			return err
		}
		kind := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}[path.Ext(name)]
		if kind == "" {
			return fmt.Errorf("asset %s has no known type", name)
		}
		d.files[path.Base(name)] = asset{kind, name}
		sum.Write(b)
	}
	d.mark = hex.EncodeToString(sum.Sum(nil)[:6])
	d.Styles = d.loaded(".css", "console.css")
	d.Scripts = d.loaded(".js", "htmx.min.js", "sse.min.js", "console.js")
	return nil
}

// loaded lists the assets of a kind: first those that others build on, then the areas' own. theme.js has its own place.
func (d *drawings) loaded(kind string, first ...string) []string {
	all := first
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		if path.Ext(name) == kind && name != "theme.js" && !slices.Contains(first, name) {
			all = append(all, name)
		}
	}
	return all
}

// static serves the assets. Their addresses change with them, so a browser may keep them.
func (c *Console) static(w http.ResponseWriter, r *http.Request) {
	a, ok := c.drawn.files[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	b, err := web.ReadFile(a.file)
	if err != nil {
		http.Error(w, "this file can't be read", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	if r.URL.Query().Get("v") == c.drawn.mark {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(b)
}
