package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// fewEvents is up to how many events the page of a call lists the artifacts itself: for more, a part of it is loaded afterwards.
const fewEvents = 1000

// anyPage is the page of events that tells most: the last one of a call that failed, else the first.
const anyPage = -1

// callView is the page of one call.
type callView struct {
	Call     control.Call
	Live     bool
	Took     string
	Why      *explanation
	Message  string // the error's own
	Stderr   string
	Tail     string // its last lines
	Longer   bool   // there are more of them
	Skill    string // the skill's own code
	Code     string
	Reason   string
	Retry    bool
	Remarks  []remark
	Phases   []phaseRow
	Total    time.Duration
	Bars     []bar
	Facts    []fact
	Uses     []use
	Cost     string
	Answered bool
	Summary  string
	Data     string
	Clipped  bool // the data
	Plain    bool // it is a text, and shown as that
	Events   *eventList
	Files    *files // nil: they are looked up apart
	Ran      *control.Ran
	Asked    *control.Request
	Args     string
	MayAgain bool
	Skills   bool // there is a page of the skill for who looks, as far as that is known
	NoAgain  string
	Lost     []string // parts that could not be had, and why
}

// fact is a name and a value.
type fact struct{ Name, Value string }

// callView looks up all that is told of a call. While it runs its newest events are shown, afterwards those from from on. before
// is the view of a moment ago, nil for none: what it said meanwhile is not read again where it said nothing.
func (v *visit) callView(ctx context.Context, id string, from int, before *callView) (*callView, error) {
	leave, err := v.reading()
	if err != nil {
		return nil, err
	}
	defer leave()
	call, answer, err := v.calls().Show(ctx, id)
	if err != nil {
		return nil, err
	}
	if !v.who.May(auth.Admin) {
		call.Account = nil // it is the audit's
	}
	d := &callView{Call: call, Live: !call.State.Terminal(), Skills: v.o.Reader != nil && v.who.May(auth.SkillsRead) && call.Code != a2e.UnknownSkill}
	v.said(ctx, d, from, before)
	v.booked(ctx, d)
	c := &cause{call: call, ran: d.Ran, asked: d.Asked}
	c.uses, d.Cost = d.Uses, costOf(d.Uses)
	if call.Code == a2e.Timeout {
		c.last = v.lastEvent(ctx, call)
	}
	d.fill(c, answer)
	d.repeatable(v.o.Handler != nil)
	return d, nil
}

// said looks up the events of a call, and its files where that is not too much.
func (v *visit) said(ctx context.Context, d *callView, from int, before *callView) {
	call, most := d.Call, eventsPage
	switch {
	case before != nil && before.Live == d.Live && before.Call.Events == call.Events && len(before.Lost) == 0:
		d.Events, d.Files = before.Events, before.Files
		return
	case d.Live:
		from, most = max(0, call.Events-eventsLive), eventsLive
	case from == anyPage && call.Code != "" && call.Events > 0:
		from = (call.Events - 1) / eventsPage * eventsPage
	case from == anyPage:
		from = 0
	}
	var err error
	if d.Events, err = v.listed(ctx, call, from, most); err != nil {
		d.Events = nil
		d.lose("its events", v.lost(err))
	}
	if call.Events <= fewEvents && (!d.Live || call.Events <= eventsLive) {
		if d.Files, err = v.filesOf(ctx, call.ID); err != nil {
			d.Files = nil
			d.lose("its files", v.lost(err))
		}
	}
}

// booked looks up what is kept beside a call: what it was asked, the policy that it ran under, what it used outside of its cell.
func (v *visit) booked(ctx context.Context, d *callView) {
	var err error
	if d.Ran, err = v.o.Book.Policy(ctx, v.whose(), d.Call.ID); !errors.Is(err, control.ErrNotFound) {
		d.lose("its policy", v.lost(err))
	}
	if d.Asked, err = v.o.Book.Request(ctx, v.whose(), d.Call.ID); !errors.Is(err, control.ErrNotFound) {
		d.lose("what it was asked", v.lost(err))
	}
	d.Uses, err = v.usesOf(ctx, d.Call)
	d.lose("what it used outside of its cell", v.lost(err))
}

// lose notes that a part is not there. why is "" where it is.
func (d *callView) lose(part, why string) {
	if why != "" {
		d.Lost = append(d.Lost, part+": "+why)
	}
}

// lastEvent is the newest event that is kept of a call; nil: there is none.
func (v *visit) lastEvent(ctx context.Context, call control.Call) *a2e.Event {
	var last *a2e.Event
	_ = v.eachEvent(ctx, call.ID, max(0, call.Events-1), 1, func(ev *a2e.Event) { last = ev }) // then it is not told
	return last
}

func (d *callView) fill(c *cause, answer *a2e.CallResponse) {
	end := d.Call.Ended
	if d.Live {
		end = time.Now()
	}
	if !end.IsZero() {
		d.Total = end.Sub(d.Call.Accepted)
		d.Took = tookText(d.Total)
	}
	d.answer(c, answer)
	if !d.Live {
		d.Remarks = c.remarks(answer)
	}
	d.Phases = phasesOf(d.Call, d.Total)
	d.Bars, d.Facts = barsOf(c), factsOf(c)
	if d.Asked != nil && len(d.Asked.Args) > 0 {
		d.Args, _ = prettyJSON(d.Asked.Args, shownData)
	}
}

// answer puts the answer into words.
func (d *callView) answer(c *cause, answer *a2e.CallResponse) {
	if answer == nil {
		if d.Call.Code != "" { // it is not kept, and the code is
			c.fail = &a2e.Error{Code: d.Call.Code, Retryable: d.Call.Code.Retryable()}
			if d.Call.Reason != "" {
				c.fail.Because(d.Call.Reason)
			}
		}
	} else {
		c.fail = answer.Error
		if r := answer.Data; r != nil {
			d.Answered = true
			d.Summary, _ = r.Summary.(string)
			d.Data, d.Clipped, d.Plain = resultText(r.Data)
		}
	}
	if c.fail == nil {
		return
	}
	d.Why = explain(c)
	d.Message, d.Skill = clip(c.fail.Message, shownText), clip(c.text("skill_code"), 128)
	d.Stderr = clip(c.text("stderr"), 4*shownText)
	d.Tail, d.Longer = tailOf(d.Stderr, 12)
	d.Code, d.Reason, d.Retry = string(c.fail.Code), c.fail.Reason(), c.fail.Retryable
}

// resultText is what a call gave, for people: a text as it is, all else as JSON.
func resultText(data any) (text string, clipped, plain bool) {
	if raw, ok := data.(json.RawMessage); ok {
		switch {
		case string(raw) == "null":
			return "", false, false
		case len(raw) > 0 && raw[0] == '"':
			_ = json.Unmarshal(raw, &data)
		}
	}
	switch s := data.(type) {
	case nil:
		return "", false, false
	case string:
		return clip(s, shownData), len(s) > shownData, true
	}
	text, clipped = prettyJSON(data, shownData)
	return text, clipped, false
}

// tailOf returns the last lines of a text, and whether there are more.
func tailOf(s string, lines int) (tail string, more bool) {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(all) <= lines {
		return s, false
	}
	return strings.Join(all[len(all)-lines:], "\n"), true
}

// repeatable says whether the call can be run again, or why not.
func (d *callView) repeatable(handled bool) {
	switch {
	case d.Live || !handled:
	case d.Asked == nil:
		d.NoAgain = "what it was asked is not kept"
	case d.Asked.Missing != "":
		d.NoAgain = d.Asked.Missing
	default:
		d.MayAgain = true
	}
}

// phaseRow is a part of a call's life as a bar: X and Width are thousandths of the whole.
type phaseRow struct {
	Name, Text, Took string
	Class            string
	X, Width         int
	Now              bool
}

var phaseWords = map[string]string{
	"plan": "the request was checked, and what the skill may use was decided", "queue": "it waited for a free place", "prepare": "its image was made ready",
	"lease": "it took a cell that was waiting", "start": "a cell was made for it", "run": "the skill ran in its cell",
	"answer": "the answer was written down", "teardown": "the cell was destroyed",
}

// phasesOf are the phases of a call, or what its times tell where nobody noted them.
func phasesOf(c control.Call, total time.Duration) []phaseRow {
	all := c.Phases
	if len(all) == 0 && !c.Started.IsZero() && total > 0 {
		wait := c.Started.Sub(c.Accepted)
		all = []control.Phase{{Name: "before", Took: wait}, {Name: "run", From: wait, Took: total - wait}}
	}
	for _, p := range all {
		total = max(total, p.From+p.Took)
	}
	rows := make([]phaseRow, 0, len(all))
	for i, p := range all {
		took := p.Took
		r := phaseRow{Name: clip(p.Name, 20), Text: phaseWords[p.Name], Class: "rest"}
		if r.Now = i == len(all)-1 && !c.State.Terminal(); r.Now {
			took = max(took, total-p.From)
		}
		switch p.Name {
		case "run":
			r.Class = "run"
		case "queue":
			r.Class = "wait"
		case "before":
			r.Text, r.Class = "it waited, and its cell was made ready", "wait"
		}
		r.Took = tookText(took)
		if total > 0 {
			r.X = int(min(1000*p.From/total, 994))
			r.Width = max(6, int(min(1000*took/total, time.Duration(1000-r.X))))
		}
		rows = append(rows, r)
	}
	return rows
}

// bar is a peak beside its limit, in thousandths.
type bar struct {
	Name, Text string
	Width      int
	Class      string
}

// barsOf are what a call used, where there is a limit.
func barsOf(c *cause) (all []bar) {
	u := c.usage()
	add := func(name string, used, most int64, text string) {
		if used <= 0 || most <= 0 {
			return
		}
		w := int(min(1000*float64(used)/float64(most), 1000))
		class := "ok"
		if w >= 900 {
			class = "full"
		}
		all = append(all, bar{name, text, max(w, 6), class})
	}
	if b, ok := c.limit("limits.memory"); ok {
		add("Memory, at most", u.MemoryPeakBytes, bytesOf(b.value), fmt.Sprintf("%s of %s", sizeText(u.MemoryPeakBytes), b.text()))
	}
	if b, ok := c.limit("timeout"); ok {
		add("Time", int64(c.took()), int64(secondsOf(b.value)), fmt.Sprintf("%s of %s", span(c.took()), span(secondsOf(b.value))))
	}
	if b, ok := c.limit("limits.cpu"); ok && c.took() > 0 {
		most := c.took().Milliseconds() * coresOf(b.value) / 1000
		add("Processor", u.CPUMS, most, fmt.Sprintf("%s of %s (limits.cpu: %s)", span(time.Duration(u.CPUMS)*time.Millisecond), span(time.Duration(most)*time.Millisecond), b.value))
	}
	if b, ok := c.limit("limits.pids"); ok {
		most, _ := numberOf(b.value)
		add("Processes and threads, at most", int64(u.PIDsPeak), most, fmt.Sprintf("%d of %s", u.PIDsPeak, b.value))
	}
	return all
}

// factsOf are what a call used, as far as it was measured, and what of the outside.
func factsOf(c *cause) (all []fact) {
	u := c.usage()
	add := func(name, value string, there bool) {
		if there {
			all = append(all, fact{name, value})
		}
	}
	_, bounded := c.limit("limits.memory")
	add("Memory, at most", sizeText(u.MemoryPeakBytes), u.MemoryPeakBytes > 0 && !bounded)
	add("Processor time", msText(u.CPUMS), u.CPUMS > 0 && !bounded)
	add("Held back by limits.cpu", msText(u.ThrottledMS), u.ThrottledMS > 0)
	add("Processes and threads, at most", fmt.Sprint(u.PIDsPeak), u.PIDsPeak > 0 && !bounded)
	if c.call.Account == nil || c.call.Account.Uses == nil {
		return all
	}
	uses := c.call.Account.Uses
	add("Tokens of models", fmt.Sprintf("%s in, %s out", countText(int(uses.TokensIn)), countText(int(uses.TokensOut))), uses.TokensIn+uses.TokensOut > 0)
	add("Requests to models", counts(uses.Providers), len(uses.Providers) > 0)
	add("Tools", counts(uses.Tools), len(uses.Tools) > 0)
	add("Hosts", counts(uses.Hosts), len(uses.Hosts) > 0)
	add("Refused by hotcell", plural(uses.Refused, "request", "requests"), uses.Refused > 0)
	add("Failed out there", plural(uses.Failed, "request", "requests"), uses.Failed > 0)
	return all
}

func msText(n int64) string { return tookText(time.Duration(n) * time.Millisecond) }
