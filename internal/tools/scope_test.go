package tools

import (
	"errors"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
)

func TestWhichSkillMayUseWhichServer(t *testing.T) {
	const (
		one      = "tools: ['mcp:srv/echo']\n"
		all      = "toolkits: ['mcp:srv']\nwrites: true\n"
		includes = "includes: [kit]\nwrites: true\n"
		mixed    = "tools: [time, 'mcp:absent/x', 'mcp:srv/echo']\nwrites: true\n"
	)
	for name, tt := range map[string]struct {
		skills []string
		yaml   string
		kept   string // the entry that is refused, "" none
	}{
		"all":           {nil, one, ""},
		"written out":   {[]string{"*"}, one, ""},
		"by name":       {[]string{"b", "a"}, one, ""},
		"a tool":        {[]string{"b", "a-*", "*a2"}, one, "mcp:srv/echo"},
		"a toolkit":     {[]string{"b"}, all, "mcp:srv"},
		"no skill":      {[]string{}, all, "mcp:srv"},
		"others' tools": {[]string{"kit"}, includes, "mcp:srv"}, // by its own name, wherever they come from
		"built in":      {[]string{"b"}, three, ""},
		"first of all":  {[]string{"b"}, mixed, "mcp:srv/echo"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, seen := inProcess(t, newTestServer())
			cfg.Skills = tt.skills
			b := newBench(t, Options{}, map[string]Server{"srv": cfg, "absent": {Command: []string{"/nonexistent"}}}, "a", tt.yaml, "kit", all)
			g, err := b.tools.Grant(b.ask("a"))
			if tt.kept == "" {
				if err != nil {
					t.Fatal(err)
				}
				g.Revoke()
				return
			}
			want := `skill "a" may not use "` + tt.kept + `": tools.mcp.srv.skills of the configuration says which skills that server is for; the operator can add a there`
			var e *a2e.Error
			if g != nil || !errors.As(err, &e) || e.Code != a2e.RuntimeError || e.Reason() != a2e.ReasonUnsupported || e.Message != want {
				t.Errorf("got %v\nwant %s", err, want)
			}
			if seen.Load() != nil {
				t.Error("the server was asked for a skill that may not use it")
			}
		})
	}
}

// A custom skill chooses its name itself, and gets nothing by it.
func TestWhichServerMayACustomSkillUse(t *testing.T) {
	for _, tt := range []struct {
		patterns []string
		may      bool
	}{
		{nil, true}, {[]string{"custom:*"}, true}, {[]string{"custom:bob/a"}, true}, {[]string{"b", "custom:a"}, true},
		{[]string{"*"}, false}, {[]string{"a"}, false}, {[]string{"custom:ann/*"}, false}, {[]string{}, false},
	} {
		cfg, _ := inProcess(t, newTestServer())
		cfg.Skills = tt.patterns
		b := newBench(t, Options{}, map[string]Server{"srv": cfg}, "a", "tools: ['mcp:srv/echo']\n")
		custom := *b.ask("a").Skill
		custom.Source, custom.Owner = skills.SourceUser, &skills.Owner{Name: "bob"}
		err := b.tools.opt.Box.Permits(&custom)
		if (err == nil) != tt.may || err != nil && !strings.Contains(err.Error(), "the operator can add custom:bob/a there") {
			t.Errorf("%q: %v", tt.patterns, err)
		}
	}
}

// A call within a call is judged by its own skill: it has what the one around it has not, and not what that one has.
func TestANestedCallIsJudgedByItsOwnName(t *testing.T) {
	for allowed, want := range map[string]string{"inner": `"{\"said\":\"hi\"}"`, "outer": `may not use`} {
		cfg, _ := inProcess(t, newTestServer())
		cfg.Skills = []string{allowed}
		b := newBench(t, Options{}, map[string]Server{"srv": cfg}, "outer", "tools: ['skill:inner']\n", "inner", "tools: ['mcp:srv/echo']\n")
		b.tools.opt.Calls = executor(b, map[string]func(service.Grant, *a2e.CallRequest) any{
			"inner": func(g service.Grant, _ *a2e.CallRequest) any { return tell(g, "mcp:srv/echo", `{"text":"hi"}`) },
		})
		if got := tell(b.grant(b.ask("outer")), "skill:inner", ""); !strings.Contains(got, want) {
			t.Errorf("%s may: got %s", allowed, got)
		}
	}
}
