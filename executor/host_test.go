package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/executor/admission"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/skills"
)

// guest is a plugin with skills that are functions.
type guest map[string]func(ctx context.Context, who a2e.Caller, ex a2e.Execution) (*a2e.Result, error)

func (g guest) ListSkills(_ context.Context, who a2e.Caller) ([]a2e.Definition, error) {
	five, long := 5, 60
	var defs []a2e.Definition
	for name := range g {
		def := a2e.Definition{Name: name, Description: "of this process", TimeoutSeconds: &five, Tags: []string{"here"}, InputSchema: json.RawMessage(
			`{"type":"object","properties":{"n":{"type":"integer","default":7},"text":{"type":"string"}}}`)}
		switch {
		case name == "private" && who.Principal != "alice":
			continue
		case name == "stuck":
			def.Status = a2e.StatusBlocked
		case name == "talks" || name == "long": // which takes a busy machine a while
			def.TimeoutSeconds = &long
		case name == "strict-out":
			def.OutputSchema = json.RawMessage(`{"type":"object","required":["m"]}`)
		}
		defs = append(defs, def)
	}
	return defs, nil
}

func (g guest) ExecuteSkill(ctx context.Context, who a2e.Caller, ex a2e.Execution) (*a2e.Result, error) {
	return g[ex.Name](ctx, who, ex)
}

func hosting(p ...a2e.Plugin) func(*Config) { return func(c *Config) { c.Plugins = p } }

func gives(data any) func(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) {
	return func(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) {
		return &a2e.Result{Success: true, Data: data, Summary: "fine"}, nil
	}
}

// A plugin's skill is a call like any other: listed, validated with defaults, journalled, and answered with numbered events.
func TestAHostedCall(t *testing.T) {
	var seen a2e.Execution
	p := guest{"greet_me": func(_ context.Context, _ a2e.Caller, ex a2e.Execution) (*a2e.Result, error) {
		seen = ex
		for _, say := range []error{
			ex.EmitEvent("progress", map[string]any{"pct": 250, "message": "half"}),
			ex.EmitEvent("artifact", map[string]any{"name": "a.txt", "chunk": []byte("hi"), "final": true}),
			ex.EmitEvent("surprise", map[string]any{"a": 1}),
		} {
			if say != nil {
				return nil, say
			}
		}
		return &a2e.Result{Success: true, Data: map[string]any{"n": ex.Arguments["n"]}, Summary: "fine"}, nil
	}}
	b := setUp(t, well, hosting(p))
	answer, events := b.ask(t.Context(), &a2e.CallRequest{
		Header: a2e.Header{ID: "r1"}, Name: " Greet-Me", Arguments: map[string]any{"text": "x"}, CorrelationID: "c", Metadata: map[string]any{"k": "v"},
	})
	if verdict(answer) != "ok" || string(answer.Data.Data.(json.RawMessage)) != `{"n":7}` || answer.Data.Summary != "fine" {
		t.Fatalf("%s: %+v", verdict(answer), answer.Data)
	}
	if seen.Name != "greet_me" || seen.CorrelationID != "c" || seen.Metadata["k"] != "v" || !seen.Streaming || seen.Arguments["text"] != "x" {
		t.Errorf("the plugin saw %+v", seen)
	}
	var got []string
	for i, ev := range events {
		if ev.Seq != i || ev.ReqID != "r1" {
			t.Errorf("event %d: %+v", i, ev)
		}
		got = append(got, fmt.Sprint(ev.Kind, " ", ev.Data["pct"], ev.Data["chunk"], ev.Data["kind"]))
	}
	if diff := cmp.Diff([]string{"progress 100 <nil> <nil>", "artifact <nil>aGk=<nil>", "status <nil> <nil>surprise"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	view, kept, err := b.Show(t.Context(), answer.ID)
	if err != nil || view.State != control.Succeeded || view.Skill != "greet_me" || !view.Hosted || view.Events != 3 || view.Cell != "" || len(kept.Data.Events) != 3 {
		t.Errorf("shown %+v, %v", view, err)
	}
	again, _ := b.ask(t.Context(), &a2e.CallRequest{
		Header: a2e.Header{ID: "r1"}, Name: " Greet-Me", Arguments: map[string]any{"text": "x"}, CorrelationID: "c", Metadata: map[string]any{"k": "v"},
	})
	if again.ID != answer.ID {
		t.Errorf("the same request again got another answer: %s", again.ID)
	}
	if s := b.driver.Stats(); s.Created != 0 {
		t.Errorf("%d cells were made", s.Created)
	}
}

// The ends of hosted calls, each with its own code.
func TestHowHostedCallsEnd(t *testing.T) {
	failed, code := "it is closed", "shop_closed"
	p := guest{
		"fails": func(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) {
			return nil, errors.New("no luck")
		},
		"coded": func(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) {
			return nil, a2e.Errorf(a2e.Unauthorized, "not for you").With("door", 1)
		},
		"odd": func(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) {
			return nil, a2e.Errorf("own_code", "mine")
		},
		"says": func(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) {
			return &a2e.Result{Error: &failed, ErrorCode: &code}, nil
		},
		"nothing": func(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) { return nil, nil },
		"panics":  func(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) { panic("secret words") },
		"exits": func(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) {
			runtime.Goexit()
			return nil, nil
		},
		"no-json":    gives(func() {}),
		"long":       gives(strings.Repeat("x", 9<<20)),
		"strict-out": gives(map[string]any{}),
		"talks": func(_ context.Context, _ a2e.Caller, ex a2e.Execution) (*a2e.Result, error) {
			for {
				if err := ex.EmitEvent("log", map[string]any{"message": strings.Repeat("x", 512<<10)}); err != nil {
					return nil, err
				}
			}
		},
		"stuck": gives(nil), "takes": gives(nil),
	}
	b := setUp(t, well, hosting(p))
	for name, want := range map[string]string{
		"fails":      `skill_error/ skill "fails": no luck`,
		"coded":      "unauthorized/ not for you",
		"odd":        "skill_error/ mine",
		"says":       "skill_error/ it is closed",
		"nothing":    `skill_error/ skill "nothing": its code returned no result`,
		"panics":     `skill_error/panic skill "panics": its code panicked: hotcell's log says where`,
		"exits":      `skill_error/panic skill "exits": its code broke off without an answer`,
		"no-json":    `skill_error/ skill "no-json": its result has no JSON form: json: unsupported type: func()`,
		"long":       "skill_error/output_limit the skill exceeded its result budget",
		"strict-out": "skill_error/output_schema output does not match output_schema: data.m: required property is missing",
		"talks":      "skill_error/output_limit the skill exceeded its output budget",
		"stuck":      `runtime_error/blocked skill "stuck" is blocked: whoever serves it says so`,
	} {
		answer, _ := b.ask(t.Context(), req(name))
		if got := verdict(answer); answer.Error == nil || got+" "+answer.Error.Message != want {
			t.Errorf("%s: got %s %v", name, got, answer.Error)
		}
	}
	bad, _ := b.ask(t.Context(), &a2e.CallRequest{Name: "takes", Arguments: map[string]any{"text": 3}})
	if verdict(bad) != "schema_violation/" || !strings.Contains(bad.Error.Message, "arguments.text") {
		t.Errorf("bad arguments: %v", bad.Error)
	}
	if bad, _ = b.ask(t.Context(), timed("takes", 0)); verdict(bad) != "schema_violation/" {
		t.Errorf("bad timeout: %v", bad.Error)
	}
	if with, _ := b.ask(t.Context(), &a2e.CallRequest{Name: "takes", LLMOverride: &a2e.LLMConfig{ProviderName: "x"}}); verdict(with) != "unauthorized/" {
		t.Errorf("an override that nobody decides about: %v", with.Error)
	}
}

// A failure of a hosted call that ran is an answer, and the same request again does not run it again.
func TestAHostedFailureStands(t *testing.T) {
	runs := 0
	b := setUp(t, well, hosting(guest{"fails": func(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) {
		runs++
		return nil, errors.New("no luck")
	}}))
	for range 2 {
		if answer := b.Call(t.Context(), a2e.Caller{}, sent("fails", "r1"), nil); verdict(answer) != "skill_error/" || !answer.Error.Retryable {
			t.Fatal(answer.Error)
		}
	}
	if runs != 1 {
		t.Errorf("it ran %d times", runs)
	}
}

// A hosted call ends at its deadline and when it is cancelled, whether the plugin notices or not; and one that ignores its end
// holds up no draining.
func TestHostedCallsEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		p := guest{
			"heeds": func(ctx context.Context, _ a2e.Caller, ex a2e.Execution) (*a2e.Result, error) {
				<-ctx.Done()
				if ex.EmitEvent("log", map[string]any{"message": "a last word"}) != nil {
					return nil, errors.New("nobody listens")
				}
				return nil, ctx.Err()
			},
			"ignores": func(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) {
				<-free
				return &a2e.Result{}, nil
			},
		}
		b := setUp(t, well, hosting(p))
		for _, name := range []string{"heeds", "ignores"} {
			began := time.Now()
			answer, _ := b.ask(t.Context(), timed(name, 3))
			if got := verdict(answer); got != "timeout/" || answer.Error.Message != "the skill did not finish within 3s" || time.Since(began) != 3*time.Second {
				t.Errorf("%s: %s after %s: %v", name, got, time.Since(began), answer.Error)
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if answer, _ = b.ask(ctx, req(name)); verdict(answer) != "runtime_error/cancelled" {
				t.Errorf("%s, hung up: %v", name, answer.Error)
			}
			time.AfterFunc(time.Second, func() {
				if err := b.Cancel(context.Background(), "by-hand-"+name); err != nil {
					t.Error(err)
				}
			})
			if answer = b.Call(t.Context(), a2e.Caller{}, sent(name, "by-hand-"+name), nil); verdict(answer) != "runtime_error/cancelled" {
				t.Errorf("%s, cancelled: %v", name, answer.Error)
			}
		}
		last := make(chan *a2e.CallResponse, 1)
		go func() { last <- b.Call(t.Context(), a2e.Caller{}, timed("ignores", 600), nil) }()
		synctest.Wait()
		began := time.Now()
		b.settle(t) // within the five seconds that such a skill states
		if took := time.Since(began); took > 5*time.Second+strayLimit {
			t.Errorf("draining took %s", took)
		}
		if answer := <-last; verdict(answer) != "timeout/" {
			t.Errorf("the last: %v", answer.Error)
		}
		close(free)
		synctest.Wait()
	})
}

// Executions that ignore their end take up room until they return: nothing grows with their number.
func TestStraysAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		b := setUp(t, well, hosting(guest{"ignores": func(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) { <-free; return nil, nil }}))
		var all sync.WaitGroup
		for range mostHosted - 1 { // one is left for the list
			all.Go(func() { b.Call(t.Context(), a2e.Caller{}, timed("ignores", 1), nil) })
		}
		all.Wait()
		if answer := b.Call(t.Context(), a2e.Caller{}, timed("ignores", 1), nil); verdict(answer) != "timeout/" {
			t.Errorf("the last place: %v", answer.Error)
		}
		if answer := b.Call(t.Context(), a2e.Caller{}, timed("ignores", 1), nil); answer.Error == nil || !answer.Error.Retryable {
			t.Errorf("one too many: %v", answer.Error)
		}
		if answer := b.Call(t.Context(), a2e.Caller{}, req("free"), nil); verdict(answer) != "ok" {
			t.Errorf("a cell beside: %v", answer.Error)
		}
		close(free)
		synctest.Wait()
		b.settle(t)
	})
}

// One caller whose executions do not end keeps nobody else from a plugin.
func TestStraysOfOneCallerAreTheirs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		b := setUp(t, well, hosting(guest{
			"ignores": func(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) { <-free; return nil, nil },
			"greet":   gives(1),
		}))
		alice, bob := a2e.Caller{Principal: "alice"}, a2e.Caller{Principal: "bob"}
		var all sync.WaitGroup
		for range mostHosted { // many more than she may have
			all.Go(func() { b.Call(t.Context(), alice, timed("ignores", 1), nil) })
		}
		all.Wait()
		if answer := b.Call(t.Context(), alice, req("greet"), nil); answer.Error == nil {
			t.Error("alice has more than her share")
		}
		if answer := b.Call(t.Context(), bob, req("greet"), nil); answer.Error != nil {
			t.Errorf("bob: %v", answer.Error)
		}
		close(free)
		synctest.Wait()
		b.settle(t)
	})
}

// Hosted calls are counted in and out of their principal's quota.
func TestHostedCallsHaveQuotas(t *testing.T) {
	b := setUp(t, well, func(c *Config) {
		c.Plugins, c.Quota = []a2e.Plugin{guest{"greet": gives(1)}}, admission.Quota{PerMinute: 1}
	})
	who := a2e.Caller{Principal: "alice"}
	if got := verdict(b.Call(t.Context(), who, req("greet"), nil)); got != "ok" {
		t.Fatal(got)
	}
	if got := verdict(b.Call(t.Context(), who, req("greet"), nil)); got != "runtime_error/quota" {
		t.Errorf("one more: %s", got)
	}
}

// Discover lists hosted skills among the others, by name, to those who may see them. A name that a shipped skill has is that
// skill's, and one that several plugins have is the first one's; the log tells.
func TestNamesOfHostedSkills(t *testing.T) {
	var log bytes.Buffer
	first := guest{"private": gives(1), "free": gives("mine"), "greet": gives("first"), "bad name": gives(1), "echo_text": gives("plugin")}
	b := setUp(t, well, func(c *Config) {
		c.Plugins = []a2e.Plugin{first, guest{"greet": gives("second")}, outOfOrder{}}
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	names := func(who string, tags ...string) (names []string) {
		defs, err := b.Discover(t.Context(), a2e.Caller{Principal: who}, &a2e.DiscoverRequest{FilterTags: tags})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range defs {
			names = append(names, d.Name)
		}
		return names
	}
	if diff := cmp.Diff([]string{"agentic", "echo-text", "echo_text", "framed", "free", "greet", "keyed", "patient", "strict"}, names("bob")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"echo_text", "greet", "private"}, names("alice", "here")); diff != "" {
		t.Errorf("alice, by tag (-want +got):\n%s", diff)
	}
	for _, c := range []struct{ who, name, want string }{
		{"alice", "private", "1"}, {"bob", "free", `{"n":1}`}, {"bob", "greet", `"first"`},
		{"bob", "echo_text", `"plugin"`}, {"bob", "Echo-Text", "schema_violation/"}, {"bob", "nowhere", "runtime_error/internal"},
	} {
		answer := b.Call(t.Context(), a2e.Caller{Principal: c.who}, req(c.name), nil)
		got := verdict(answer)
		if got == "ok" {
			got = string(answer.Data.Data.(json.RawMessage))
		}
		if got != c.want {
			t.Errorf("%s calls %s: got %s, want %s", c.who, c.name, got, c.want)
		}
	}
	whole := setUp(t, well, hosting(first))
	if answer := whole.Call(t.Context(), a2e.Caller{Principal: "bob"}, req("private"), nil); verdict(answer) != "unknown_skill/" {
		t.Errorf("bob calls what is alice's: %v", answer.Error)
	}
	for _, want := range []string{`skill=free`, `skill=greet`, `skill="bad name"`, "out of order"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not tell %s:\n%s", want, &log)
		}
	}
}

type outOfOrder struct{ guest }

func (outOfOrder) ListSkills(context.Context, a2e.Caller) ([]a2e.Definition, error) {
	return nil, errors.New("out of order")
}

// shelved shows alice everything and others all but echo-text; her agent "picky" may use free alone.
type shelved struct{ skills.Catalog }

func (s shelved) View(_ context.Context, who a2e.Caller) (skills.View, error) {
	if who.Principal == "broken" {
		return nil, errors.New("disk on fire")
	}
	return view{s.Catalog, who}, nil
}

type view struct {
	skills.Catalog
	who a2e.Caller
}

func (v view) List() (list []*skills.Skill) {
	for _, s := range v.Catalog.List() {
		if v.who.Principal == "alice" || s.Name != "echo-text" {
			list = append(list, s)
		}
	}
	return list
}

func (v view) Find(name string) (*skills.Skill, string) {
	s, near := v.Catalog.Find(name)
	if v.who.Principal != "alice" && (s != nil && s.Name == "echo-text" || near == "echo-text") {
		return nil, ""
	}
	return s, near
}

func (v view) Allows(s *skills.Skill) bool { return v.who.Agent != "picky" || s.Name == "free" }

// What a caller can't see is unknown, and nothing hints at it; what it sees and its agent may not use is unauthorized. Discover
// lists neither.
func TestWhatACallerMaySeeAndUse(t *testing.T) {
	b := setUp(t, well, func(c *Config) {
		c.Shelf, c.Plugins = shelved{c.Skills}, []a2e.Plugin{guest{"greet": gives("hello")}}
	})
	for _, c := range []struct{ principal, agent, skill, want, says string }{
		{"alice", "", "echo-text", "schema_violation/", ""},
		{"bob", "", "echo-text", "unknown_skill/", `unknown skill "echo-text"`},
		{"bob", "", "echo-tex", "unknown_skill/", `unknown skill "echo-tex"`},
		{"alice", "", "echo-tex", "unknown_skill/", `unknown skill "echo-tex": did you mean "echo-text"?`},
		{"alice", "picky", "echo-text", "unauthorized/", `skill "echo-text" is not in the allowed_skills list for agent "picky": who controls the agent can add it`},
		{"bob", "picky", "echo-text", "unknown_skill/", `unknown skill "echo-text"`},
		{"alice", "picky", "locked", "unauthorized/", ""},
		{"alice", "picky", "free", "ok", ""},
		{"alice", "", "greet", "ok", ""},
		{"alice", "picky", "greet", "unauthorized/", `skill "greet" is not in the allowed_skills list for agent "picky": who controls the agent can add it`},
		{"broken", "", "free", "runtime_error/internal", ""},
	} {
		answer := b.Call(t.Context(), a2e.Caller{Principal: c.principal, Agent: c.agent}, req(c.skill), nil)
		if got := verdict(answer); got != c.want || c.says != "" && answer.Error.Message != c.says {
			t.Errorf("%+v: got %s %v", c, got, answer.Error)
		}
	}
	defs, err := b.Discover(t.Context(), a2e.Caller{Principal: "alice", Agent: "picky"}, &a2e.DiscoverRequest{})
	if err != nil || len(defs) != 1 || defs[0].Name != "free" {
		t.Errorf("discovered %v, %v", defs, err)
	}
	if _, err := b.Discover(t.Context(), a2e.Caller{Principal: "broken"}, &a2e.DiscoverRequest{}); err == nil || strings.Contains(err.Error(), "fire") {
		t.Errorf("got %v", err)
	}
}

// counting is a shelf that counts who asks for a suggestion: that takes its time where there are many skills.
type counting struct {
	skills.Catalog
	suggested *atomic.Int64
}

func (c counting) View(context.Context, a2e.Caller) (skills.View, error) { return c, nil }
func (c counting) Allows(*skills.Skill) bool                             { return true }
func (c counting) Lookup(name string) *skills.Skill                      { return skills.Lookup(c.Catalog, name) }
func (c counting) Find(name string) (*skills.Skill, string) {
	c.suggested.Add(1)
	return c.Catalog.Find(name)
}

// Who calls or lists what is there pays for no suggestion.
func TestSuggestionsAreForWhatIsUnknown(t *testing.T) {
	var suggested atomic.Int64
	b := setUp(t, well, func(c *Config) {
		c.Shelf, c.Plugins = counting{c.Skills, &suggested}, []a2e.Plugin{guest{"greet": gives("hello")}}
	})
	for _, name := range []string{"greet", "free"} {
		if got := verdict(b.Call(t.Context(), a2e.Caller{}, req(name), nil)); got != "ok" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if _, err := b.Discover(t.Context(), a2e.Caller{}, &a2e.DiscoverRequest{}); err != nil || suggested.Load() != 0 {
		t.Errorf("%d suggestions, %v", suggested.Load(), err)
	}
	if got := verdict(b.Call(t.Context(), a2e.Caller{}, req("fre"), nil)); got != "unknown_skill/" || suggested.Load() != 1 {
		t.Errorf("%s, %d suggestions", got, suggested.Load())
	}
}
