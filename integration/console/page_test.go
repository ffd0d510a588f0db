package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// The widths of a desk and of a telephone.
const (
	wide   = 1280
	narrow = 390
)

// look is how somebody sees the console.
type look struct {
	width    int // 0: wide
	dark     bool
	noScript bool
	token    string // signs in with it; "": not signed in
}

func (l look) String() string {
	name := fmt.Sprint(l.size())
	if l.dark {
		name += "-dark"
	} else {
		name += "-light"
	}
	if l.noScript {
		name += "-noscript"
	}
	return name
}

func (l look) size() int {
	if l.width == 0 {
		return wide
	}
	return l.width
}

// looks are those that every page is seen in: each width and each theme once, or with HOTCELL_LOOKS=all each width in each theme.
func looks() []look {
	all := []look{{width: wide}, {width: narrow, dark: true}}
	if os.Getenv("HOTCELL_LOOKS") == "all" {
		all = append(all, look{width: wide, dark: true}, look{width: narrow})
	}
	return all
}

// sheet is a tab of its own, with cookies of its own. What goes wrong in it is a fault of the test that looks at it.
type sheet struct {
	t    *testing.T
	ctx  context.Context
	d    *daemon
	look look

	closing sync.WaitGroup // of dialogs

	mu      sync.Mutex
	faults  []string
	status  int             // of the page itself
	headers network.Headers // of the page itself
	awaited []string        // parts of addresses whose failure is meant
	updates int             // server-sent events that came
}

// open opens a page of a daemon.
func open(t *testing.T, d *daemon, path string, l look) *sheet {
	t.Helper()
	s := blank(t, d, l)
	if l.token != "" {
		s.signIn(l.token)
	}
	s.visit(path)
	return s
}

// blank opens an empty tab.
func blank(t *testing.T, d *daemon, l look) *sheet {
	t.Helper()
	ctx, closed := chromedp.NewContext(browser(t).ctx, chromedp.WithNewBrowserContext())
	s := &sheet{t: t, ctx: ctx, d: d, look: l}
	t.Cleanup(func() {
		s.check()
		if err := chromedp.Cancel(ctx); err != nil {
			t.Error(err)
		}
		closed()
		s.closing.Wait()
	})
	if err := chromedp.Listen(ctx, s.hear); err != nil {
		t.Fatal(err)
	}
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	if l.dark {
		features[0].Value = "dark"
	}
	height := int64(900)
	if l.size() == narrow {
		height = 844
	}
	s.run(
		does(network.Enable, network.EnableParams{}), does(log.Enable, cdp.Empty{}), does(audits.Enable, cdp.Empty{}),
		does(page.Enable, page.EnableParams{}), does(runtime.Enable, cdp.Empty{}),
		does(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: int64(l.size()), Height: height, DeviceScaleFactor: 1, Mobile: l.size() == narrow,
		}),
		does(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}),
		does(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Berlin"}),
		does(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: l.noScript}))
	return s
}

// does is a command of the browser's protocol whose result nobody needs.
func does[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

// run does something in the tab.
func (s *sheet) run(steps ...chromedp.Action[chromedp.Void]) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		s.t.Fatalf("%s: %v\nfaults so far: %q", s.where(), err, s.heard())
	}
}

// try gets something out of the tab.
func try[T any](s *sheet, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, action)
}

// visit goes to a path of the daemon.
func (s *sheet) visit(path string) {
	s.t.Helper()
	s.mu.Lock()
	s.status, s.headers = 0, nil
	s.mu.Unlock()
	s.run(chromedp.Navigate(s.d.url + path))
}

// signIn signs in with a token, as a person does.
func (s *sheet) signIn(token string) {
	s.t.Helper()
	s.visit("/console/login")
	s.write("#token", token)
	s.press("main form button")
	s.until("signed in", `document.readyState === "complete" && !location.pathname.endsWith("/login")`)
}

// write types a text into a field.
func (s *sheet) write(selector, text string) {
	s.t.Helper()
	s.run(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// eval evaluates an expression, or the promise that it is, into something.
func (s *sheet) eval(expression string, into any) {
	s.t.Helper()
	text, err := try(s, chromedp.Evaluate[string]("(async () => JSON.stringify(await ("+expression+")) ?? 'null')()", chromedp.EvalAwaitPromise))
	if err == nil && into != nil {
		err = json.Unmarshal([]byte(text), into)
	}
	if err != nil {
		s.t.Fatalf("%s: %v\nof: %.500s\nfaults so far: %q", s.where(), err, expression, s.heard())
	}
}

// until waits for an expression to be true.
func (s *sheet) until(what, expression string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		so, err := try(s, chromedp.Evaluate[bool]("!!("+expression+")"))
		switch {
		case err == nil && so:
			return
		case time.Now().After(deadline):
			s.t.Fatalf("%s: %s: still not so (%v); faults so far: %q", s.where(), what, err, s.heard())
		}
	}
}

// press clicks what a selector names, once it can be seen.
func (s *sheet) press(selector string) {
	s.t.Helper()
	s.run(chromedp.ScrollIntoView(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
}

// send clicks what leads to another page, and waits for that.
func (s *sheet) send(selector string) {
	s.t.Helper()
	s.eval("(window.before = 1)", nil)
	s.press(selector)
	s.until("another page after "+selector, `window.before === undefined && document.readyState === "complete"`)
}

// text is what can be read on the page.
func (s *sheet) text() (words string) {
	s.t.Helper()
	s.eval("document.body.innerText", &words)
	return words
}

// where is the address of the page, for messages.
func (s *sheet) where() string {
	at, _ := try(s, chromedp.Location())
	return fmt.Sprintf("%s (%s)", strings.TrimPrefix(at, s.d.url), s.look)
}

// shoot takes a picture of the whole page.
func (s *sheet) shoot(name string) {
	s.t.Helper()
	dir := os.Getenv("HOTCELL_SHOTS")
	if dir == "" {
		dir = s.t.TempDir()
	}
	picture, err := try(s, chromedp.FullScreenshot(100))
	if err != nil {
		s.t.Fatalf("%s: %v", s.where(), err)
	}
	file := filepath.Join(dir, strings.NewReplacer("/", "-", " ", "-").Replace(name)+"-"+s.look.String()+".png")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, picture, 0o644); err != nil {
		s.t.Fatal(err)
	}
	if len(picture) < 1000 {
		s.t.Errorf("%s: the picture has %d bytes", s.where(), len(picture))
	}
}

// expectFailure says that requests whose address has this part may fail.
func (s *sheet) expectFailure(part string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awaited = append(s.awaited, part)
}

// fault notes that something went wrong.
func (s *sheet) fault(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := fmt.Sprintf(format, args...)
	if !slices.ContainsFunc(s.awaited, func(part string) bool { return strings.Contains(said, part) }) {
		s.faults = append(s.faults, said)
	}
}

func (s *sheet) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.faults)
}

// check fails the test with what went wrong in the tab.
func (s *sheet) check() {
	s.t.Helper()
	for _, fault := range s.heard() {
		s.t.Errorf("%s: %s", s.look, fault)
	}
	s.mu.Lock()
	s.faults = nil
	s.mu.Unlock()
}

// hear is told of everything that happens in the tab.
func (s *sheet) hear(event any) {
	s.told(event)
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			words, _ := json.Marshal(e.Args)
			s.fault("console.%s: %s", e.Type, words)
		}
	case *runtime.EventExceptionThrown:
		words, _ := json.Marshal(e.ExceptionDetails)
		s.fault("exception: %s", words)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Source == log.EntrySourceSecurity {
			s.fault("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if e.Issue.Details != nil && e.Issue.Details.ContentSecurityPolicyIssueDetails != nil {
			v := e.Issue.Details.ContentSecurityPolicyIssueDetails
			s.fault("content security policy: %s of %s", v.ViolatedDirective, v.BlockedURL)
		}
	case *page.EventJavascriptDialogOpening:
		s.fault("a dialog: %s", e.Message)
		s.closing.Go(func() { _, _ = try(s, does(page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})) })
	case *network.EventRequestWillBeSent:
		s.asked(e.Request.URL)
	case *network.EventWebSocketCreated:
		s.fault("a web socket to %s", e.URL)
	case *network.EventLoadingFailed:
		if !e.Canceled {
			s.fault("a request failed: %s %s %s", e.Type, e.ErrorText, e.BlockedReason)
		}
	case *network.EventResponseReceived:
		s.answered(e)
	}
}

// asked looks at where a request goes: nowhere but to the daemon.
func (s *sheet) asked(address string) {
	u, err := url.Parse(address)
	home, _ := url.Parse(s.d.url)
	if err != nil || u.Scheme != "data" && u.Scheme != "blob" && u.Scheme != "about" && u.Host != home.Host {
		s.fault("a request went to %s", address)
	}
}

func (s *sheet) answered(e *network.EventResponseReceived) {
	if e.Type == network.ResourceTypeDocument {
		s.mu.Lock()
		s.status, s.headers = int(e.Response.Status), e.Response.Headers
		s.mu.Unlock()
	}
	if e.Response.Status >= 400 {
		s.fault("%d of %s", e.Response.Status, e.Response.URL)
	}
}

// header is a header of the page itself.
func (s *sheet) header(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, value := range s.headers {
		if strings.EqualFold(key, name) {
			return fmt.Sprint(value)
		}
	}
	return ""
}

// settle lets what was caused before happen: two frames are drawn, and no script of the page has anything to do.
func (s *sheet) settle() {
	s.t.Helper()
	if s.look.noScript {
		return
	}
	s.eval(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))`, nil)
}
