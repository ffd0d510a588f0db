package console

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

func (c *Console) callsPages() []page {
	return []page{
		{pattern: "GET " + Base + "/calls", scope: auth.Calls, serve: (*visit).list},
		{pattern: "GET " + Base + "/live/calls", scope: auth.Calls, serve: (*visit).listLive},
	}
}

// listView is the page.
type listView struct {
	Filter filter
	Choice choices
	List   tableView
	Admin  bool
	Live   bool   // new calls appear by themselves
	Still  string // why they can't
	Feed   string // the address of the live part
	Toggle string // of this page with it off, or on
}

// choices are what the fields of the form offer.
type choices struct {
	Skills, Doors, Verdicts, Codes []string
	Last                           []window
}

// tableView is a page of the list.
type tableView struct {
	Rows     []callRow
	Admin    bool // there are others' calls among them
	Filtered bool
	Older    string     // the address of the next page; "": there is none
	Newest   string     // that of the first; "": this is it
	First    *firstView // nobody has called anything yet
}

// callRow is a call in a table.
type callRow struct {
	control.Call
	Link string
	Why  string // it failed, in short
	Took time.Duration
}

func callRows(calls []control.Call) []callRow {
	rows := make([]callRow, 0, len(calls))
	for _, c := range calls {
		row := callRow{Call: c, Link: at("calls", c.ID), Why: shortWhy(&c)}
		switch {
		case c.State.Terminal():
			row.Took = c.Ended.Sub(c.Accepted)
		default:
			row.Took = time.Since(c.Accepted).Truncate(time.Second)
		}
		rows = append(rows, row)
	}
	return rows
}

func (v *visit) list() error {
	f, err := v.filter()
	if err != nil {
		return err
	}
	view := listView{Filter: f, Admin: v.who.May(auth.Admin), Still: f.still()}
	view.Choice = choices{Doors: doorNames, Verdicts: verdictNames, Codes: codeNames, Last: windows}
	view.Choice.Skills = v.called(v.ctx())
	if view.List, err = v.table(v.ctx(), f); err != nil {
		return err
	}
	q := f.values()
	view.Live = view.Still == "" && v.query("live", 10) != "off"
	view.Feed = withQuery(Base+"/live/calls", q)
	if view.Live {
		q.Set("live", "off")
	}
	view.Toggle = withQuery(Base+"/calls", q)
	return v.render("calls", "Calls", view)
}

// listLive sends the newest page of the list whenever it changes, so it never grows.
func (v *visit) listLive() error {
	f, err := v.filter()
	if err != nil {
		return err
	}
	if why := f.still(); why != "" {
		return wrong("This list does not change: " + why + ".")
	}
	return v.live(liveEvery, func(ctx context.Context) ([]piece, error) {
		list, err := v.table(ctx, f)
		if err != nil {
			return nil, err
		}
		return v.partsOf("calls", map[string]any{"table": list})
	})
}

// table searches a page of calls.
func (v *visit) table(ctx context.Context, f filter) (tableView, error) {
	p, err := v.o.Book.Search(ctx, v.whose(), f.query(time.Now()))
	if err != nil {
		return tableView{}, err
	}
	view := tableView{Rows: callRows(p.Calls), Admin: v.who.May(auth.Admin), Filtered: len(f.values()) > 0}
	q := f.values()
	if f.before != "" {
		view.Newest = withQuery(Base+"/calls", q)
	}
	if p.Next != "" {
		q.Set("before", p.Next)
		view.Older = withQuery(Base+"/calls", q)
	}
	if len(view.Rows) == 0 && !view.Filtered && f.before == "" {
		view.First, err = v.first()
	}
	return view, err
}

func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// called are the skills that were called within the last month, the most called first. A form can be filled in without them.
func (v *visit) called(ctx context.Context) (names []string) {
	s, err := v.stats(ctx, lately(30*24*time.Hour))
	if err != nil {
		v.troubleOf(err)
		return nil
	}
	for _, k := range s.Skills {
		names = append(names, k.Skill)
	}
	return names
}

// doorNames are the ways in that calls are known to take.
var doorNames = []string{"http", "socket", "stdio", "mcp", "a2a", "console", "cli", "doctor"}

// verdictNames are what can be asked for beside the codes of errors.
var verdictNames = []string{control.VerdictRunning, control.VerdictSucceeded, control.VerdictFailed, control.VerdictCanceled}

// codeNames are the codes of errors.
var codeNames = []string{
	string(a2e.Timeout), string(a2e.OutOfMemory), string(a2e.SandboxCrash), string(a2e.SkillError), string(a2e.RuntimeError), string(a2e.SchemaViolation),
	string(a2e.InvalidMessage), string(a2e.ParseError), string(a2e.UnknownSkill), string(a2e.Unauthorized), string(a2e.VersionMismatch),
}

// shortReasons and shortCodes say in a few words why a call failed; its own page says what to change.
var shortReasons = map[string]string{
	a2e.ReasonCancelled: "somebody cancelled it", a2e.ReasonQueueFull: "too many calls waited", a2e.ReasonQueueTimeout: "it waited too long for a cell",
	a2e.ReasonQuota: "its principal's quota is used up", a2e.ReasonDraining: "hotcell was stopping", a2e.ReasonImageUnavailable: "its image could not be had",
	a2e.ReasonEngineUnavailable: "the engine did not answer", a2e.ReasonStartFailed: "its cell did not start", a2e.ReasonOutputLimit: "it said more than it may",
	a2e.ReasonUnsupported: "this host can't give it what it asks for", a2e.ReasonBlocked: "the skill is blocked", a2e.ReasonTruncated: "its answer was cut off",
	a2e.ReasonSignal: "a signal killed it", a2e.ReasonExit: "its program ended with an error", a2e.ReasonOutputSchema: "its result breaks its own schema",
	a2e.ReasonInternal: "something failed inside hotcell", a2e.ReasonDuplicateID: "its id was in use", a2e.ReasonSupervisorRestart: "hotcell was restarted while it ran",
	a2e.ReasonOOMPressure: "the host ran short of memory", a2e.ReasonToolUnavailable: "a tool was not there",
	a2e.ReasonNodeLost: "its node was lost", a2e.ReasonEvicted: "it was taken off its node", a2e.ReasonPreempted: "something more important took its place",
	a2e.ReasonCellDeleted: "somebody deleted its pod", a2e.ReasonUnschedulable: "no node of the cluster took it", a2e.ReasonClusterQuota: "its namespace is full",
}

var shortCodes = map[a2e.Code]string{
	a2e.UnknownSkill: "there is no such skill", a2e.SkillError: "the skill said that it failed", a2e.RuntimeError: "hotcell could not run it",
	a2e.ParseError: "it sent what could not be read", a2e.InvalidMessage: "the request was not as it must be", a2e.SchemaViolation: "its arguments break the skill's schema",
	a2e.Timeout: "it took longer than it may", a2e.OutOfMemory: "it used more memory than it may", a2e.SandboxCrash: "its program crashed",
	a2e.Unauthorized: "the caller may not", a2e.VersionMismatch: "it speaks another version of the protocol",
}

// shortWhy says why a call has no result.
func shortWhy(c *control.Call) string {
	if c.State != control.Failed && c.State != control.Canceled {
		return ""
	}
	if c.Code == a2e.SkillError && c.Reason == a2e.ReasonStartFailed {
		return "its program did not start"
	}
	if s := shortReasons[c.Reason]; s != "" {
		return s
	}
	if s := shortCodes[c.Code]; s != "" {
		return s
	}
	return strings.ReplaceAll(clip(c.Reason, 60), "_", " ")
}
