package host

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/install"
)

// Whatever changes what callers may do or what there is to call leaves a row that says who did it, whichever way it comes.
func TestWritesAreInTheAudit(t *testing.T) {
	cfg := config.Default(false, t.TempDir(), "")
	sys := opened(t, cfg)
	ctx, alice := t.Context(), a2e.Caller{Principal: "alice", Door: "test"}
	word := func(s string) *string { return &s }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c := sys.Catalog
	bot, err := c.Agents.Create(ctx, alice, 0, "bot")
	must(err)
	_, err = c.Agents.SkillOn(ctx, alice, bot.ID, catalog.AnyRevision, "time-arithmetic")
	must(err)
	_, err = c.Agents.SkillOff(ctx, alice, bot.ID, catalog.AnyRevision, "time-arithmetic")
	must(err)
	_, err = c.Agents.SetTool(ctx, alice, bot.ID, catalog.AnyRevision, "manage_skill", true)
	must(err)
	_, err = c.Agents.SetOverride(ctx, alice, 0, 0, "skill", catalog.AnyRevision, &[]string{"code-review"})
	must(err)
	_, err = c.Custom.Create(ctx, alice, 0, catalog.Draft{Name: word("mine"), Description: word("Mine."), Body: word("private body")})
	must(err)
	_, err = c.Custom.Update(ctx, alice, 0, "mine", catalog.AnyRevision, catalog.Draft{Body: word("another body")})
	must(err)
	_, err = c.Custom.Restore(ctx, alice, 0, "mine", catalog.AnyRevision)
	must(err)
	_, err = c.Custom.Delete(ctx, alice, 0, "mine", catalog.AnyRevision)
	must(err)
	speaker := alice
	speaker.Agent = "bot"
	for _, name := range []string{"asked", "refused"} {
		verdict(sys, speaker, "manage_skill", map[string]any{"action": "create", "name": name, "description": "Asked for.", "body": "x\n"})
	}
	waiting, err := c.Approvals.List(ctx, alice, "pending")
	must(err)
	if len(waiting) != 2 {
		t.Fatalf("%v wait", waiting)
	}
	_, err = c.Approvals.Approve(ctx, alice, waiting[1].ID)
	must(err)
	_, err = c.Approvals.Deny(ctx, alice, waiting[0].ID, "no")
	must(err)
	must(c.Agents.Delete(ctx, alice, bot.ID, catalog.AnyRevision))
	ops := auth.NewContext(ctx, auth.Identity{Principal: "ops", Scopes: []auth.Scope{auth.Admin}})
	r, w := pipe(t)
	got, err := sys.Installer.Install(ops, "", install.TarGz, r, "")
	must(err)
	must(w())
	_, err = sys.Installer.Rollback(ops, got.Name, got.Version, "")
	must(err)
	must(sys.Installer.Remove(ops, got.Name, ""))
	rows, err := sys.Audit.AuditRows(ctx, control.AuditQuery{})
	must(err)
	var told []string
	for _, r := range rows {
		if r.Kind != audit.CallEnd && r.Kind != audit.KeyMade {
			told = append(told, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Kind, r.Principal, r.Door, r.Skill)))
		}
		if strings.Contains(string(r.Data), "body") || strings.Contains(string(r.Data), "Mine.") {
			t.Errorf("%s", r.Data)
		}
	}
	want := []string{
		"agent.create alice test", "agent.change alice test", "agent.change alice test", "agent.change alice test", "agent.default alice test",
		"skill.create alice test mine", "skill.update alice test mine", "skill.update alice test mine", "skill.delete alice test mine",
		"approval.decide alice test asked", "skill.create alice test asked", "approval.settle alice test asked", "approval.decide alice test refused",
		"agent.delete alice test", "bundle.install ops http greet", "bundle.rollback ops http greet", "bundle.uninstall ops http greet",
	}
	if fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	report, err := sys.Audit.VerifyAudit(ctx, control.AuditHead{})
	if err != nil || !report.OK || !report.Keyed {
		t.Errorf("%+v, %v", report, err)
	}
	closed(t, sys)
}

// At a command an operator stays who it is, in whose place it ever acts.
func TestOperatorsStayThemselves(t *testing.T) {
	cfg := config.Default(false, t.TempDir(), "")
	desk, err := OpenDesk(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = desk.Close() }()
	if _, err := desk.Agents.Create(ByOperator(t.Context()), a2e.Caller{Principal: "alice", Door: "cli", Admin: true}, 0, "bot"); err != nil {
		t.Fatal(err)
	}
	rows, err := desk.Store.AuditRows(context.Background(), control.AuditQuery{Kind: audit.AgentCreate})
	if err != nil || len(rows) != 1 || !strings.HasPrefix(rows[0].Principal, "uid:") || rows[0].Door != "cli" || !strings.Contains(string(rows[0].Data), `"owner":"user:alice"`) {
		t.Errorf("%v, %v", rows, err)
	}
}

// pipe is the archive of a skill, and waits for whoever packs it.
func pipe(t *testing.T) (io.Reader, func() error) {
	t.Helper()
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := install.Pack(w, fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: greet\ndescription: Greets people. Use when somebody is to be greeted.\n---\nHello.\n")}})
		packed <- w.CloseWithError(err)
	}()
	return r, func() error { return <-packed }
}
