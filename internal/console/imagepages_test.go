package console

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

// depot keeps images as tests want them.
type depot struct {
	mu    sync.Mutex
	did   []string
	rows  []control.ImageRow
	went  []control.ImageVerdict
	fault error
	began chan func(control.PullProgress) // each pull hands in how it tells of itself
	let   chan error
}

func (d *depot) note(ctx context.Context, what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.did = append(d.did, what+" by "+auth.FromContext(ctx).Principal)
}

func (d *depot) done() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.did, ", ")
}

func (d *depot) List(ctx context.Context, ask bool) ([]control.ImageRow, error) {
	if ask {
		d.note(ctx, "ask")
	}
	return d.rows, d.fault
}

func (d *depot) Pull(ctx context.Context, ref string, progress func(control.PullProgress)) (control.ImageRow, error) {
	d.note(ctx, "pull "+ref)
	d.began <- progress
	select {
	case err := <-d.let:
		if err == errPanics {
			panic(err)
		}
		return control.ImageRow{Ref: ref, Digest: "sha256:" + strings.Repeat("a", 64)}, err
	case <-ctx.Done():
		return control.ImageRow{}, ctx.Err()
	}
}

func (d *depot) Pin(ctx context.Context, ref string) (control.ImageRow, error) {
	d.note(ctx, "pin "+ref)
	return control.ImageRow{}, d.fault
}

func (d *depot) Unpin(ctx context.Context, ref string) (bool, error) {
	d.note(ctx, "unpin "+ref)
	return ref == "python:3", nil
}

func (d *depot) Prune(ctx context.Context, dry bool) ([]control.ImageVerdict, error) {
	d.note(ctx, fmt.Sprint("prune dry=", dry))
	return d.went, d.fault
}

// yard is a console over a depot, with somebody signed in; and the console itself.
func yard(t *testing.T) (*depot, *browser, *Console) {
	t.Helper()
	c, d := newCrew(t), &depot{began: make(chan func(control.PullProgress), 20), let: make(chan error)}
	c.options.Images = d
	con, err := New(c.options)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, h: con}
	b.get("/console/login")
	b.post("/console/login", "token", "root")
	b.get("/console/images")
	return d, b, con
}

func TestImages(t *testing.T) {
	d, b, _ := yard(t)
	has(t, pageOf(t, b.get("/console/images"), 200), "No image is pinned yet.")
	d.rows = []control.ImageRow{
		{Ref: "python:3", Digest: "sha256:0123456789abcdef0123", Bytes: 125e6, State: "pinned", Pinned: time.Now()},
		{Ref: "old:1", Digest: "sha256:1123456789abcdef0123", State: "stale", Note: "the registry has " + strangers, Pinned: time.Now()},
		{Ref: "gone:1", State: "missing", Pinned: time.Now()}, {Ref: strangers, ID: strangers, State: strangers, Note: strangers}, {Ref: "mine:1", State: "imported"},
	}
	page := pageOf(t, b.get("/console/images"), 200)
	has(t, page, "python:3 pinned 0123456789ab 119 MiB", "stale the registry has", "missing", "Ask the registries")
	if strings.Contains(d.done(), "ask") {
		t.Error("registries were asked")
	}
	has(t, pageOf(t, b.post("/console/images/ask"), 200), "The registries were asked just now.")
	for _, what := range []string{"pin", "unpin"} {
		if w := b.post("/console/images/"+what, "ref", " python:3 "); w.Code != 303 {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
	has(t, pageOf(t, b.post("/console/images/unpin", "ref", "else:1"), 409), "This tag is not pinned.")
	for _, ref := range []string{"", "  ", strings.Repeat("x", 600)} {
		for _, what := range []string{"pin", "unpin", "pull"} {
			if w := b.post("/console/images/"+what, "ref", ref); w.Code != 400 {
				t.Errorf("%s %.10q: %d", what, ref, w.Code)
			}
		}
	}
	d.fault = &control.Fault{Message: "policy.images.registries does not allow " + strangers}
	has(t, pageOf(t, b.post("/console/images/pin", "ref", "evil:1"), 409), "policy.images.registries does not allow")
	if got, want := d.done(), "ask by root, pin python:3 by root, unpin python:3 by root"; !strings.HasPrefix(got, want) {
		t.Errorf("%s", got)
	}
}

func TestPruningImages(t *testing.T) {
	d, b, con := yard(t)
	has(t, pageOf(t, b.post("/console/images/prune", "do", "look"), 200), "there is nothing to remove")
	d.went = []control.ImageVerdict{{Ref: "old:1", ID: "sha256:aa", Bytes: 5e6, Removed: true}, {Ref: strangers, ID: "sha256:bb", Bytes: 7e6, Kept: "pinned: " + strangers}}
	page := pageOf(t, b.post("/console/images/prune", "do", "look"), 200)
	has(t, page, "1 image of 4.8 MiB can go.", "Remove 1 image", "kept pinned:")
	if strings.Contains(d.done(), "dry=false") {
		t.Fatal("looking removed")
	}
	d.fault = &control.Fault{Message: "one of them is busy"}
	page = pageOf(t, b.post("/console/images/prune", "do", "remove"), 200)
	has(t, page, "1 image is gone, of 4.8 MiB.", "Not all of it worked. one of them is busy")
	lacks(t, page, "Remove 1 image")
	d.went = nil
	has(t, pageOf(t, b.post("/console/images/prune", "do", "remove"), 409), "one of them is busy")
	if w := b.post("/console/images/prune"); w.Code != 400 {
		t.Errorf("%d", w.Code)
	}
	con.desk <- struct{}{} // somebody else does
	for _, what := range []string{"prune", "ask"} {
		if w := b.post("/console/images/"+what, "do", "look"); w.Code != 503 {
			t.Errorf("%s: %d", what, w.Code)
		}
	}
}

// A pull goes on when its browser leaves, one for each tag, and tells what became of it.
func TestPullingImages(t *testing.T) {
	d, b, con := yard(t)
	if w := b.post("/console/images/pull", "ref", "python:3"); w.Code != 303 || w.Header().Get("Location") != "/console/images?done=pull-started" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	tell := <-d.began
	tell(control.PullProgress{Ref: "python:3", Step: "downloading " + strangers, Done: 25e6, Total: 100e6})
	page := pageOf(t, b.get("/console/images"), 200)
	has(t, page, "python:3 pulling by root", "23.8 MiB of 95.4 MiB")
	if bar := all(page, "progress", "value", "25"); len(bar) != 1 {
		t.Errorf("no bar")
	}
	for _, ref := range []string{"python:3", "docker.io/library/python:3"} {
		if w := b.post("/console/images/pull", "ref", ref); w.Header().Get("Location") != "/console/images?done=pull-running" {
			t.Errorf("%s: %d %v", ref, w.Code, w.Header())
		}
	}
	live := make(chan *httptest.ResponseRecorder, 1)
	watcher := &browser{t: t, h: b.h, cookie: b.cookie}
	go func() { live <- watcher.get("/console/images/live") }()
	for i := range maxPulls - 1 {
		b.post("/console/images/pull", "ref", fmt.Sprintf("other:%d", i))
		<-d.began
	}
	if w := b.post("/console/images/pull", "ref", "more:1"); w.Code != 503 {
		t.Errorf("%d", w.Code)
	}
	fails := []error{nil, &control.Fault{Message: "no such image " + strangers}, errors.New("secret path"), nil}
	for _, err := range fails {
		d.let <- err
	}
	testutil.Poll(t, 30*time.Second, func() bool { return !con.pulls.view().Running })
	w := <-live
	if body := w.Body.String(); !strings.Contains(body, "event: pulls") || !strings.HasSuffix(strings.TrimSpace(body), "data:") || strings.Contains(body, "<script>") {
		t.Errorf("%s", body)
	}
	page = pageOf(t, b.get("/console/images"), 200)
	has(t, page, "here", "Pinned to sha256:aaaa", "no such image", "Something failed inside hotcell; its log says what.")
	lacks(t, page, "secret path", "pulling")
	b.post("/console/images/pull", "ref", "odd:1")
	<-d.began
	d.let <- errPanics
	testutil.Poll(t, 30*time.Second, func() bool { return !con.pulls.view().Running })
	for i := range 2 * keptPulls {
		b.post("/console/images/pull", "ref", fmt.Sprintf("x:%d", i))
		<-d.began
		d.let <- nil
		testutil.Poll(t, 30*time.Second, func() bool { return !con.pulls.view().Running })
	}
	if n := len(con.pulls.view().Pulls); n > keptPulls+1 {
		t.Errorf("%d pulls are kept", n)
	}
	// The end of the console ends them.
	b.post("/console/images/pull", "ref", "last:1")
	<-d.began
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := con.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if last := con.pulls.view().Pulls[0]; last.Runs() || !strings.Contains(last.Fault, "broken off") {
		t.Errorf("%+v", last)
	}
	if w := b.post("/console/images/pull", "ref", "late:1"); w.Code != 503 {
		t.Errorf("%d", w.Code)
	}
}
