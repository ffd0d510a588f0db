package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/host"
)

// says runs a command and returns what it printed, all of it.
func (b *bench) says(t *testing.T, code int, args ...string) string {
	t.Helper()
	b.out.Reset()
	b.err.Reset()
	if got := b.run(args...); got != code {
		t.Errorf("%q: exit %d, want %d: %s", args, got, code, b.err.String())
	}
	return b.out.String() + b.err.String()
}

func TestAgentsAreMadeAllowedAndDenied(t *testing.T) {
	b := newBench(t, nil)
	b.env["HOTCELL__DATA_DIR"] = t.TempDir()
	if got := b.says(t, exitOK, "agents", "create", "bot", "--principal", "alice"); !strings.Contains(got, "made agent bot, number 1") {
		t.Error(got)
	}
	b.says(t, exitOK, "agents", "create", "team-bot", "--group", "team")
	if got := b.says(t, exitOK, "agents", "allow", "bot", "code-review", "time-arithmetic"); !strings.Contains(got, "bot may use code-review, time-arithmetic") {
		t.Error(got)
	}
	if got := b.says(t, exitOK, "agents", "deny", "bot", "code-review", "--principal", "alice"); !strings.Contains(got, "bot may use time-arithmetic\n") {
		t.Error(got)
	}
	got := b.says(t, exitOK, "agents", "list")
	for _, want := range []string{"bot", "alice", "skill", "time-arithmetic", "group:team", "none"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	var list []allowedAgent
	if err := json.Unmarshal([]byte(b.says(t, exitOK, "agents", "list", "--json")), &list); err != nil || len(list) != 2 || list[0].Owner != "alice" || len(*list[0].Allowed) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	b.says(t, exitOK, "agents", "delete", "team-bot")
	id, _ := b.token(t, "--principal", "alice", "--agent", "bot")
	if got := b.says(t, exitUsage, "agents", "delete", "bot"); !strings.Contains(got, "Tokens that can still be used are bound to agent 'bot'") {
		t.Error(got)
	}
	b.says(t, exitOK, "tokens", "revoke", id)
	b.says(t, exitOK, "agents", "delete", "bot")
	for want, args := range map[string][]string{
		"there is no agent bot: ": {"allow", "bot", "x"}, "expected an agent and the names of skills": {"allow", "bot"},
		"no --principal beside it": {"create", "x", "--group", "g", "--principal", "p"}, "no name of a principal": {"create", "x", "--principal", "a b"},
		"and not digits alone": {"create", "12"}, "expected AGENT, got nothing": {"delete"},
	} {
		if got := b.says(t, exitUsage, append([]string{"agents"}, args...)...); !strings.Contains(got, want) {
			t.Errorf("%q: %s", args, got)
		}
	}
}

// Agents of several principals may have one name: nothing is done to one of them that was not meant.
func TestNamesakesAmongAgents(t *testing.T) {
	b := newBench(t, nil)
	b.env["HOTCELL__DATA_DIR"] = t.TempDir()
	for _, whose := range [][]string{nil, {"--principal", "alice"}, {"--group", "team"}} {
		b.says(t, exitOK, append([]string{"agents", "create", "bot"}, whose...)...)
	}
	const several = "3 agents are called bot: say which with --principal, --group or its number: 1 (-), 2 (alice), 3 (group:team)"
	for _, args := range [][]string{{"allow", "bot", "code-review"}, {"deny", "bot", "code-review"}, {"delete", "bot"}} {
		if got := b.says(t, exitUsage, append([]string{"agents"}, args...)...); !strings.Contains(got, several) {
			t.Errorf("%q: %s", args, got)
		}
	}
	b.says(t, exitOK, "agents", "allow", "bot", "code-review", "--group", "team")
	b.says(t, exitOK, "agents", "allow", "2", "time-arithmetic")
	for _, tt := range []struct {
		want string
		code int
		args []string
	}{
		{"deleted: bot, number 3", exitOK, []string{"delete", "bot", "--group", "team"}},
		{"deleted: bot, number 1", exitOK, []string{"delete", "1"}},
		{"there is no agent bot of bob:", exitUsage, []string{"delete", "bot", "--principal", "bob"}},
		{"there is no agent bot of the group team:", exitUsage, []string{"delete", "bot", "--group", "team"}},
		{"there is no agent 3:", exitUsage, []string{"delete", "3"}},
		{"bot may use nothing", exitOK, []string{"deny", "bot", "time-arithmetic"}},
	} {
		if got := b.says(t, tt.code, append([]string{"agents"}, tt.args...)...); !strings.Contains(got, tt.want) {
			t.Errorf("%q: %s", tt.args, got)
		}
	}
}

// A name on an allowlist that is no skill's is let be, since it may become one, and said.
func TestUnknownSkillsOnAllowlists(t *testing.T) {
	b := newBench(t, nil)
	b.env["HOTCELL__DATA_DIR"] = t.TempDir()
	b.says(t, exitOK, "agents", "create", "bot", "--principal", "alice")
	got := b.says(t, exitOK, "agents", "allow", "bot", "code_review", "Code-Review", "skill", "nope")
	for _, want := range []string{`no skill code_review that it could call now: did you mean "code-review"?`, "no skill nope that it could call now: 'hotcell skills list'"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Count(got, "warning") != 2 {
		t.Error(got)
	}
	if got := b.says(t, exitOK, "agents", "deny", "bot", "nope"); strings.Contains(got, "warning") {
		t.Error(got)
	}
}

// The tools of an agent are switched by name, and a tool on an allowlist is told from a skill.
func TestToolsOfAgents(t *testing.T) {
	b := newBench(t, nil)
	b.env["HOTCELL__DATA_DIR"] = t.TempDir()
	b.says(t, exitOK, "agents", "create", "bot")
	for _, tt := range []struct {
		want string
		code int
		args []string
	}{
		{"warning: manage_skill is a tool, which no allowlist opens: 'hotcell agents enable' switches it on", exitOK, []string{"allow", "bot", "manage_skill"}},
		{"bot has these tools on: skill, manage_skill, time\n", exitOK, []string{"enable", "bot", "manage_skill", "time"}},
		{"bot has these tools on: none\n", exitOK, []string{"disable", "1", "manage_skill", "skill", "time"}},
		{"there is no tool nope: expected one of skill, manage_skill, ", exitUsage, []string{"enable", "bot", "nope"}},
		{"expected an agent and the names of tools", exitUsage, []string{"enable", "bot"}},
		{"there is no agent bob: ", exitUsage, []string{"disable", "bob", "skill"}},
	} {
		if got := b.says(t, tt.code, append([]string{"agents"}, tt.args...)...); !strings.Contains(got, tt.want) {
			t.Errorf("%q: %s", tt.args, got)
		}
	}
	b.says(t, exitOK, "agents", "enable", "bot", "manage_skill")
	if got := b.says(t, exitOK, "agents", "allow", "bot", "manage_skill"); strings.Contains(got, "warning") {
		t.Error(got)
	}
}

// Whoever binds a token to an agent that nobody made hears that nothing bounds it.
func TestTokensOfUnknownAgents(t *testing.T) {
	b := newBench(t, nil)
	b.env["HOTCELL__DATA_DIR"] = t.TempDir()
	bind := func(principal string) string {
		return b.says(t, exitOK, "tokens", "create", "--principal", principal, "--group", "team", "--agent", "bot")
	}
	const warning = "warning: there is no agent bot, so no allowlist applies to it: 'hotcell agents create bot --principal alice' makes it"
	if got := bind("alice"); !strings.Contains(got, warning) {
		t.Error(got)
	}
	b.says(t, exitOK, "agents", "create", "bot", "--principal", "alice")
	if got := bind("alice"); strings.Contains(got, "no agent bot") {
		t.Error(got)
	}
	if got := bind("bob"); !strings.Contains(got, "no agent bot") { // alice's is none of bob's
		t.Error(got)
	}
	b.says(t, exitOK, "agents", "create", "bot", "--group", "team")
	if got := bind("bob"); strings.Contains(got, "no agent bot") {
		t.Error(got)
	}
}

// asked has an agent ask for a skill, as a daemon with this data folder would, and returns the id of what waits.
func (b *bench) asked(t *testing.T, who a2e.Caller, name string) string {
	t.Helper()
	cfg := config.Default(false, t.TempDir(), "")
	cfg.DataDir = b.env["HOTCELL__DATA_DIR"]
	t.Setenv("DOCKER_HOST", "unix:///nowhere.sock")
	sys, err := host.Open(t.Context(), cfg, host.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	answer := sys.Supervisor.Call(t.Context(), who, &a2e.CallRequest{Name: "manage_skill", Arguments: map[string]any{
		"action": "create", "name": name, "description": "Keeps notes.", "body": "# Notes",
	}}, nil)
	if err := errors.Join(sys.Supervisor.Drain(context.Background()), sys.Close()); err != nil {
		t.Error(err)
	}
	var got struct {
		Approval catalog.Approval `json:"approval"`
	}
	raw, _ := answer.Data.Data.(json.RawMessage)
	if answer.Error != nil || json.Unmarshal(raw, &got) != nil {
		t.Fatalf("%v: %s", answer.Error, raw)
	}
	return got.Approval.ID
}

func TestApprovalsAreDecided(t *testing.T) {
	b := newBench(t, nil)
	b.env["HOTCELL__DATA_DIR"] = t.TempDir()
	alice := a2e.Caller{Principal: "alice", Agent: "bot"}
	good := b.asked(t, alice, "notes")
	bad := b.asked(t, alice, "time-arithmetic") // which is a shipped skill's
	other := b.asked(t, a2e.Caller{Principal: "bob", Agent: "bot"}, "notes")
	if got := b.says(t, exitOK, "approvals", "list"); strings.Count(got, "pending") != 3 || !strings.Contains(got, "alice") {
		t.Error(got)
	}
	if got := b.says(t, exitOK, "approvals", "show", good); !strings.Contains(got, `"body": "# Notes"`) {
		t.Error(got)
	}
	if got := b.says(t, exitOK, "approvals", "approve", good); got != "approved: create notes\n" {
		t.Error(got)
	}
	if got := b.says(t, exitFailed, "approvals", "approve", bad); !strings.Contains(got, "the write failed: SKILL_NAME_RESERVED") {
		t.Error(got)
	}
	b.says(t, exitOK, "approvals", "deny", other, "--why", "not now")
	if got := b.says(t, exitUsage, "approvals", "approve", other); !strings.Contains(got, "is decided already") {
		t.Error(got)
	}
	if got := b.says(t, exitOK, "approvals", "list"); strings.Count(got, "\n") != 1 {
		t.Error(got)
	}
	if got := b.says(t, exitOK, "approvals", "list", "--all"); !strings.Contains(got, "not now") || !strings.Contains(got, "failed") {
		t.Error(got)
	}
	if got := b.says(t, exitUsage, "approvals", "approve", "apr-x"); !strings.Contains(got, "there is no approval apr-x") {
		t.Error(got)
	}
}
