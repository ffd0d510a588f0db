package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/policies"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeSupervisor answers calls with a script.
type fakeSupervisor struct {
	run    func(ctx context.Context, req *a2e.CallRequest, inputs fs.FS, w a2e.EventWriter) *a2e.CallResponse
	killed atomic.Bool
	drains atomic.Int32
	sweeps atomic.Int32
	trims  atomic.Int32
	tended atomic.Int32 // tendings that have ended

	mu   sync.Mutex
	last *a2e.CallRequest
}

func (f *fakeSupervisor) Discover(context.Context, a2e.Caller, *a2e.DiscoverRequest) ([]a2e.Definition, error) {
	return nil, nil
}

func (f *fakeSupervisor) Call(ctx context.Context, who a2e.Caller, req *a2e.CallRequest, w a2e.EventWriter) *a2e.CallResponse {
	return f.Run(ctx, who, req, nil, w)
}

func (f *fakeSupervisor) Run(ctx context.Context, _ a2e.Caller, req *a2e.CallRequest, inputs fs.FS, w a2e.EventWriter) *a2e.CallResponse {
	f.mu.Lock()
	f.last = req
	f.mu.Unlock()
	return f.run(ctx, req, inputs, w)
}

func (f *fakeSupervisor) Drain(ctx context.Context) error {
	f.drains.Add(1)
	if ctx.Err() != nil {
		f.killed.Store(true)
	}
	return ctx.Err()
}

func (f *fakeSupervisor) Sweep(context.Context) error { f.sweeps.Add(1); return nil }
func (f *fakeSupervisor) Trim(context.Context) error  { f.trims.Add(1); return nil }
func (f *fakeSupervisor) Tend(ctx context.Context)    { <-ctx.Done(); f.tended.Add(1) }

func (f *fakeSupervisor) List(context.Context, int) ([]control.Call, error) { return nil, nil }
func (f *fakeSupervisor) Show(context.Context, string) (control.Call, *a2e.CallResponse, error) {
	return control.Call{}, nil, control.ErrNotFound
}
func (f *fakeSupervisor) Events(context.Context, string, int) ([]a2e.Event, error) { return nil, nil }
func (f *fakeSupervisor) Cancel(context.Context, string) error                     { return nil }
func (f *fakeSupervisor) Of(string) control.Control                                { return f }

// fakeCatalog is a list of skills that are found by their exact names.
type fakeCatalog []*skills.Skill

func (f fakeCatalog) List() []*skills.Skill { return f }

func (f fakeCatalog) Find(name string) (*skills.Skill, string) {
	for _, s := range f {
		if s.Name == name {
			return s, ""
		}
	}
	return nil, ""
}

// bench is an app for tests, and what it wrote.
type bench struct {
	app          *app
	super        *fakeSupervisor
	out, err     bytes.Buffer
	env          map[string]string
	signals      chan chan<- os.Signal // gets the channel of each notify
	closed       atomic.Bool
	probe        func(context.Context) error
	check        func(context.Context) error
	journalled   func() error
	auth         auth.Authenticator
	reader       catalog.Reader
	agents       catalog.Agents
	schemaOfOne  string
	timeoutOfOne time.Duration
	testdata     string // absolute
}

func newBench(t testing.TB, run func(ctx context.Context, req *a2e.CallRequest, inputs fs.FS, w a2e.EventWriter) *a2e.CallResponse) *bench {
	t.Helper()
	b := &bench{super: &fakeSupervisor{run: run}, env: map[string]string{}, signals: make(chan chan<- os.Signal, 1)}
	b.probe = func(context.Context) error { return nil }
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	b.testdata = filepath.Join(home, "testdata")
	t.Chdir(t.TempDir()) // no configuration of the machine's
	b.env["HOME"] = t.TempDir()
	b.app = &app{
		getenv: func(k string) string { return b.env[k] },
		stdin:  strings.NewReader(""), stdout: &b.out, stderr: &b.err,
		notify: func(c chan<- os.Signal) func() {
			select {
			case b.signals <- c:
			default:
			}
			return func() {}
		},
		open: func(context.Context, *config.Config, *slog.Logger) (*system, error) {
			return &system{
				skills: fakeCatalog{{
					Name: "probe", Version: "1.0.0", Status: skills.Published, InputSchema: json.RawMessage(b.schemaOfOne),
					Policy: policies.Policy{Timeout: b.timeoutOfOne},
				}},
				catalog:    b.reader,
				agents:     b.agents,
				supervisor: b.super,
				probe:      func(ctx context.Context) error { return b.probe(ctx) },
				check:      b.check,
				journalled: b.journalled,
				auth:       b.auth,
				close:      func() error { b.closed.Store(true); return nil },
			}, nil
		},
	}
	return b
}

// golden is the path of a golden file, wherever the test has gone to.
func (b *bench) golden(name string) string { return filepath.Join(b.testdata, name) }

func (b *bench) run(args ...string) int { return b.app.run(context.Background(), args) }

// succeed answers with data and a summary, after the events.
func succeed(data any, summary string, events ...a2e.Event) func(context.Context, *a2e.CallRequest, fs.FS, a2e.EventWriter) *a2e.CallResponse {
	return func(ctx context.Context, req *a2e.CallRequest, _ fs.FS, w a2e.EventWriter) *a2e.CallResponse {
		emit(ctx, req, w, events)
		resp := &a2e.CallResponse{
			Header: a2e.Header{Type: a2e.TypeCallResponse, ID: "c1", Version: a2e.Version, TS: 2}, ReqID: req.ID, Name: req.Name,
			Data: &a2e.Result{Success: true, Data: data, DurationMS: 1240}, CreatedAt: 2,
		}
		if summary != "" {
			resp.Data.Summary = summary
		}
		return resp
	}
}

// fail answers with an error, after the events.
func fail(e *a2e.Error, events ...a2e.Event) func(context.Context, *a2e.CallRequest, fs.FS, a2e.EventWriter) *a2e.CallResponse {
	return func(ctx context.Context, req *a2e.CallRequest, _ fs.FS, w a2e.EventWriter) *a2e.CallResponse {
		emit(ctx, req, w, events)
		return a2e.Failure(req.ID, req.Name, e, 300*time.Millisecond)
	}
}

func emit(ctx context.Context, req *a2e.CallRequest, w a2e.EventWriter, events []a2e.Event) {
	for i, ev := range events {
		ev.Header = a2e.Header{Type: a2e.TypeEvent, ID: "e", Version: a2e.Version, TS: 1}
		ev.ReqID, ev.Seq = req.ID, i
		_ = w.WriteEvent(ctx, &ev)
	}
}

func event(kind string, pairs ...any) a2e.Event {
	data := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		data[pairs[i].(string)] = pairs[i+1]
	}
	return a2e.Event{Kind: kind, Data: data}
}
