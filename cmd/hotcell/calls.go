package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// callFlags are those that all of `hotcell calls` take.
type callFlags struct {
	url   string
	token string
	json  bool
	limit int
	from  int

	skill, principal, verdict, since string
}

func (a *app) callsCmd() *cobra.Command {
	c := &cobra.Command{Use: "calls", Short: "List, show or cancel the daemon's calls, or print their events"}
	group(c)
	var f callFlags
	c.PersistentFlags().StringVar(&f.url, "url", "", "`URL` of the daemon (default: http:// and the configuration's listen)")
	c.PersistentFlags().StringVar(&f.token, "token-file", "", "`FILE` that holds a token for the daemon (also $HOTCELL_TOKEN_FILE)")
	c.PersistentFlags().BoolVar(&f.json, "json", false, "print JSON")
	list := &cobra.Command{
		Use: "list", Short: "List calls, the newest first", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return a.listCalls(c.Context(), f) },
	}
	list.Flags().IntVar(&f.limit, "limit", 50, "at most so many; 0 for as many as can be listed, 10,000")
	list.Flags().StringVar(&f.skill, "skill", "", "only calls of this `SKILL`")
	list.Flags().StringVar(&f.principal, "principal", "", "only calls of this `PRINCIPAL`; for admins")
	list.Flags().StringVar(&f.verdict, "verdict", "", "only `running`, succeeded, failed or canceled calls, or those that failed with a code such as timeout")
	list.Flags().StringVar(&f.since, "since", "", "only from a `TIME` on: 2030-01-31T12:00:00Z, 2030-01-31, or how long ago, such as 12h or 7d")
	events := &cobra.Command{
		Use: "events ID", Short: "Print the events that are kept of a call", Args: exactly("ID"),
		RunE: func(c *cobra.Command, args []string) error { return a.callEvents(c.Context(), args[0], f) },
	}
	events.Flags().IntVar(&f.from, "from", 0, "start at this sequence number")
	c.AddCommand(list, events, &cobra.Command{
		Use: "show ID", Short: "Show a call and, when it has ended, its answer", Args: exactly("ID"),
		RunE: func(c *cobra.Command, args []string) error { return a.showCall(c.Context(), args[0], f) },
	}, &cobra.Command{
		Use: "cancel ID", Short: "Cancel a call", Args: exactly("ID"),
		RunE: func(c *cobra.Command, args []string) error { return a.cancelCall(c.Context(), args[0], f) },
	})
	return c
}

// daemon is the control of the daemon at --url, or else where the configuration says that it listens.
func (a *app) daemon(f callFlags) (control.Control, error) {
	base := f.url
	if base == "" {
		cfg, _, err := a.settings()
		if err != nil {
			return nil, err
		}
		base = cfg.LocalURL()
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usagef("--url %s: expected http://host:port", oneLine(base, 200))
	}
	token, err := a.token(f.token)
	if err != nil {
		return nil, err
	}
	return a.dial(base, token)
}

// daemonError says what to do when nobody answers or nothing has the id.
func daemonError(id string, err error) error {
	var op *net.OpError
	switch {
	case errors.Is(err, control.ErrNotFound):
		return usagef("no call has the id or request id %q: 'hotcell calls list' shows those that are kept", oneLine(id, 80))
	case errors.Is(err, control.ErrEnded):
		return fmt.Errorf("call %s has ended already: 'hotcell calls show' has its answer", oneLine(id, 80))
	case errors.Is(err, control.ErrElsewhere):
		return fmt.Errorf("call %s runs in another hotcell process, such as 'hotcell run': stop it there", oneLine(id, 80))
	case errors.Is(err, auth.ErrMissing):
		return unauthorized(fmt.Errorf("%w: name a file that holds one with --token-file or HOTCELL_TOKEN_FILE", err))
	case errors.Is(err, auth.ErrRefused):
		return unauthorized(fmt.Errorf("%w: 'hotcell tokens create' makes one where the daemon runs", err))
	case errors.Is(err, auth.ErrScope):
		return unauthorized(fmt.Errorf("%w: it needs calls or admin", err))
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("no hotcell daemon answers (%w): start one with 'hotcell serve', or name it with --url", op.Err)
	}
	return err
}

func (a *app) listCalls(ctx context.Context, f callFlags) error {
	if f.limit < 0 {
		return usagef("--limit %d: expected no less than 0", f.limit)
	}
	calls, err := a.findCalls(ctx, f)
	if err != nil {
		return err
	}
	if f.json {
		return a.printJSON(append([]control.Call{}, calls...))
	}
	var rows [][]string
	for _, c := range calls {
		rows = append(rows, []string{
			oneLine(c.ID, 40), stateText(c), oneLine(c.Skill, 64), oneLine(c.Door, 20),
			c.Accepted.Local().Format(time.DateTime), duration(c), fmt.Sprint(c.Events), oneLine(c.ReqID, 64),
		})
	}
	table(a.out, []string{"ID", "STATE", "SKILL", "DOOR", "ACCEPTED", "TOOK", "EVENTS", "REQUEST"}, rows)
	return nil
}

// searching is a daemon that finds calls by what they are.
type searching interface {
	Search(ctx context.Context, q control.CallQuery) (control.CallPage, error)
}

// findCalls asks the daemon for the calls that the flags mean.
func (a *app) findCalls(ctx context.Context, f callFlags) ([]control.Call, error) {
	q := control.CallQuery{Skill: f.skill, Principal: f.principal, Verdict: f.verdict}
	var err error
	if q.Since, err = pointInTime(f.since, time.Now()); err != nil {
		return nil, usagef("--since: %w", err)
	}
	if err := q.Check(); err != nil {
		return nil, usagef("--%w", err)
	}
	daemon, err := a.daemon(f)
	if err != nil {
		return nil, err
	}
	finder, can := daemon.(searching)
	if q == (control.CallQuery{}) || !can {
		calls, err := daemon.List(ctx, f.limit)
		return calls, daemonError("", err)
	}
	q.Limit = f.limit
	page, err := finder.Search(ctx, q)
	return page.Calls, daemonError("", err)
}

// stateText is where a call stands, and why it failed.
func stateText(c control.Call) string {
	text := string(c.State)
	if c.Code != "" && c.State != control.Succeeded {
		text += " " + string(c.Code)
	}
	if c.Reason != "" {
		text += "/" + c.Reason
	}
	return oneLine(text, 80)
}

// duration is how long a call took, from its acceptance, or has taken so far.
func duration(c control.Call) string {
	end := c.Ended
	if end.IsZero() {
		end = time.Now()
	}
	return took(max(0, end.Sub(c.Accepted).Milliseconds()))
}

func (a *app) showCall(ctx context.Context, id string, f callFlags) error {
	daemon, err := a.daemon(f)
	if err != nil {
		return err
	}
	call, answer, err := daemon.Show(ctx, id)
	if err != nil {
		return daemonError(id, err)
	}
	if f.json {
		return a.printJSON(struct {
			Call   control.Call      `json:"call"`
			Answer *a2e.CallResponse `json:"answer"`
		}{call, answer})
	}
	facts(a.out, [][2]string{
		{"id", oneLine(call.ID, 80)}, {"request", oneLine(call.ReqID, 200)}, {"skill", oneLine(call.Skill, 80)},
		{"state", stateText(call)}, {"door", oneLine(call.Door, 40)},
		{"principal", oneLine(call.Principal, 200)}, {"agent", oneLine(call.Agent, 200)}, {"cell", oneLine(call.Cell, 80)},
		{"accepted", clock(call.Accepted)}, {"started", clock(call.Started)}, {"ended", clock(call.Ended)},
		{"deadline", clock(call.Deadline)}, {"took", duration(call)}, {"phases", phasesText(call)}, {"events", fmt.Sprint(call.Events)},
		{"used", usageText(call.Usage)}, {"evidence", oneLine(call.Confidence, 40)}, {"unenforced", oneLine(strings.Join(call.Unenforced, ", "), 200)}, {"notes", notesText(call.Notes)},
	})
	if answer == nil {
		return nil
	}
	showResult(a.out, answer)
	if fail := failure(answer); fail != nil {
		a.out.line("  " + failureLine(call.Skill, fail, ""))
	}
	return nil
}

// phasesText are the parts of a call's life; the last one goes on while the call does.
func phasesText(c control.Call) string {
	var parts []string
	for i, p := range c.Phases {
		long, more := p.Took, ""
		if i == len(c.Phases)-1 && !c.State.Terminal() {
			long, more = max(0, time.Since(c.Accepted)-p.From), " so far"
		}
		parts = append(parts, oneLine(p.Name, 20)+" "+took(long.Milliseconds())+more)
	}
	return strings.Join(parts, ", ")
}

// usageText is what a call's cell used, of that what was measured.
func usageText(u *control.Usage) string {
	if u == nil {
		return ""
	}
	var parts []string
	add := func(measured bool, part string) {
		if measured {
			parts = append(parts, part)
		}
	}
	add(u.MemoryPeakBytes > 0, size(u.MemoryPeakBytes)+" of memory at most")
	add(u.CPUMS > 0, took(u.CPUMS)+" of processor time")
	add(u.ThrottledMS > 0, took(u.ThrottledMS)+" throttled")
	add(u.PIDsPeak > 0, fmt.Sprintf("%d %s at most", u.PIDsPeak, plural(u.PIDsPeak, "process", "processes")))
	return strings.Join(parts, ", ")
}

func notesText(notes map[string]any) string {
	if len(notes) == 0 {
		return ""
	}
	return oneLine(safeJSON(compact(notes)), 300)
}

func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05.000")
}

// callEvents prints events as people see them in `hotcell run`, or as JSON, one a line. They may come in several answers.
func (a *app) callEvents(ctx context.Context, id string, f callFlags) error {
	if f.from < 0 {
		return usagef("--from %d: expected no less than 0", f.from)
	}
	daemon, err := a.daemon(f)
	if err != nil {
		return err
	}
	sums, err := newArtifacts("", false)
	if err != nil {
		return err
	}
	show := a2e.EventWriter(&view{screen: a.out, still: true, artifacts: sums, lost: func(error) {}})
	if f.json {
		enc := a2e.NewEncoder(a.jsonOut())
		show = a2e.EventWriterFunc(func(_ context.Context, ev *a2e.Event) error { return enc.Encode(ev) })
	}
	for from := f.from; ; {
		events, err := daemon.Events(ctx, id, from)
		if err != nil {
			return daemonError(id, err)
		}
		if len(events) == 0 || events[len(events)-1].Seq < from {
			return nil
		}
		for i := range events {
			if err := show.WriteEvent(ctx, &events[i]); err != nil {
				return err
			}
		}
		from = events[len(events)-1].Seq + 1
	}
}

func (a *app) cancelCall(ctx context.Context, id string, f callFlags) error {
	daemon, err := a.daemon(f)
	if err != nil {
		return err
	}
	if err := daemon.Cancel(ctx, id); err != nil {
		return daemonError(id, err)
	}
	if f.json {
		return a.printJSON(map[string]any{"id": id, "cancelled": true})
	}
	a.out.line("call " + oneLine(id, 80) + " is being cancelled")
	return nil
}
