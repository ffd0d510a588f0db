package console

import (
	"context"
	"strings"
	"testing"
	"time"
)

// The seeds have become what they should: a call that ended otherwise fails the start of the daemon.
func TestSeeds(t *testing.T) {
	d := openDaemon(t)
	if len(d.seeded.calls) != len(seedCalls())+1 {
		t.Errorf("%d calls: %v", len(d.seeded.calls), d.seeded.calls)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	running, queued, end, err := d.crowd(ctx, "")
	if err != nil || len(running) != cells || queued.ID == "" {
		t.Errorf("%d running, %q queued: %v", len(running), queued.ID, err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	g := guardedDaemon(t)
	if len(g.tokens) != len(principals()) {
		t.Errorf("%d tokens", len(g.tokens))
	}
}

// The rig finds what it looks for: a page that comes from elsewhere, fails, throws, or was made of payloads is found out. A page of the
// daemon's that is as it should be is not.
func TestTheRigFindsFaults(t *testing.T) {
	d := openDaemon(t)
	clean := open(t, d, "/docs", look{})
	if words := clean.text(); !strings.Contains(words, "/v1/calls") {
		t.Errorf("the page says %.200q", words)
	}
	clean.canary()
	clean.shoot("rig")
	if heard := clean.heard(); len(heard) > 0 {
		t.Errorf("faults in a good page: %q", heard)
	}
	for name, tt := range map[string]struct{ script, want string }{
		"console":   {`console.error("broken")`, "console.error"},
		"exception": {`setTimeout(() => { throw new Error("broken") })`, "exception"},
		"request":   {`document.body.append(Object.assign(new Image, {src: "http://elsewhere.example/x"}))`, "elsewhere.example"},
		"missing":   {`setTimeout(() => location.href = "/not-there")`, "404 of"},
		"dialog":    {`setTimeout(() => alert("hello"))`, "a dialog: hello"},
		"policy":    {`document.head.append(Object.assign(document.createElement("script"), {src: "data:text/javascript,1"}))`, "content security policy"},
		"style":     {`document.body.setAttribute("style", "color: red")`, "content security policy"},
		"element":   {`document.body.append(Object.assign(document.createElement("b"), {textContent: "x"})); document.querySelector("b:last-child").dataset.xss = 1`, "made of a payload"},
		"ran":       {`window.__xss = 1`, "a payload ran"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, d, "/docs", look{dark: true})
			s.eval("(() => {"+tt.script+"; return 1})()", nil)
			for deadline := time.Now().Add(patience); len(s.heard()) == 0 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
				if strings.Contains(tt.want, "payload") {
					s.canary()
				}
			}
			if heard := strings.Join(s.heard(), "\n"); !strings.Contains(heard, tt.want) {
				t.Errorf("%s: found %q, want %q", name, heard, tt.want)
			}
			s.mu.Lock()
			s.faults = nil
			s.awaited = []string{""}
			s.mu.Unlock()
		})
	}
}

// What looks at pages finds what it looks for.
func TestTheChecksFindFaults(t *testing.T) {
	d := openDaemon(t)
	for name, tt := range map[string]struct {
		script string
		look   func(*sheet)
		want   string
	}{
		"wide":      {`const e = document.createElement("p"); e.textContent = "W".repeat(500); e.style.overflowWrap = "normal"; document.querySelector("main").append(e)`, (*sheet).fits, "pixels wide"},
		"axe":       {`document.querySelector("main").append(document.createElement("img"))`, (*sheet).judged, "image-alt"},
		"contrast":  {`const e = document.createElement("p"); e.textContent = "pale"; e.style.color = "#777"; e.style.background = "#888"; document.querySelector("main").append(e)`, (*sheet).judged, "color-contrast"},
		"heading":   {`document.querySelector("main").append(document.createElement("h1"))`, (*sheet).shaped, "2 headings of the first rank"},
		"policy":    {`1`, func(s *sheet) { s.headers = nil; s.strict() }, "content security policy has script-src"},
		"unseen":    {`document.querySelector("main a").style.outline = "none"`, (*sheet).keyed, "nobody sees that the keyboard is at"},
		"unreached": {`addEventListener("focus", e => { if (e.target.dataset?.reach === "5") e.target.blur() }, true)`, (*sheet).keyed, "does not come to"},
		"skip link": {`document.querySelector(".skip").remove()`, (*sheet).keyed, "not to the skip link"},
		"words":     {`1`, func(s *sheet) { s.shows("nothing of the kind") }, "does not say"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, d, "/console/agents", look{width: narrow})
			s.eval("(() => {"+tt.script+"; return 1})()", nil)
			tt.look(s)
			if heard := strings.Join(s.heard(), "\n"); !strings.Contains(heard, tt.want) {
				t.Errorf("found %q, want %q", heard, tt.want)
			}
			s.mu.Lock()
			s.faults, s.awaited = nil, []string{""}
			s.mu.Unlock()
		})
	}
}
