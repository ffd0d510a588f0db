package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/store"
)

func (a *app) auditCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "audit", Short: "Show and verify what ran, for whom, with what, and what operators did",
		Long: "Show and verify what ran, for whom, with what, and what operators did. These commands read the journal itself: no daemon\n" +
			"need run, and one that does may write meanwhile.",
	}
	group(c)
	c.AddCommand(a.listAuditCmd(), a.verifyAuditCmd(), a.headAuditCmd(), a.exportAuditCmd())
	for _, sub := range c.Commands() {
		sub.PreRunE = noneEmpty
	}
	return c
}

// noneEmpty refuses flags that were given nothing, mostly a script's unset variable: without its anchor a verification would say
// ok all the same, and without its filter an export would have everything.
func noneEmpty(c *cobra.Command, _ []string) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.String() == "" {
			err = usagef("%s--%s: expected a value, got nothing (see '%s')", prefix(c), f.Name, helpFor(c))
		}
	})
	return err
}

// auditFilter is which rows a command is about.
type auditFilter struct{ call, principal, skill, kind, since, until string }

func (f *auditFilter) flags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.call, "call", "", "only about one call: its `ID`, or its request's")
	flags.StringVar(&f.principal, "principal", "", "only of one `NAME`")
	flags.StringVar(&f.skill, "skill", "", "only about one skill, by its `NAME`")
	flags.StringVar(&f.kind, "kind", "", "only of one `KIND`, such as call.end, token.create or llm.request")
	flags.StringVar(&f.since, "since", "", "only from a `TIME` on: 2030-01-31T12:00:00Z, 2030-01-31, or how long ago, such as 12h or 7d")
	flags.StringVar(&f.until, "until", "", "only before a `TIME`")
}

func (f *auditFilter) query(now time.Time) (q control.AuditQuery, err error) {
	if f.kind != "" && !audit.Kind(f.kind) {
		return q, usagef("--kind %q: expected one of %s", oneLine(f.kind, 60), strings.Join(slices.Concat(audit.Kinds(), audit.Uses()), ", "))
	}
	q = control.AuditQuery{Principal: f.principal, Skill: f.skill, Kind: f.kind}
	for _, t := range []struct {
		flag, text string
		to         *time.Time
	}{{"--since", f.since, &q.Since}, {"--until", f.until, &q.Until}} {
		if *t.to, err = pointInTime(t.text, now); err != nil {
			return q, usagef("%s: %w", t.flag, err)
		}
	}
	return q, nil
}

var errTime = errors.New("expected a time such as 2030-01-31T12:00:00Z or 2030-01-31, or how long ago, such as 12h or 7d")

// pointInTime reads a moment, a day of this place, or how long ago it was.
func pointInTime(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		return t, nil
	}
	age, err := config.ParseAge(s)
	if err != nil {
		return time.Time{}, errTime
	}
	return now.Add(-time.Duration(age)), nil
}

// auditStore opens the journal to read its audit. Nothing is written.
func (a *app) auditStore(ctx context.Context) (*store.Store, error) {
	cfg, _, err := a.settings()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(cfg.JournalPath()); cfg.JournalPath() != "" && errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("there is no journal yet: %s", oneLine(cfg.JournalPath(), 300))
	}
	return host.OpenAudit(ctx, cfg, a.logger(cfg, slog.LevelWarn))
}

// calls finds the call that a filter names. One that is not kept any more may still be in the audit.
func (f *auditFilter) find(ctx context.Context, journal *store.Store, q *control.AuditQuery) error {
	if f.call == "" {
		return nil
	}
	r, err := journal.Find(ctx, f.call, control.Whose{})
	if err == nil {
		q.Call = r.ID
		return nil
	}
	if !errors.Is(err, control.ErrNotFound) {
		return err
	}
	rows, err := journal.AuditRows(ctx, control.AuditQuery{Call: f.call, Limit: 1})
	if err == nil && len(rows) == 0 {
		var uses []control.AuditRow
		if uses, err = journal.AuditUses(ctx, control.AuditQuery{Call: f.call, Limit: 1}); err == nil && len(uses) == 0 {
			return usagef("there is no call %q: 'hotcell calls list' shows those of the daemon", oneLine(f.call, 80))
		}
	}
	q.Call = f.call
	return err
}

func (a *app) listAuditCmd() *cobra.Command {
	var f auditFilter
	var limit int
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the newest entries, the oldest of them first",
		Long: "List the newest entries, the oldest of them first, at most 10,000: how calls ended and what operators did, and as long as\n" +
			"a call is kept, which model, host and tool it asked, what became of it, tokens in + out, and the cost where the\n" +
			"configuration has a price.",
		Example: "  hotcell audit list --call 01M8NY82V13BFT9F7J736452VN\n" +
			"  hotcell audit list --kind call.end --principal alice --since 7d\n" +
			"  hotcell audit list --kind llm.request --json | jq 'group_by(.skill)[] | {skill: .[0].skill, tokens: map(.data.tokens_in + .data.tokens_out) | add}'",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return a.listAudit(c.Context(), &f, limit, asJSON) },
	}
	f.flags(c)
	c.Flags().IntVar(&limit, "limit", 0, "only so many, the newest; 0 for all")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, with all that is kept")
	return c
}

// mostAudited is the most that is listed.
const mostAudited = 10_000

func (a *app) listAudit(ctx context.Context, f *auditFilter, limit int, asJSON bool) error {
	if limit < 0 {
		return usagef("--limit %d: expected 0 or more", limit)
	}
	if limit == 0 || limit > mostAudited {
		limit = mostAudited
	}
	q, err := f.query(time.Now())
	if err != nil {
		return err
	}
	journal, err := a.auditStore(ctx)
	if err != nil {
		return err
	}
	defer journal.Close()
	if err := f.find(ctx, journal, &q); err != nil {
		return err
	}
	q.Limit = limit
	all, err := journal.AuditUses(ctx, q)
	if err != nil {
		return err
	}
	q.Newest = true
	if err := journal.EachAuditRow(ctx, q, func(r *control.AuditRow) error { all = append(all, *r); return nil }); err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b control.AuditRow) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.N, b.N)) })
	if len(all) > limit {
		all = all[len(all)-limit:]
	}
	return a.printAudit(all, asJSON)
}

func (a *app) printAudit(all []control.AuditRow, asJSON bool) error {
	if asJSON {
		return a.printJSON(append([]control.AuditRow{}, all...))
	}
	rows := make([][]string, 0, len(all))
	for _, r := range all {
		rows = append(rows, []string{
			r.At.Local().Format(time.DateTime), oneLine(r.Call, 40), oneLine(r.Principal, 40), oneLine(r.Skill, 64), oneLine(r.Kind, 40), oneLine(auditText(r), 300),
		})
	}
	whole(a.out, []string{"AT", "CALL", "WHO", "SKILL", "KIND", "WHAT"}, rows)
	return nil
}
