package executor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
)

func TestACallThatGoesWell(t *testing.T) {
	b := setUp(t, well, nil)
	r := req("Free") // names are found whatever their case, and echoed as asked
	r.ID = "r1"
	answer, events := b.ask(t.Context(), r)
	if answer.Error != nil {
		t.Fatal(answer.Error)
	}
	if answer.ReqID != "r1" || answer.Name != "Free" || answer.Type != a2e.TypeCallResponse || answer.ID == "" {
		t.Errorf("answer = %+v", answer)
	}
	got, err := json.Marshal(answer.Data.Data)
	if err != nil || string(got) != `{"n":1}` || answer.Data.Summary != "fine" || !answer.Data.Success {
		t.Errorf("data = %s, %+v", got, answer.Data)
	}
	if len(events) != 2 || events[0].Seq != 0 || events[1].Seq != 1 || events[0].ReqID != "r1" {
		t.Errorf("events = %+v", events)
	}
	if len(answer.Data.Events) != 2 {
		t.Errorf("%d events are embedded, want 2", len(answer.Data.Events))
	}
	call, stored, err := b.Show(t.Context(), answer.ID)
	if err != nil || call.State != control.Succeeded || stored == nil || stored.ID != answer.ID || call.Skill != "free" || call.Events != 2 {
		t.Errorf("show: %+v, %v", call, err)
	}
	if byReq, _, err := b.Show(t.Context(), "r1"); err != nil || byReq.ID != answer.ID {
		t.Errorf("by request id: %+v, %v", byReq, err)
	}
	if kept, err := b.Events(t.Context(), answer.ID, 1); err != nil || len(kept) != 1 || kept[0].Seq != 1 {
		t.Errorf("events from 1: %+v, %v", kept, err)
	}
}

func TestRefusalsBeforeACell(t *testing.T) {
	gone := &images.UnavailableError{Ref: "img", Why: "not present", Retryable: true}
	tests := []struct {
		name   string
		req    *a2e.CallRequest
		adjust func(*Config)
		faults fake.Faults
		want   string
		says   string
		retry  bool
	}{
		{name: "unknown", req: req("fere"), want: "unknown_skill/", says: `did you mean "free"`},
		{name: "archived", req: req("gone"), want: "unknown_skill/"},
		{name: "blocked", req: req("locked"), want: "runtime_error/blocked", says: "status: Blocked"},
		{name: "missing argument", req: req("echo-text"), want: "schema_violation/", says: "text"},
		{name: "too large", req: &a2e.CallRequest{Name: "free", Arguments: map[string]any{"x": strings.Repeat("x", 9<<20)}}, want: "schema_violation/", says: "hand large data in as a file"},
		{name: "timeout of 0", req: timed("free", 0), want: "schema_violation/", says: "timeout"},
		{name: "override", req: &a2e.CallRequest{Name: "free", LLMOverride: &a2e.LLMConfig{ProviderName: "x"}}, want: "unauthorized/"},
		{name: "image", req: req("free"), adjust: func(c *Config) { c.Images = store{gone} }, want: "runtime_error/image_unavailable", says: "not present", retry: true},
		{name: "image by policy", req: req("free"), adjust: func(c *Config) { c.AllowImage = func(string) error { return errors.New("no such registry") } }, want: "runtime_error/image_unavailable"},
		{name: "no default image", req: req("free"), adjust: func(c *Config) { c.DefaultImages = nil }, want: "runtime_error/image_unavailable", says: "images.defaults"},
		{name: "no engine", req: req("free"), faults: fake.Faults{Capabilities: fmt.Errorf("dial: %w", sandbox.ErrUnavailable)}, want: "sandbox_crash/engine_unavailable", retry: true},
		{name: "memory for nobody", req: req("free"), adjust: func(c *Config) { c.MaxMemory = 1 << 20 }, want: "runtime_error/unsupported", says: "memory"},
		{name: "unsupported", req: req("free"), faults: fake.Faults{Create: func(*sandbox.Spec) error { return fmt.Errorf("swap: %w", sandbox.ErrUnsupported) }}, want: "runtime_error/unsupported", says: "swap"},
		{name: "engine lost at create", req: req("free"), faults: fake.Faults{Create: func(*sandbox.Spec) error { return fmt.Errorf("dial: %w", sandbox.ErrUnavailable) }}, want: "sandbox_crash/engine_unavailable", retry: true},
		{name: "no node takes it", req: req("free"), faults: fake.Faults{Create: func(*sandbox.Spec) error {
			return fmt.Errorf("create: %w", &sandbox.LostError{Loss: sandbox.LossUnschedulable, Message: "no node"})
		}}, want: "sandbox_crash/unschedulable", says: "no node", retry: true},
		{name: "the namespace is full", req: req("free"), faults: fake.Faults{Create: func(*sandbox.Spec) error { return &sandbox.LostError{Loss: sandbox.LossQuota, Message: "full"} }}, want: "sandbox_crash/cluster_quota", says: "full", retry: true},
		{name: "deleted before it started", req: req("free"), faults: fake.Faults{Start: func(*sandbox.Spec) error {
			return fmt.Errorf("start: %w", &sandbox.LostError{Loss: sandbox.LossDeleted, Message: "gone"})
		}}, want: "sandbox_crash/cell_deleted", says: "gone", retry: true},
		{name: "not executable", req: req("free"), faults: fake.Faults{Start: func(*sandbox.Spec) error { return &sandbox.StartError{ExitCode: 126, Message: "permission denied"} }}, want: "sandbox_crash/start_failed", says: "permission denied"},
		{name: "oom at start", req: req("free"), faults: fake.Faults{Start: func(*sandbox.Spec) error { return &sandbox.StartError{OOM: true} }}, want: "out_of_memory/", retry: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setUp(t, well, tt.adjust)
			b.driver.SetFaults(tt.faults)
			answer, events := b.ask(t.Context(), tt.req)
			if got := verdict(answer); got != tt.want || answer.Error.Retryable != tt.retry {
				t.Errorf("got %s, %+v; want %s, retryable %v", got, answer.Error, tt.want, tt.retry)
			}
			if answer.Error != nil && !strings.Contains(answer.Error.Message, tt.says) {
				t.Errorf("message %q does not say %q", answer.Error.Message, tt.says)
			}
			if answer.Data == nil || answer.Data.Success || answer.Data.Error == nil || len(events) != 0 {
				t.Errorf("data %+v, %d events", answer.Data, len(events))
			}
		})
	}
}

// What the cell gets is the request with the skill's defaults, the time that is left, and nothing else added.
func TestTheRequestInTheCell(t *testing.T) {
	var seen map[string]any
	b := setUp(t, func(ctx context.Context, req map[string]any, in *bufio.Reader, say func(string, ...any)) int {
		seen = req
		return well(ctx, req, in, say)
	}, nil)
	r := timed("echo-text", 30)
	r.Arguments = map[string]any{"text": "hi"}
	r.CorrelationID = "c1"
	if answer, _ := b.ask(t.Context(), r); answer.Error != nil {
		t.Fatal(answer.Error)
	}
	if d := cmp.Diff(map[string]any{"text": "hi", "n": float64(7)}, seen["arguments"]); d != "" {
		t.Errorf("arguments (-want +got):\n%s", d)
	}
	if left := seen["timeout"].(float64); left < 28 || left > 30 {
		t.Errorf("timeout = %v, want what is left of 30", left)
	}
	if seen["type"] != a2e.TypeCallRequest || seen["correlation_id"] != "c1" || seen["llm_override"] != nil {
		t.Errorf("request = %v", seen)
	}
}

func TestEndsOfACell(t *testing.T) {
	tests := []struct {
		name   string
		life   life
		faults fake.Faults
		req    *a2e.CallRequest
		want   string
		took   time.Duration // at most
	}{
		{name: "deadline", life: hang, req: timed("free", 2), want: "timeout/", took: 2 * time.Second},
		{name: "deadline though the kill blocks", life: hang, req: timed("free", 2), faults: fake.Faults{DestroyFails: 3}, want: "timeout/", took: 2 * time.Second},
		{name: "a result, and no exit", life: func(ctx context.Context, _ map[string]any, _ *bufio.Reader, say func(string, ...any)) int {
			say(`{"type":"skill/result","success":true,"data":1}`)
			<-ctx.Done()
			return 137
		}, want: "ok", took: resultGrace},
		{name: "output does not match", life: func(_ context.Context, _ map[string]any, _ *bufio.Reader, say func(string, ...any)) int {
			say(`{"type":"skill/result","success":true,"data":{"n":1}}`)
			say(`{"type":"cell/exit","exit_code":0,"oom_kills":0}`)
			return 0
		}, req: req("strict"), want: "skill_error/output_schema"},
		{name: "killed from outside", life: func(context.Context, map[string]any, *bufio.Reader, func(string, ...any)) int { return 137 }, want: "sandbox_crash/signal"},
		{name: "oom by the engine's word", life: func(context.Context, map[string]any, *bufio.Reader, func(string, ...any)) int { return 137 },
			faults: fake.Faults{OOMKilled: true}, want: "out_of_memory/"},
		{name: "oom by the engine's word, which takes its time", life: func(context.Context, map[string]any, *bufio.Reader, func(string, ...any)) int { return 137 },
			faults: fake.Faults{OOMKilled: true, Settles: 4 * time.Second}, want: "out_of_memory/"},
		{name: "oom by the runner's count", life: func(_ context.Context, _ map[string]any, _ *bufio.Reader, say func(string, ...any)) int {
			say(`{"type":"cell/exit","exit_code":0,"signal":9,"oom_kills":1}`)
			return 0
		}, want: "out_of_memory/"},
		{name: "engine gone", life: func(context.Context, map[string]any, *bufio.Reader, func(string, ...any)) int { return 137 },
			faults: fake.Faults{EngineGone: true}, want: "sandbox_crash/engine_unavailable"},
		{name: "cut stream", life: func(ctx context.Context, _ map[string]any, _ *bufio.Reader, say func(string, ...any)) int {
			say(`{"type":"skill/event","kind":"log","data":{"message":"%s"}}`, strings.Repeat("x", 1000))
			return 0
		}, faults: fake.Faults{CutStdout: 500}, want: "sandbox_crash/truncated"},
		{name: "no exit line", life: func(context.Context, map[string]any, *bufio.Reader, func(string, ...any)) int { return 0 }, want: "sandbox_crash/truncated"},
		{name: "flood", life: func(ctx context.Context, _ map[string]any, _ *bufio.Reader, say func(string, ...any)) int {
			for ctx.Err() == nil {
				say("%s", strings.Repeat("x", 100_000))
			}
			return 137
		}, want: "skill_error/output_limit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := setUp(t, tt.life, nil)
				b.driver.SetFaults(tt.faults)
				if tt.req == nil {
					tt.req = req("free")
				}
				began := time.Now()
				answer, _ := b.ask(t.Context(), tt.req)
				if got := verdict(answer); got != tt.want {
					t.Errorf("got %s: %+v, want %s", got, answer.Error, tt.want)
				}
				if took := time.Since(began); took > tt.took && tt.took > 0 {
					t.Errorf("took %v, want at most %v", took, tt.took)
				}
			})
		})
	}
}

// An engine that is stopped kills its cells first and says so: that is the engine's end, not the skill's.
func TestACellThatAStoppingEngineKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *bench
		b = setUp(t, func(context.Context, map[string]any, *bufio.Reader, func(string, ...any)) int {
			b.driver.SetFaults(fake.Faults{Capabilities: sandbox.ErrUnavailable})
			return 137
		}, nil)
		answer, _ := b.ask(t.Context(), req("free"))
		if got := verdict(answer); got != "sandbox_crash/engine_unavailable" {
			t.Errorf("got %s: %+v", got, answer.Error)
		}
	})
}

// A start that hangs is a time-out by the deadline, and what comes up later is destroyed.
func TestAStartThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, well, nil)
		b.driver.SetFaults(fake.Faults{Start: func(*sandbox.Spec) error {
			time.Sleep(3 * time.Second)
			return context.DeadlineExceeded
		}, StartsAnyhow: true})
		answer, _ := b.ask(t.Context(), timed("free", 2))
		if got := verdict(answer); got != "timeout/" {
			t.Errorf("got %s: %+v", got, answer.Error)
		}
	})
}

func TestCancel(t *testing.T) {
	for _, how := range []string{"the caller", "an operator"} {
		t.Run(how, func(t *testing.T) {
			b := setUp(t, func(ctx context.Context, req map[string]any, in *bufio.Reader, say func(string, ...any)) int {
				say("up")
				return hang(ctx, req, in, say)
			}, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := req("free")
			r.ID = "r1"
			answer := b.Call(ctx, a2e.Caller{}, r, a2e.EventWriterFunc(func(ctx context.Context, _ *a2e.Event) error {
				if how == "the caller" {
					cancel()
					return nil
				}
				return b.Cancel(ctx, "r1")
			}))
			if got := verdict(answer); got != "runtime_error/cancelled" || answer.Error.Message != "cancelled by "+how {
				t.Errorf("got %s, %q", got, answer.Error.Message)
			}
			call, _, err := b.Show(t.Context(), answer.ID)
			if err != nil || call.State != control.Canceled {
				t.Errorf("state %s, %v", call.State, err)
			}
			if err := b.Cancel(t.Context(), answer.ID); !errors.Is(err, control.ErrEnded) {
				t.Errorf("cancelling again: %v", err)
			}
			if err := b.Cancel(t.Context(), "nobody"); !errors.Is(err, control.ErrNotFound) {
				t.Errorf("cancelling nobody: %v", err)
			}
		})
	}
}

func TestTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, hang, func(c *Config) { c.MaxCells, c.MaxQueue, c.QueueTimeout = 1, 1, 2*time.Second })
		var wg sync.WaitGroup
		got := make([]string, 3)
		for i := range got {
			wg.Go(func() {
				answer, _ := b.ask(t.Context(), timed("free", 4))
				got[i] = verdict(answer)
			})
			synctest.Wait()
		}
		wg.Wait()
		want := []string{"timeout/", "runtime_error/queue_timeout", "runtime_error/queue_full"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if b.watch.deepest != 1 {
			t.Errorf("the queue was %d deep, want 1", b.watch.deepest)
		}
	})
}

// A cell that will not die keeps its share, and gives it back when it is gone at last.
func TestAPoisonedCellKeepsItsReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, well, nil)
		b.driver.SetFaults(fake.Faults{DestroyFails: 4})
		if answer, _ := b.ask(t.Context(), req("free")); answer.Error != nil {
			t.Fatal(answer.Error)
		}
		synctest.Wait()
		if cells, _ := b.gate.queue.Held(); cells != 1 {
			t.Errorf("%d cells are reserved, want the poisoned one", cells)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if cells, _ := b.gate.queue.Held(); cells != 0 {
			t.Errorf("%d cells are reserved, want none", cells)
		}
	})
}

func TestTheSameRequestRunsOnce(t *testing.T) {
	b := setUp(t, well, nil)
	r := req("free")
	r.ID = "r1"
	var wg sync.WaitGroup
	answers := make([]*a2e.CallResponse, 5)
	for i := range answers {
		wg.Go(func() { answers[i], _ = b.ask(t.Context(), r) })
	}
	wg.Wait()
	for _, a := range answers {
		if a.ID != answers[0].ID || a.Error != nil {
			t.Errorf("answers differ: %+v", a)
		}
	}
	if made := b.driver.Stats().Created; made != 1 {
		t.Errorf("%d cells were made, want 1", made)
	}
	other := timed("free", 9)
	other.ID = "r1"
	if answer, _ := b.ask(t.Context(), other); verdict(answer) != "invalid_message/duplicate_id" {
		t.Errorf("another body: %s", verdict(answer))
	}
	else1 := b.Call(t.Context(), a2e.Caller{Principal: "p"}, r, nil)
	if else1.ID == answers[0].ID {
		t.Error("another principal got somebody else's answer")
	}
}

// An answer that says nothing about the request itself does not stand in the way of the next try.
func TestACancelledRequestMayComeAgain(t *testing.T) {
	first := true
	b := setUp(t, func(ctx context.Context, req map[string]any, in *bufio.Reader, say func(string, ...any)) int {
		if first {
			first = false
			say("up")
			return hang(ctx, req, in, say)
		}
		return well(ctx, req, in, say)
	}, nil)
	r := req("free")
	r.ID = "r1"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var second *a2e.CallResponse
	var wg sync.WaitGroup
	answer := b.Call(ctx, a2e.Caller{}, r, a2e.EventWriterFunc(func(context.Context, *a2e.Event) error {
		wg.Go(func() { second, _ = b.ask(t.Context(), r) }) // while the first is in flight
		cancel()
		return nil
	}))
	wg.Wait()
	if verdict(answer) != "runtime_error/cancelled" || verdict(second) != "ok" {
		t.Errorf("first %s, second %s", verdict(answer), verdict(second))
	}
}

// A cancel is heard while the engine is asked what it is, and many who ask wait for one answer.
func TestAnEngineThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, well, nil)
		b.Supervisor.cfg.Driver = slowDriver{b.driver}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if answer, _ := b.ask(ctx, req("free")); verdict(answer) != "runtime_error/cancelled" {
					t.Errorf("got %s", verdict(answer))
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %v", took)
		}
		if answer, _ := b.ask(t.Context(), req("free")); verdict(answer) != "ok" {
			t.Errorf("once it answers: %s", verdict(answer))
		}
	})
}

type slowDriver struct{ *fake.Driver }

func (d slowDriver) Capabilities(ctx context.Context) (sandbox.Capabilities, error) {
	time.Sleep(8 * time.Second)
	return d.Driver.Capabilities(ctx)
}

// The log names what there is to say of an end, and nothing else.
func TestTheLogOfAnEnd(t *testing.T) {
	var log bytes.Buffer // written by one handler, read at the end
	b := setUp(t, well, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	b.ask(t.Context(), req("fere"))
	b.settle(t)
	text := log.String()
	if !strings.Contains(text, `code=unknown_skill error="unknown skill`) || strings.Contains(text, "reason=") || strings.Contains(text, "cause=") {
		t.Error(text)
	}
}

// A runtime that the engine lacks is named, with those that it has.
func TestARuntimeThatIsNotThere(t *testing.T) {
	b := setUp(t, well, func(c *Config) { c.Policy.Runtime = "runsk" })
	b.Supervisor.cfg.Driver = refusing{b.driver}
	answer, _ := b.ask(t.Context(), req("free"))
	if verdict(answer) != "runtime_error/unsupported" || !strings.HasSuffix(answer.Error.Message, `sandbox.runtime is "runsk", expected one of fake`) {
		t.Errorf("%s: %v", verdict(answer), answer.Error)
	}
}

type refusing struct{ *fake.Driver }

func (refusing) Create(context.Context, *sandbox.Spec) (sandbox.Sandbox, error) {
	return nil, fmt.Errorf("unknown runtime: %w", sandbox.ErrUnsupported)
}

// A cell that speaks the wall itself waits to be told that it may go, and is told at once.
func TestAFramesCellIsToldToGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, func(_ context.Context, _ map[string]any, in *bufio.Reader, say func(string, ...any)) int {
			say(`{"type":"skill/result","success":true,"data":1}`)
			if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "cell/done") {
				t.Errorf("told %q, %v", line, err)
			}
			return 0
		}, nil)
		began := time.Now()
		if answer, _ := b.ask(t.Context(), req("framed")); answer.Error != nil || time.Since(began) > 0 {
			t.Errorf("%+v after %v", answer.Error, time.Since(began))
		}
	})
}

// A runner that cannot count OOM kills waits with its exit until it is told to go, and the engine knows the end only then.
func TestARunnerThatCannotTellIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, func(_ context.Context, _ map[string]any, in *bufio.Reader, say func(string, ...any)) int {
			say(`{"type":"cell/exit","exit_code":3,"oom_kills":-1}`)
			if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "cell/done") {
				t.Errorf("told %q, %v", line, err)
			}
			return 0
		}, nil)
		began := time.Now()
		if answer, _ := b.ask(t.Context(), req("free")); verdict(answer) != "skill_error/exit" || time.Since(began) > 0 {
			t.Errorf("%s after %v", verdict(answer), time.Since(began))
		}
	})
}

// Artifacts that take longer than the grace after a result are waited for while they come.
func TestSlowArtifactsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, func(_ context.Context, _ map[string]any, _ *bufio.Reader, say func(string, ...any)) int {
			say(`{"type":"skill/result","success":true,"data":1}`)
			for i := range 6 {
				time.Sleep(2 * time.Second)
				say(`{"type":"skill/event","kind":"artifact","data":{"name":"a","chunk":"aGk=","final":%v}}`, i == 5)
			}
			say(`{"type":"cell/exit","exit_code":0,"oom_kills":0}`)
			return 0
		}, nil)
		answer, events := b.ask(t.Context(), req("patient"))
		if answer.Error != nil || len(events) != 6 {
			t.Errorf("%+v, %d events", answer.Error, len(events))
		}
	})
}

// A fault of hotcell's own costs one call, not the supervisor, and gives back what the call held.
func TestAPanicCostsOneCall(t *testing.T) {
	b := setUp(t, well, func(c *Config) { c.Images = panicking{} })
	if answer, _ := b.ask(t.Context(), req("free")); verdict(answer) != "runtime_error/internal" {
		t.Errorf("got %s", verdict(answer))
	}
}

type panicking struct{}

func (panicking) Resolve(context.Context, string, images.PullPolicy) (images.Image, error) {
	panic("boom")
}

func TestTheReplayWindowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, well, nil)
		r := req("free")
		r.ID = "r1"
		first, _ := b.ask(t.Context(), r)
		time.Sleep(Replay - time.Second)
		if again, _ := b.ask(t.Context(), r); again.ID != first.ID {
			t.Error("within the window the call ran again")
		}
		time.Sleep(2 * time.Second)
		if later, _ := b.ask(t.Context(), r); later.ID == first.ID {
			t.Error("after the window the old answer came")
		}
	})
}

// A request that is sent again while its call runs waits for that one, however long it has been running.
func TestTheReplayWindowOfACallThatRuns(t *testing.T) {
	r, now := newRegistry(), time.Now()
	made := func(digest string) *call {
		return &call{id: digest, key: key{reqID: "r1"}, digest: func() string { return digest }, accepted: now, done: make(chan struct{}), cancel: func(error) {}}
	}
	first := made("a")
	if old, fail := r.add(first, now); old != nil || fail != nil {
		t.Fatal(old, fail)
	}
	later := now.Add(2 * Replay)
	if old, fail := r.add(made("a"), later); old != first || fail != nil {
		t.Errorf("sent again: %v, %v", old, fail)
	}
	if _, fail := r.add(made("b"), later); fail == nil {
		t.Error("another body was taken")
	}
	first.update(func(v *control.Call) { v.Ended = later })
	first.end(nil, false)
	r.ended(first, later)
	if old, fail := r.add(made("a"), later.Add(Replay-1)); old != first || fail != nil {
		t.Errorf("soon after its end: %v, %v", old, fail)
	}
	if old, fail := r.add(made("a"), later.Add(Replay)); old != nil || fail != nil {
		t.Errorf("long after its end: %v, %v", old, fail)
	}
}

func TestWithoutStreaming(t *testing.T) {
	b := setUp(t, well, nil)
	r := req("free")
	no := false
	r.Streaming = &no
	answer, events := b.ask(t.Context(), r)
	if len(events) != 0 || len(answer.Data.Events) != 2 {
		t.Errorf("%d events were sent and %d embedded, want 0 and 2", len(events), len(answer.Data.Events))
	}
}

// A listener that reads slowly delays its own answer; the cell is long gone by then.
func TestASlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, well, nil)
		events := 0
		began := time.Now()
		answer := b.Call(t.Context(), a2e.Caller{}, req("free"), a2e.EventWriterFunc(func(context.Context, *a2e.Event) error {
			time.Sleep(20 * time.Second)
			events++
			if live := b.driver.Stats().Live; live != 0 {
				t.Errorf("%d cells wait for a slow listener", live)
			}
			return nil
		}))
		if answer.Error != nil || events != 2 || time.Since(began) != 40*time.Second {
			t.Errorf("%+v, %d events, %v", answer.Error, events, time.Since(began))
		}
	})
}

// A listener that takes nothing has no part in the verdict: it stands at once, and the answer comes without the events.
func TestADeadListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, well, nil)
		free := make(chan struct{})
		began := time.Now()
		answer := b.Call(t.Context(), a2e.Caller{}, req("free"), a2e.EventWriterFunc(func(context.Context, *a2e.Event) error {
			<-free
			return nil
		}))
		if answer.Error != nil || len(answer.Data.Events) != 2 || time.Since(began) != time.Minute+lastEvent {
			t.Errorf("%+v, %d events, %v", answer.Error, len(answer.Data.Events), time.Since(began))
		}
		call, _, err := b.Show(t.Context(), answer.ID)
		if err != nil || call.Ended.Sub(began) > time.Second {
			t.Errorf("ended %v after its start: %v", call.Ended.Sub(began), err)
		}
		close(free)
	})
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, hang, nil)
		var wg sync.WaitGroup
		var running string
		wg.Go(func() {
			answer, _ := b.ask(t.Context(), timed("free", 5))
			running = verdict(answer)
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wg.Go(func() {
			if err := b.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("drain: %v, want the deadline", err)
			}
		})
		synctest.Wait()
		if answer, _ := b.ask(t.Context(), req("free")); verdict(answer) != "runtime_error/draining" || !answer.Error.Retryable {
			t.Errorf("a new call: %s", verdict(answer))
		}
		wg.Wait()
		if running != "runtime_error/cancelled" {
			t.Errorf("the running call: %s", running)
		}
	})
}

func TestNothingGrowsWithTheNumberOfCalls(t *testing.T) {
	r := newRegistry()
	now := time.Now()
	for i := range mostCalls + 2000 {
		id := fmt.Sprint(i)
		c := &call{id: id, key: key{reqID: id}, req: &a2e.CallRequest{}, accepted: now, view: control.Call{Ended: now}, done: make(chan struct{}), cancel: func(error) {}}
		if earlier, err := r.add(c, now); earlier != nil || err != nil {
			t.Fatal(earlier, err)
		}
		c.update(func(v *control.Call) { v.Ended = now })
		c.end([]byte("{}"), false)
		r.ended(c, now)
		now = now.Add(time.Millisecond)
	}
	if n := r.order.Len(); n != mostCalls || len(r.byID) != n || len(r.byKey) != n || len(r.byReq) != n {
		t.Errorf("%d calls are kept, want %d", n, mostCalls)
	}
	now = now.Add(time.Hour)
	c := &call{id: "last", key: key{reqID: "last"}, req: &a2e.CallRequest{}, accepted: now, view: control.Call{Ended: now}, done: make(chan struct{}), cancel: func(error) {}}
	if _, err := r.add(c, now); err != nil {
		t.Fatal(err)
	}
	c.update(func(v *control.Call) { v.Ended = now })
	c.end([]byte("{}"), false)
	r.ended(c, now)
	if n := r.order.Len(); n != keepCalls || r.inFlight() != 0 {
		t.Errorf("an hour later %d calls are kept and %d in flight, want %d and none", n, r.inFlight(), keepCalls)
	}
}

func TestDiscover(t *testing.T) {
	b := setUp(t, well, nil)
	for _, tt := range []struct {
		tags, categories []string
		want             string
	}{
		{nil, nil, "agentic echo-text framed free keyed patient strict"},
		{[]string{"a", "zz"}, nil, "free"},
		{nil, []string{"c"}, "free"},
		{[]string{"a"}, []string{"zz"}, ""},
	} {
		defs, err := b.Discover(t.Context(), a2e.Caller{}, &a2e.DiscoverRequest{FilterTags: tt.tags, FilterCategories: tt.categories})
		var names []string
		for _, d := range defs {
			names = append(names, d.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != tt.want {
			t.Errorf("tags %v, categories %v: %s, %v; want %s", tt.tags, tt.categories, got, err, tt.want)
		}
	}
}
