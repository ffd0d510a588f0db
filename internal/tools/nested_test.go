package tools

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
)

func yield() { runtime.Gosched() }

func pipe() (net.Conn, net.Conn) { return net.Pipe() }

// executor runs nested calls like a supervisor: it grants, activates with the call's context, and lets the skill's code,
// here a function, use the grant.
func executor(b *bench, code map[string]func(g service.Grant, req *a2e.CallRequest) any) func(context.Context, a2e.Caller, *a2e.CallRequest) *a2e.CallResponse {
	return func(ctx context.Context, who a2e.Caller, req *a2e.CallRequest) *a2e.CallResponse {
		ask := b.ask(req.Name, service.Chain(ctx)...)
		ask.Who = who
		g, err := b.tools.Grant(ask)
		if err != nil {
			return a2e.Failure(req.ID, req.Name, a2e.AsError(err), 0)
		}
		if g != nil {
			g.Activate(ctx, token)
			defer g.Revoke()
		}
		return success(req, code[req.Name](g, req))
	}
}

func TestNestedCalls(t *testing.T) {
	var b *bench
	b = newBench(t, Options{Calls: func(ctx context.Context, who a2e.Caller, req *a2e.CallRequest) *a2e.CallResponse {
		got := fmt.Sprintf("%s/%s/%s %s %v %s %t %v", who.Principal, who.Agent, who.Door, req.Name, req.Arguments, req.CorrelationID, req.Streams(), service.Chain(ctx))
		if req.LLMOverride != nil || req.Metadata != nil || req.ID == "" || req.ID == b.ask("a").Call {
			got += " and more"
		}
		return success(req, got)
	}}, nil, "a", "tools: ['skill:b']\n", "b", "")
	want := `"ada/agent/http b map[x:1] call-1 false [outer a]"`
	if got := tell(b.grant(b.ask("a", "outer")), "skill:b", `{"x":1}`); got != want {
		t.Errorf("got %s", got)
	}
}

func TestDepthAndCycles(t *testing.T) {
	b := newBench(t, Options{}, nil,
		"a", "tools: ['skill:b']\n", "b", "tools: ['skill:c', 'skill:a']\n", "c", "tools: ['skill:d']\n", "d", "tools: ['skill:e']\n", "e", "", "own", "tools: ['skill:own']\n")
	deeper := func(next string) func(service.Grant, *a2e.CallRequest) any {
		return func(g service.Grant, _ *a2e.CallRequest) any { return next + " " + tell(g, "skill:"+next, "") }
	}
	code := map[string]func(service.Grant, *a2e.CallRequest) any{
		"b": deeper("c"), "c": deeper("d"), "d": deeper("e"), "e": func(service.Grant, *a2e.CallRequest) any { return "bottom" },
		"own": deeper("own"),
	}
	b.tools.opt.Calls = executor(b, code)
	// a calls b calls c calls d, and d may not call e: three may lie around a call
	got := tell(b.grant(b.ask("a")), "skill:b", "")
	if want := "permission_denied: a → b → c → d → e: calls may be nested 3 deep"; !strings.Contains(got, want) {
		t.Errorf("got %s", got)
	}
	if got := tell(b.grant(b.ask("b")), "skill:c", ""); !strings.Contains(got, "bottom") {
		t.Errorf("one less: %s", got)
	}
	code["b"] = deeper("a")
	if got := tell(b.grant(b.ask("a")), "skill:b", ""); !strings.Contains(got, "cycle_detected: a → b → a is a cycle of calls") {
		t.Errorf("got %s", got)
	}
	if got := tell(b.grant(b.ask("own")), "skill:own", ""); got != "cycle_detected: own → own is a cycle of calls" {
		t.Errorf("got %s", got)
	}
}

func TestNestedCallsShareABudget(t *testing.T) {
	b := newBench(t, Options{Nested: 5}, nil, "a", "tools: ['skill:b']\n", "b", "tools: ['skill:c']\n", "c", "")
	made := 0
	b.tools.opt.Calls = executor(b, map[string]func(service.Grant, *a2e.CallRequest) any{
		"b": func(g service.Grant, _ *a2e.CallRequest) any {
			made++
			return []string{tell(g, "skill:c", ""), tell(g, "skill:c", "")}
		},
		"c": func(service.Grant, *a2e.CallRequest) any { made++; return "c" },
	})
	g := b.grant(b.ask("a"))
	const over = `permission_denied: a call, with all that are nested in it, may call 5 skills`
	first, second, third := tell(g, "skill:b", ""), tell(g, "skill:b", ""), tell(g, "skill:b", "")
	if first != `["\"c\"","\"c\""]` || second != `["\"c\"","`+over+`"]` || third != over || made != 5 {
		t.Errorf("%s\n%s\n%s\n%d were made", first, second, third, made)
	}
}

func TestHowNestedCallsFail(t *testing.T) {
	var fail *a2e.Error
	b := newBench(t, Options{Calls: func(_ context.Context, _ a2e.Caller, req *a2e.CallRequest) *a2e.CallResponse {
		return a2e.Failure(req.ID, req.Name, fail, 0)
	}}, nil, "a", "tools: ['skill:b']\n", "b", "")
	g := b.grant(b.ask("a"))
	got := map[string]string{}
	for _, e := range []*a2e.Error{
		a2e.Errorf(a2e.UnknownSkill, "x"), a2e.Errorf(a2e.SkillError, "a cycle was not found, in the activation"), a2e.Errorf(a2e.SchemaViolation, "x"),
		a2e.Errorf(a2e.Unauthorized, "x"), a2e.Errorf(a2e.Timeout, "x"), a2e.Errorf(a2e.OutOfMemory, "x"), a2e.Errorf(a2e.SandboxCrash, "x"),
		a2e.Errorf(a2e.RuntimeError, "x"), a2e.Errorf(a2e.RuntimeError, "y").Transient(),
	} {
		fail = e
		code, _, _ := strings.Cut(tell(g, "skill:b", ""), ": ")
		got[fmt.Sprintf("%s %t", e.Code, e.Retryable)] = code
	}
	want := map[string]string{
		"unknown_skill false": "skill_not_found", "skill_error true": "tool_execution_failure", "schema_violation false": "validation_error",
		"unauthorized false": "permission_denied", "timeout true": "tool_execution_failure", "out_of_memory true": "tool_execution_failure",
		"sandbox_crash true": "tool_execution_failure", "runtime_error false": "resolution_failure", "runtime_error true": "tool_activation_failure",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	fields := mapped(a2e.Errorf(a2e.OutOfMemory, "x").Because("r"), "a", "skill:b").Fields()
	if diff := cmp.Diff(map[string]any{"code": "out_of_memory", "retryable": true, "reason": "r"}, fields.Details); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if fields.SkillName != "a" || *fields.ToolName != "skill:b" {
		t.Errorf("got %+v", fields)
	}
}

func TestAHostWithoutNestedCalls(t *testing.T) {
	b := newBench(t, Options{}, nil, "a", "tools: ['skill:b']\n", "b", "")
	want := "tool_activation_failure: activation of skill:b: this host runs no nested calls"
	if got := tell(b.grant(b.ask("a")), "skill:b", ""); got != want {
		t.Errorf("got %s", got)
	}
}

// Why the call around it ended is the reason that a nested call has, whichever way it was asked for.
func TestANestedCallKnowsWhyItEnds(t *testing.T) {
	around := errors.New("the call around it")
	for way, use := range map[string]func(g *grant){
		"line": func(g *grant) { tell(g, "skill:b", "{}") },
		"http": func(g *grant) { _, _, _ = send(g, "POST", "/v1/tools/skill:b", token, "{}") },
	} {
		entered, why := make(chan struct{}), make(chan error, 1)
		b := newBench(t, Options{Calls: answers(map[string]func(context.Context, *a2e.CallRequest) *a2e.CallResponse{
			"b": func(ctx context.Context, req *a2e.CallRequest) *a2e.CallResponse {
				close(entered)
				<-ctx.Done()
				why <- context.Cause(ctx)
				return success(req, 1)
			},
		})}, nil, "a", "tools: ['skill:b']\n", "b", "")
		g := b.granted(b.ask("a"))
		ctx, end := context.WithCancelCause(t.Context())
		g.Activate(ctx, token)
		var using sync.WaitGroup
		using.Go(func() { use(g) })
		<-entered
		end(around)
		if got := <-why; got != around {
			t.Errorf("%s: %v", way, got)
		}
		g.Revoke()
		using.Wait()
	}
}

// A skill calls what its caller may see and use, and is told of nothing else.
func TestNestedCallsHaveTheCallersShelf(t *testing.T) {
	b := newBench(t, Options{Calls: func(_ context.Context, _ a2e.Caller, req *a2e.CallRequest) *a2e.CallResponse {
		return success(req, "ran")
	}}, nil, "a", "tools: ['skill:b', 'skill:c']\n", "b", "", "c", "")
	b.tools.opt.Shelf = shelf{b.lib}
	g := b.grant(b.ask("a")) // ada's
	for tool, want := range map[string]string{
		"skill:b": `skill_not_found: skill "b" not found`,
		"skill:c": `permission_denied: skill "c" is not in the allowed_skills list for this agent`,
	} {
		if got := tell(g, tool, ""); got != want {
			t.Errorf("%s: got %s", tool, got)
		}
	}
	if got := g.definitions(); len(got) != 0 {
		t.Errorf("told: %v", got)
	}
	ask := b.ask("a")
	ask.Who.Principal = "bob"
	if got := tell(b.grant(ask), "skill:b", ""); got != `"ran"` {
		t.Errorf("bob's: got %s", got)
	}
}

// shelf hides b from ada, and her agent may not use c.
type shelf struct{ skills.Catalog }

func (s shelf) View(_ context.Context, who a2e.Caller) (skills.View, error) {
	return view{s.Catalog, who.Principal == "ada"}, nil
}

type view struct {
	skills.Catalog
	ada bool
}

func (v view) Find(name string) (*skills.Skill, string) {
	if v.ada && name == "b" {
		return nil, ""
	}
	return v.Catalog.Find(name)
}

func (v view) Allows(s *skills.Skill) bool { return !v.ada || s.Name != "c" }
