package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// sound looks at what every page has to be, however it is seen.
func (s *sheet) sound() {
	s.t.Helper()
	s.fits()
	s.canary()
	s.strict()
	s.shaped()
}

// fits looks for what is wider than the screen.
func (s *sheet) fits() {
	s.t.Helper()
	var found struct {
		Width int
		Wide  []string
	}
	s.eval(fmt.Sprintf(`(() => {
		const most = %d, wide = [];
		const scrolls = e => { for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) { const o = getComputedStyle(p).overflowX; if (o !== "visible") return true; } return false; };
		for (const e of document.body.querySelectorAll("*")) if (e.checkVisibility() && e.getBoundingClientRect().right > most + 1 && !scrolls(e)) wide.push(e.outerHTML.slice(0, 160));
		return {Width: document.scrollingElement.scrollWidth, Wide: wide.slice(0, 4)};
	})()`, s.look.size()), &found)
	if found.Width > s.look.size() {
		s.fault("%s: the page is %d pixels wide: %q", s.where(), found.Width, found.Wide)
	}
}

// strict looks at the headers of the page.
func (s *sheet) strict() {
	s.t.Helper()
	policy := map[string]string{}
	for directive := range strings.SplitSeq(s.header("Content-Security-Policy"), ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), " ")
		policy[name] = value
	}
	for name, want := range map[string]string{
		"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'", "form-action": "'self'", "base-uri": "'none'", "frame-ancestors": "'none'",
	} {
		if policy[name] != want {
			s.fault("%s: the content security policy has %s %q, want %q", s.where(), name, policy[name], want)
		}
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store"} {
		if got := s.header(name); got != want {
			s.fault("%s: %s is %q, want %q", s.where(), name, got, want)
		}
	}
}

// shaped looks at what screen readers go by: a title, a language, one heading of the first rank, and no id twice.
func (s *sheet) shaped() {
	s.t.Helper()
	var found []string
	s.eval(`(() => {
		const found = [], seen = new Set();
		if (!document.title.trim()) found.push("no title");
		if (!document.documentElement.lang) found.push("no language");
		const n = document.querySelectorAll("h1").length;
		if (n !== 1) found.push(n + " headings of the first rank");
		for (const e of document.querySelectorAll("[id]")) { if (seen.has(e.id)) found.push("the id " + e.id.slice(0, 80) + " is there twice"); seen.add(e.id); }
		if (/\b(NaN|undefined|%!\w|<no value>|\[object Object\])/.test(document.querySelector("main h1, main .figures, main caption, main dl")?.innerText ?? "")) found.push("a value that is none");
		return found.slice(0, 5);
	})()`, &found)
	for _, f := range found {
		s.fault("%s: %s", s.where(), f)
	}
}

// focused is where the keyboard is.
type focused struct {
	Mark    string // of the element
	Visible bool   // one sees it
	HTML    string
}

// marked gives each element that keys should reach a mark, and returns them. Of buttons that exclude each other one counts.
const marked = `(() => {
	const all = [], radios = new Set();
	for (const e of document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")) {
		if (e.disabled || e.type === "hidden" || e.tabIndex < 0 || !e.checkVisibility({visibilityProperty: true, contentVisibilityAuto: true})) continue;
		if (e.type === "radio") { const key = (e.form?.id ?? "") + "/" + e.name; if (radios.has(key)) continue; radios.add(key); }
		e.dataset.reach = all.length; all.push(e.outerHTML.slice(0, 120));
	}
	return all;
})()`

// keyed walks through the page with the tabulator: it comes to the skip link first, to everything that can be used, and one sees
// where it is.
func (s *sheet) keyed() {
	s.t.Helper()
	var all []string
	s.eval(marked, &all)
	reached := map[string]bool{}
	s.eval(`(document.activeElement?.blur(), window.scrollTo(0, 0), getSelection().removeAllRanges(), 1)`, nil)
	for n := range len(all) + 20 {
		s.run(chromedp.KeyEvent(kb.Tab))
		var at *focused
		s.eval(`(() => {
			const e = document.activeElement;
			if (!e || e === document.body) return null;
			const c = getComputedStyle(e), box = e.getBoundingClientRect();
			const ring = c.outlineStyle !== "none" && parseFloat(c.outlineWidth) > 0 || c.boxShadow !== "none";
			return {Mark: e.dataset.reach ?? "", Visible: ring && box.width > 0 && box.height > 0 && box.right > 0 && box.bottom > 0, HTML: e.outerHTML.slice(0, 120)};
		})()`, &at)
		if at == nil || reached[at.Mark] && at.Mark != "" {
			if n == 0 || len(reached) >= len(all) {
				break
			}
			continue
		}
		if n == 0 && !strings.Contains(at.HTML, "skip") {
			s.fault("%s: the keyboard comes to %s first, and not to the skip link", s.where(), at.HTML)
		}
		if !at.Visible {
			s.fault("%s: nobody sees that the keyboard is at %s", s.where(), at.HTML)
		}
		if reached[at.Mark] = true; len(reached) >= len(all) && at.Mark != "" {
			break
		}
	}
	var missed []string
	for i, html := range all {
		if !reached[fmt.Sprint(i)] {
			missed = append(missed, html)
		}
	}
	if len(missed) > 0 {
		s.fault("%s: the keyboard does not come to %d of %d: %q", s.where(), len(missed), len(all), missed[:min(len(missed), 3)])
	}
}

// weight is what a page holds: elements that are there, and nodes, bytes and listeners that may be left of former ones too.
type weight struct{ elements, nodes, heap, listeners float64 }

// weighed collects garbage and weighs the page.
func (s *sheet) weighed() weight {
	s.t.Helper()
	s.run(does(performance.Enable, performance.EnableParams{}), does(heapprofiler.CollectGarbage, cdp.Empty{}))
	got, err := try(s, func(ctx context.Context, t *chromedp.Target) (weight, error) {
		metrics, err := cdp.Call(ctx, t, performance.GetMetrics, cdp.Empty{})
		var w weight
		if err == nil {
			for _, m := range metrics.Metrics {
				switch m.Name {
				case "Nodes":
					w.nodes = m.Value
				case "JSHeapUsedSize":
					w.heap = m.Value
				case "JSEventListeners":
					w.listeners = m.Value
				}
			}
		}
		return w, err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.eval("document.querySelectorAll('*').length", &got.elements)
	return got
}

// flat fails the test where a page has become heavier.
func (s *sheet) flat(before, after weight) {
	s.t.Helper()
	s.t.Logf("%s: elements %.0f, then %.0f; nodes %.0f, then %.0f; heap %.1f MB, then %.1f MB; listeners %.0f, then %.0f", s.where(),
		before.elements, after.elements, before.nodes, after.nodes, before.heap/1e6, after.heap/1e6, before.listeners, after.listeners)
	if after.elements > before.elements*1.1+50 || after.nodes > before.nodes*1.5+500 || after.heap > before.heap*1.3+1e6 || after.listeners > before.listeners*1.1+50 {
		s.t.Errorf("%s: the page grows: %+v, then %+v", s.where(), before, after)
	}
}

// shows fails the test unless all of some texts can be read on the page, in closed parts too.
func (s *sheet) shows(texts ...string) {
	s.t.Helper()
	var words string
	s.eval(`document.body.textContent`, &words)
	for _, text := range texts {
		if !strings.Contains(words, text) {
			s.fault("%s: the page does not say %q", s.where(), text)
		}
	}
}
