package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// seeded is what lies behind the pages of a daemon.
type seeded struct {
	calls     map[string]string // ids of calls, by what became of them
	principal int64             // whose all of it is
	agents    map[string]int64  // ids of agents, by name
	approvals map[string]string // ids of requests that wait, by what they ask for and of which skill
}

// seedCall is a call that has to end in a certain way.
type seedCall struct {
	name    string
	request map[string]any
	code    a2e.Code // "": it succeeds
	reason  string
}

func seedCalls() []seedCall {
	call := func(skill string, arguments map[string]any) map[string]any {
		if arguments == nil {
			arguments = map[string]any{}
		}
		return map[string]any{"name": skill, "arguments": arguments}
	}
	strange := call("hostile-output", nil)
	strange["id"], strange["agent_id"], strange["correlation_id"] = "id-"+short(), "stranger", short()
	strange["metadata"] = map[string]any{short(): short()}
	return []seedCall{
		{"success", call("monthly-report", map[string]any{"month": "2026-11", "region": "north"}), "", ""},
		{"timeout", call("slow-import", nil), a2e.Timeout, ""},
		{"oom", call("greedy-table", nil), a2e.OutOfMemory, ""},
		{"crash", call("crashing-parser", nil), a2e.SandboxCrash, "signal"},
		{"flood", call("chatty-scraper", nil), a2e.SkillError, "output_limit"},
		{"egress", call("weather-lookup", nil), a2e.SkillError, ""},
		{"exit", call("exits-badly", nil), a2e.SkillError, ""},
		{"agent", call("packing-list", map[string]any{"question": "What do I pack for three weeks?"}), "", ""},
		{"hostile", strange, "", ""},
		{"hostile error", call("hostile-error", map[string]any{"x": said()}), a2e.SkillError, ""},
		{"schema", call("monthly-report", map[string]any{"month": short()}), a2e.SchemaViolation, ""},
		{"hosted", call("skill-catalog", nil), "", ""},
	}
}

// seed makes calls of every kind, custom skills, agents and requests for approval at the daemon that asks nobody.
func (d *daemon) seed(ctx context.Context) (*seeded, error) {
	s := &seeded{calls: map[string]string{}}
	c := d.as("")
	for _, want := range seedCalls() {
		answer, err := c.call(ctx, want.request)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", want.name, err)
		}
		if err := want.fits(answer); err != nil {
			return nil, err
		}
		s.calls[want.name] = answer.ID
	}
	call, err := c.begin(ctx, "to-be-cancelled", map[string]any{"name": "ticker", "arguments": map[string]any{"n": 1000, "pause": 0.5}}, control.Running)
	if err != nil {
		return nil, err
	}
	s.calls["cancelled"] = call.ID
	if err := c.end(ctx, call.ID); err != nil {
		return nil, err
	}
	if err := d.seedLibrary(ctx, c); err != nil {
		return nil, err
	}
	return s, s.look(ctx, c)
}

// look learns what the agents and the requests for approval are called.
func (s *seeded) look(ctx context.Context, c client) error {
	var agents struct {
		Data struct {
			Agents []struct {
				ID   int64
				Name string
			}
		}
	}
	if err := c.ask(ctx, http.MethodGet, "/api/v1/agents", nil, &agents); err != nil {
		return err
	}
	s.agents = map[string]int64{}
	for _, a := range agents.Data.Agents {
		s.agents[a.Name] = a.ID
	}
	var approvals struct {
		Data struct {
			Approvals []struct{ ID, Action, Skill string }
		}
	}
	if err := c.ask(ctx, http.MethodGet, "/api/v1/approvals?state=pending", nil, &approvals); err != nil {
		return err
	}
	s.approvals = map[string]string{}
	for _, a := range approvals.Data.Approvals {
		s.approvals[a.Action+" "+a.Skill] = a.ID
	}
	var principals struct {
		Data struct{ Principals []struct{ ID int64 } }
	}
	if err := c.ask(ctx, http.MethodGet, "/api/v1/principals", nil, &principals); err != nil {
		return err
	}
	if len(principals.Data.Principals) == 0 {
		return errors.New("nobody is here")
	}
	s.principal = principals.Data.Principals[0].ID
	if len(s.agents) == 0 || len(s.approvals) == 0 {
		return fmt.Errorf("%d agents, %d requests for approval", len(s.agents), len(s.approvals))
	}
	return nil
}

func (want seedCall) fits(answer *a2e.CallResponse) error {
	var code a2e.Code
	var reason string
	if answer.Error != nil {
		code, reason = answer.Error.Code, answer.Error.Reason()
	}
	if code != want.code || want.reason != "" && reason != want.reason {
		return fmt.Errorf("the call %q ended as %q, %q, want %q, %q: %v", want.name, code, reason, want.code, want.reason, answer.Error)
	}
	return nil
}

// custom are the custom skills: one with a past, and one that is all payload.
func custom() []map[string]any {
	files := map[string]string{"references/words.md": "colour, not color\n", "references/" + "page.html": payloads()["script"]}
	return []map[string]any{
		{"name": "house-style", "description": "How we write. Use when text is written for others.", "body": "# House style\n\nShort sentences.\n", "files": files},
		{"name": "hostile-custom", "description": payloads()["image"] + payloads()["link"], "body": markdown(), "license": short(), "compatibility": short(),
			"metadata": map[string]string{"version": short()}, "files": map[string]string{"references/evil.md": markdown(), "references/evil.svg": payloads()["svg"]}},
	}
}

// seedLibrary makes custom skills and changes one, makes agents and allowlists, and asks for writes that wait for approval.
func (d *daemon) seedLibrary(ctx context.Context, c client) error {
	for _, skill := range custom() {
		if err := c.ask(ctx, http.MethodPost, "/api/v1/custom-skills", skill, nil); err != nil {
			return err
		}
	}
	steps := []struct {
		method, path string
		body         any
	}{
		{http.MethodPut, "/api/v1/custom-skills/house-style", map[string]any{"body": "# House style\n\nShort sentences. Plain words.\n\nNo jargon.\n"}},
		{http.MethodPut, "/api/v1/custom-skills/hostile-custom", map[string]any{"body": markdown() + "\nchanged\n"}},
		{http.MethodPost, "/api/v1/agents", map[string]any{"name": "scribe"}},
		{http.MethodPost, "/api/v1/agents", map[string]any{"name": "reviewer"}},
		{http.MethodPut, "/api/v1/agents/scribe/skills/house-style", map[string]any{}},
		{http.MethodPut, "/api/v1/agents/scribe/skills/monthly-report", map[string]any{}},
		{http.MethodPost, "/api/v1/agents/scribe/tools/manage_skill/enable", map[string]any{}},
		{http.MethodPost, "/api/v1/agents/scribe/tools/time/enable", map[string]any{}},
	}
	for _, step := range steps {
		if err := c.ask(ctx, step.method, step.path, step.body, nil); err != nil {
			return err
		}
	}
	for _, wish := range []map[string]any{
		{"action": "create", "name": "greetings", "description": "How we greet. Use at the start of a letter.", "body": "Dear all,\n"},
		{"action": "update", "name": "house-style", "body": "# House style\n\n" + markdown()},
		{"action": "create", "name": "hostile-wish", "description": payloads()["htmx"] + short(), "body": markdown()},
		{"action": "delete", "name": "house-style"},
	} {
		answer, err := c.call(ctx, map[string]any{"name": "manage_skill", "agent_id": "scribe", "arguments": wish})
		if err != nil {
			return err
		}
		if answer.Error != nil {
			return fmt.Errorf("manage_skill %v: %w", wish["action"], answer.Error)
		}
	}
	return nil
}

// seedGuarded makes a few calls of several principals at the daemon that wants tokens.
func (d *daemon) seedGuarded(ctx context.Context) (*seeded, error) {
	s := &seeded{calls: map[string]string{}}
	for _, name := range []string{"alice", "bob"} {
		answer, err := d.as(name).call(ctx, map[string]any{"name": "monthly-report", "arguments": map[string]any{"month": "2026-10", "chart": false}})
		if err != nil {
			return nil, err
		}
		s.calls[name] = answer.ID
	}
	for _, step := range []struct {
		method, path string
		body         any
	}{
		{http.MethodPut, "/api/v1/agents/scribe/skills/monthly-report", map[string]any{}},
		{http.MethodPost, "/api/v1/custom-skills", custom()[0]},
	} {
		if err := d.as("alice").ask(ctx, step.method, step.path, step.body, nil); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// crowd fills all cells with calls that take long, and has one more wait. They are gone once end was called.
func (d *daemon) crowd(ctx context.Context, name string) (running []control.Call, queued control.Call, end func() error, err error) {
	c := d.as(name)
	var ids []string
	end = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for _, id := range ids {
			if err := c.end(ctx, id); err != nil {
				return err
			}
		}
		return nil
	}
	stamp := time.Now().UnixNano()
	for i := range cells + 1 {
		id, state := fmt.Sprintf("crowd-%d-%d", stamp, i), control.Running
		if i == cells {
			state = control.Queued
		}
		call, err := c.begin(ctx, id, map[string]any{"name": "ticker", "arguments": map[string]any{"n": 10000, "pause": 1}}, state)
		if err != nil {
			return nil, queued, end, err
		}
		ids = append([]string{id}, ids...) // the one that waits goes first
		if queued = call; state == control.Running {
			running = append(running, call)
		}
	}
	return running, queued, end, nil
}
