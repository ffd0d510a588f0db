package a2ahost

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second // for what must happen, on a busy machine

// kept is a call in the fake's journal.
type kept struct {
	view   control.Call
	answer *a2e.CallResponse
	events []a2e.Event
	cancel context.CancelFunc
}

// fake is a supervisor with a journal, and a catalogue. Its skills do what their names say.
type fake struct {
	catalog.Reader // what is not asked here

	release chan struct{} // "wait" ends when this is closed
	running atomic.Int32

	mu       sync.Mutex
	calls    []*kept
	saw      []*a2e.CallRequest
	who      []a2e.Caller
	entries  []catalog.Entry
	private  map[string][]catalog.Entry // by principal
	version  atomic.Uint64
	asked    int
	draining bool
	failing  error
}

func newFake(entries ...catalog.Entry) *fake {
	return &fake{release: make(chan struct{}), entries: entries, private: map[string][]catalog.Entry{}}
}

// hosted is the skill that lists the others, where the host has one.
func hosted() catalog.Entry { return ownCatalogue() }

func entry(name string, schema string, change ...func(*catalog.Entry)) catalog.Entry {
	e := catalog.Entry{
		Definition: a2e.Definition{
			Name: name, Version: "1.0.0", Description: "What " + name + " does.", Status: a2e.StatusPublished, InputSchema: json.RawMessage(schema),
		},
		Shared: true,
	}
	for _, f := range change {
		f(&e)
	}
	return e
}

const (
	anything = `{}`
	oneText  = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`
	numbers  = `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}}}`
)

// usual is a fake with a skill of each kind.
func usual() *fake {
	return newFake(hosted(), entry("echo", anything), entry("events", numbers), entry("wait", numbers), entry("big", numbers), entry("fail", anything),
		entry("upper", oneText, func(e *catalog.Entry) { e.Definition.Triggers = []string{"shout it", "make it loud"} }), entry("flood", numbers),
		entry("summary", numbers), entry("nothing", numbers))
}

func (f *fake) Callable(_ context.Context, who a2e.Caller) ([]catalog.Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.failing != nil {
		return nil, f.failing
	}
	return append(slices.Clone(f.entries), f.private[who.Principal]...), nil
}

// Skill finds what is barred: it can be seen, and is not among the entries.
func (f *fake) Skill(_ context.Context, who a2e.Caller, slug string, _ int64) (*catalog.Detail, error) {
	if slug == "barred" && who.Agent == "" {
		return &catalog.Detail{Summary: catalog.Summary{Name: slug, Status: a2e.StatusPublished}}, nil
	}
	return nil, &catalog.Error{Code: catalog.SkillNotFound}
}

func (f *fake) Version() uint64 { return f.version.Load() }

func (f *fake) Discover(context.Context, a2e.Caller, *a2e.DiscoverRequest) ([]a2e.Definition, error) {
	return nil, errors.New("nobody discovers here")
}

// Call journals a call and runs it.
func (f *fake) Call(ctx context.Context, who a2e.Caller, req *a2e.CallRequest, w a2e.EventWriter) *a2e.CallResponse {
	f.running.Add(1)
	defer f.running.Add(-1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.mu.Lock()
	f.saw, f.who = append(f.saw, req), append(f.who, who)
	if f.draining {
		f.mu.Unlock()
		return a2e.Failure(req.ID, req.Name, a2e.Errorf(a2e.RuntimeError, "hotcell is shutting down").Because(a2e.ReasonDraining).Transient(), 0)
	}
	k := &kept{cancel: cancel, view: control.Call{
		ID: fmt.Sprintf("CALL%06d", len(f.calls)), ReqID: req.ID, Skill: req.Name, Principal: who.Principal, Agent: who.Agent, Door: who.Door,
		State: control.Running, Accepted: time.Now(), Started: time.Now(),
	}}
	f.calls = append(f.calls, k)
	f.mu.Unlock()
	say := func(kind string, data map[string]any) {
		f.mu.Lock()
		ev := a2e.Event{
			Header: a2e.Header{Type: a2e.TypeEvent, ID: a2e.NewID(), Version: a2e.Version, TS: a2e.Now()}, Kind: kind, ReqID: req.ID, Data: data, Seq: k.view.Events,
		}
		k.view.Events++
		k.events = append(k.events, ev)
		f.mu.Unlock()
		if w != nil {
			_ = w.WriteEvent(ctx, &ev)
		}
	}
	result, fail := f.run(ctx, req, say)
	answer := &a2e.CallResponse{ReqID: req.ID, Name: req.Name, Data: result}
	if fail != nil {
		answer = a2e.Failure(req.ID, req.Name, fail, time.Second)
	}
	answer.ID = k.view.ID
	f.mu.Lock()
	defer f.mu.Unlock()
	k.end(answer)
	return answer
}

func (k *kept) end(answer *a2e.CallResponse) {
	k.answer, k.view.Ended, k.view.State = answer, time.Now(), control.Succeeded
	if e := answer.Error; e != nil {
		k.view.State, k.view.Code, k.view.Reason = control.Failed, e.Code, e.Reason()
		if e.Reason() == a2e.ReasonCancelled {
			k.view.State = control.Canceled
		}
	}
}

func (f *fake) run(ctx context.Context, req *a2e.CallRequest, say func(string, map[string]any)) (*a2e.Result, *a2e.Error) {
	ok := func(data string) (*a2e.Result, *a2e.Error) {
		return &a2e.Result{Success: true, Data: json.RawMessage(data), DurationMS: 7}, nil
	}
	if ctx.Err() != nil {
		return nil, cancelled()
	}
	switch req.Name {
	case "events":
		say(a2e.KindProgress, map[string]any{"pct": 10, "message": "begun"})
		say(a2e.KindLog, map[string]any{"level": "info", "message": "a line"})
		for i, chunk := range []string{"Hello, ", "wor", "ld"} {
			say(a2e.KindArtifact, artifact("hello.txt", chunk, i == 2))
		}
		say(a2e.KindStatus, map[string]any{"message": "nearly there", "extra": json.RawMessage(`{"n":12345678901234567890}`)})
		return ok(`{"n":12345678901234567890}`)
	case "wait":
		say(a2e.KindProgress, map[string]any{"pct": 1, "message": "waiting"})
		say(a2e.KindArtifact, artifact("early.txt", "early", true))
		select {
		case <-f.release:
			say(a2e.KindProgress, map[string]any{"pct": 99, "message": "released"})
			return ok(`{"waited":true}`)
		case <-ctx.Done():
			return nil, cancelled()
		}
	case "big":
		piece := strings.Repeat("0123456789abcdef", 1<<12)
		for i := range 24 {
			say(a2e.KindArtifact, artifact("big.bin", piece, i == 23))
		}
		return ok(`{}`)
	case "flood":
		for i := range 3000 {
			say(a2e.KindLog, map[string]any{"level": "info", "message": fmt.Sprintf("line %d", i)})
		}
		return ok(`"done"`)
	case "fail":
		code, _ := req.Arguments["code"].(string)
		e := a2e.Errorf(a2e.Code(code), "it went wrong").Because("because")
		return nil, e.With("fact", 1)
	case "summary":
		return &a2e.Result{Success: true, Data: json.RawMessage(`["x"]`), Summary: "all is well", Truncated: true}, nil
	case "nothing":
		return &a2e.Result{Success: true}, nil
	case catalogue:
		return ok(`{"skills":[{"name":"echo"}]}`)
	}
	b, _ := json.Marshal(req.Arguments)
	return ok(string(b))
}

func cancelled() *a2e.Error {
	return a2e.Errorf(a2e.RuntimeError, "cancelled by the caller").Because(a2e.ReasonCancelled)
}

func artifact(name, content string, final bool) map[string]any {
	return map[string]any{"name": name, "mime": mediaText, "chunk": base64.StdEncoding.EncodeToString([]byte(content)), "final": final}
}

// restart closes what is in flight, as a supervisor does at boot.
func (f *fake) restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.calls {
		if k.answer == nil {
			k.end(a2e.Failure(k.view.ReqID, k.view.Skill, a2e.Errorf(a2e.SandboxCrash, "hotcell was restarted").Because(a2e.ReasonSupervisorRestart), 0))
		}
	}
}

// seen returns the requests that came, and who made them.
func (f *fake) seen() ([]*a2e.CallRequest, []a2e.Caller) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.saw), slices.Clone(f.who)
}

// ofWhom is the control over one principal's calls, or over all.
type ofWhom struct {
	f     *fake
	whose control.Whose
}

func (f *fake) Of(principal string) control.Control { return ofWhom{f, control.Only(principal)} }

func (f *fake) List(ctx context.Context, limit int) ([]control.Call, error) {
	return ofWhom{f, control.Whose{}}.List(ctx, limit)
}
func (f *fake) Show(ctx context.Context, id string) (control.Call, *a2e.CallResponse, error) {
	return ofWhom{f, control.Whose{}}.Show(ctx, id)
}
func (f *fake) Events(ctx context.Context, id string, from int) ([]a2e.Event, error) {
	return ofWhom{f, control.Whose{}}.Events(ctx, id, from)
}
func (f *fake) Cancel(ctx context.Context, id string) error {
	return ofWhom{f, control.Whose{}}.Cancel(ctx, id)
}

// List finds no calls of nobody, as the journal doesn't.
func (o ofWhom) List(context.Context, int) ([]control.Call, error) {
	o.f.mu.Lock()
	defer o.f.mu.Unlock()
	var out []control.Call
	for _, k := range slices.Backward(o.f.calls) {
		if p, only := o.whose.One(); !only || p != "" && p == k.view.Principal {
			out = append(out, k.view)
		}
	}
	return out, nil
}

func (o ofWhom) find(id string) *kept {
	for _, k := range slices.Backward(o.f.calls) {
		if o.whose.Has(k.view.Principal) && (k.view.ID == id || k.view.ReqID == id) {
			return k
		}
	}
	return nil
}

func (o ofWhom) Show(_ context.Context, id string) (control.Call, *a2e.CallResponse, error) {
	o.f.mu.Lock()
	defer o.f.mu.Unlock()
	if k := o.find(id); k != nil {
		return k.view, k.answer, nil
	}
	return control.Call{}, nil, control.ErrNotFound
}

// Events come in pages.
func (o ofWhom) Events(_ context.Context, id string, from int) ([]a2e.Event, error) {
	o.f.mu.Lock()
	defer o.f.mu.Unlock()
	k := o.find(id)
	if k == nil {
		return nil, control.ErrNotFound
	}
	var out []a2e.Event
	for _, ev := range k.events {
		if ev.Seq >= from && len(out) < 500 {
			out = append(out, ev)
		}
	}
	return out, nil
}

func (o ofWhom) Cancel(_ context.Context, id string) error {
	o.f.mu.Lock()
	defer o.f.mu.Unlock()
	k := o.find(id)
	switch {
	case k == nil:
		return control.ErrNotFound
	case k.answer != nil:
		return control.ErrEnded
	}
	k.cancel()
	return nil
}
