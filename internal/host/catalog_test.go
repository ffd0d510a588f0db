package host

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/testutil"
)

// opened is a system over a data folder. No engine answers it.
func opened(t *testing.T, cfg *config.Config, plugins ...a2e.Plugin) *System {
	t.Helper()
	t.Setenv("DOCKER_HOST", "unix:///nowhere.sock")
	sys, err := Open(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler), Plugins: plugins})
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

func closed(t *testing.T, sys *System) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := errors.Join(sys.Supervisor.Drain(ctx), sys.Close()); err != nil {
		t.Error(err)
	}
}

func verdict(sys *System, who a2e.Caller, name string, args map[string]any) string {
	answer := sys.Supervisor.Call(context.Background(), who, &a2e.CallRequest{Name: name, Arguments: args}, nil)
	if answer.Error != nil {
		return string(answer.Error.Code)
	}
	raw, _ := answer.Data.Data.(json.RawMessage)
	return string(raw)
}

// The allowlist of an agent holds where skills are discovered, read and called, whatever the door, and so it does after a
// restart.
func TestAllowlistsHoldAtDiscoverReadAndCall(t *testing.T) {
	cfg := config.Default(false, t.TempDir(), "")
	sys := opened(t, cfg)
	ctx, alice := t.Context(), a2e.Caller{Principal: "alice", Door: "test"}
	bot, err := sys.Catalog.Agents.Create(ctx, alice, 0, "bot")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sys.Catalog.Agents.SkillOn(ctx, alice, bot.ID, catalog.AnyRevision, "time-arithmetic"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		who := alice
		who.Agent = "bot"
		defs, err := sys.Supervisor.Discover(ctx, who, &a2e.DiscoverRequest{})
		var names []string
		for _, d := range defs {
			names = append(names, d.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != "skill skill-catalog time-arithmetic" {
			t.Errorf("discovers %s, %v", got, err)
		}
		for _, c := range []struct {
			who        a2e.Caller
			name, arg  string
			want       string
			beginsWith bool
		}{
			{who, "skill", "time-arithmetic", `{"bytes":`, true}, {who, "skill", "code-review", "unauthorized", false}, {who, "skill", "nothing", "unauthorized", false},
			{alice, "skill", "code-review", `{"bytes":`, true}, {alice, "skill", "nothing", "unknown_skill", false},
			{who, "code-review", "", "unauthorized", false}, {who, "nothing", "", "unknown_skill", false}, {who, "manage_skill", "", "unknown_skill", false},
			{alice, "code-review", "", "schema_violation", false},
		} {
			got := verdict(sys, c.who, c.name, map[string]any{"name": c.arg})
			if got != c.want && !(c.beginsWith && strings.HasPrefix(got, c.want)) {
				t.Errorf("%s calls %s of %q: got %.100s", c.who.Agent, c.name, c.arg, got)
			}
		}
		closed(t, sys)
		sys = opened(t, cfg)
	}
	closed(t, sys)
}

// What a principal has used of a day's quota it has used after a restart, too.
func TestDayQuotasSurviveARestart(t *testing.T) {
	cfg := config.Default(false, t.TempDir(), "")
	cfg.Quotas.CPU = config.Age(time.Minute)
	who := a2e.Caller{Principal: "alice", Door: "test"}
	sys := opened(t, cfg)
	if got := verdict(sys, who, "skill-catalog", nil); !strings.HasPrefix(got, "{") {
		t.Fatal(got)
	}
	closed(t, sys)
	journal, err := OpenJournal(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	journal.Spend("alice", time.Now().Add(-time.Hour).UnixNano()/int64(15*time.Minute), time.Minute, 0)
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	sys = opened(t, cfg)
	defer closed(t, sys)
	if got := verdict(sys, who, "skill-catalog", nil); got != "runtime_error" {
		t.Errorf("got %s", got)
	}
	if got := verdict(sys, a2e.Caller{Principal: "bob"}, "skill-catalog", nil); !strings.HasPrefix(got, "{") {
		t.Errorf("bob: %s", got)
	}
}

// faulty is a plugin that can't list its skills.
type faulty struct{}

func (faulty) ListSkills(context.Context, a2e.Caller) ([]a2e.Definition, error) {
	panic("out of order")
}
func (faulty) ExecuteSkill(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) {
	panic("out of order")
}

// A plugin that fails costs its own skills alone.
func TestAFaultyPluginCostsNoOthers(t *testing.T) {
	sys := opened(t, config.Default(false, t.TempDir(), ""), faulty{})
	defer closed(t, sys)
	all, err := sys.Catalog.Reader.Callable(t.Context(), a2e.Caller{})
	if err != nil || len(all) < 4 {
		t.Errorf("%d skills, %v", len(all), err)
	}
	if got := verdict(sys, a2e.Caller{}, "skill-catalog", nil); !strings.HasPrefix(got, "{") {
		t.Errorf("got %s", got)
	}
}

// stubborn is a plugin that answers when it is let, whatever ctx says.
type stubborn struct {
	faulty
	let chan struct{}
}

func (s stubborn) ListSkills(context.Context, a2e.Caller) ([]a2e.Definition, error) {
	<-s.let
	return []a2e.Definition{{Name: "late"}}, nil
}

// A plugin that does not answer holds nobody, and no more than so many goroutines.
func TestAPluginThatHangsHoldsNobody(t *testing.T) {
	let := make(chan struct{})
	g := guard(stubborn{let: let}, slog.New(slog.DiscardHandler))
	g.limit = time.Millisecond
	g.room = auth.NewShares(4, 2)
	alice, bob := a2e.Caller{Principal: "alice"}, a2e.Caller{Principal: "bob"}
	for range 4 {
		if defs, err := g.ListSkills(t.Context(), alice); err != nil || defs != nil {
			t.Errorf("got %v, %v", defs, err)
		}
	}
	if _, err := g.list(t.Context(), alice); err == nil || !strings.Contains(err.Error(), "under way") {
		t.Errorf("got %v", err)
	}
	if _, err := g.list(t.Context(), bob); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("alice keeps bob from the plugin: %v", err)
	}
	close(let)
	g.limit = time.Minute
	testutil.Poll(t, time.Minute, func() bool {
		all, ok := g.room.Take("", 4)
		if ok {
			all()
		}
		return ok
	})
	if defs, err := g.ListSkills(t.Context(), a2e.Caller{}); err != nil || len(defs) != 1 {
		t.Errorf("when it answers again: %v, %v", defs, err)
	}
}
