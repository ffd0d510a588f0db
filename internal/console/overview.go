package console

import (
	"cmp"
	"context"
	"html/template"
	"net/url"
	"slices"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/console/chart"
	"github.com/hotcell/hotcell/internal/control"
)

// liveEvery is how often live pages look.
const liveEvery = 2 * time.Second

func (c *Console) overviewPages() []page {
	return []page{
		{pattern: "GET " + Base + "/{$}", scope: auth.Calls, serve: (*visit).overview},
		{pattern: "GET " + Base + "/live/overview", scope: auth.Calls, serve: (*visit).overviewLive},
	}
}

// window is the time that the overview's numbers are about.
type window struct {
	Key, Name string
	Span      string // it is "the last" of
	length    time.Duration
	each      time.Duration // of a bar: round, so bars stay where they are while time passes
	again     time.Duration // after which the numbers are asked for anew
}

var windows = []window{
	{"15m", "15 min", "15 minutes", 15 * time.Minute, 30 * time.Second, liveEvery},
	{"1h", "1 h", "hour", time.Hour, 2 * time.Minute, liveEvery},
	{"24h", "24 h", "24 hours", 24 * time.Hour, 30 * time.Minute, 10 * time.Second},
	{"7d", "7 days", "7 days", 7 * 24 * time.Hour, 6 * time.Hour, 30 * time.Second},
}

// windowOf is the one with a key; the second where there is none.
func windowOf(key string) window {
	for _, w := range windows {
		if w.Key == key {
			return w
		}
	}
	return windows[1]
}

// query is the window's time up to now, in whole bars.
func (w window) query(now time.Time) control.StatsQuery {
	until := now.UTC().Truncate(w.each).Add(w.each)
	return control.StatsQuery{Since: until.Add(-w.length), Until: until, Buckets: int(w.length / w.each)}
}

// overviewView is the page.
type overviewView struct {
	Window  window
	Windows []window
	Live    bool
	Feed    string // the address of the live parts
	Toggle  string // of this page with the live parts off, or on
	Now     nowView
	Sums    *sumsView
	Failed  failedView
}

// failedView are the newest calls that failed.
type failedView struct {
	Rows []callRow
	Lost string // why they could not be had
}

// sumsView are the numbers of a window.
type sumsView struct {
	Window            window
	Total             control.Tally
	Ended, Wrong      template.HTML // small bars
	Verdicts, Latency template.HTML
	Slowest, Failing  []skillRow
	First             *firstView // there is nothing to count: nobody has called anything yet
	Lost              string     // why there are no numbers
}

// skillRow is a skill in a ranking, and the calls that put it there.
type skillRow struct {
	control.SkillStat
	Link string
}

func (v *visit) overview() error {
	w := windowOf(v.query("window", 10))
	view := overviewView{Window: w, Windows: windows, Live: v.query("live", 10) != "off"}
	view.Feed = Base + "/live/overview?window=" + w.Key
	view.Toggle = Base + "/?window=" + w.Key
	if view.Live {
		view.Toggle += "&live=off"
	}
	view.Now, view.Sums, view.Failed = v.now(v.ctx()), v.sums(v.ctx(), w), v.lastFailed(v.ctx())
	return v.render("overview", "Overview", view)
}

// overviewLive sends the parts that change. The numbers of long windows change slowly, so they are asked for less often.
func (v *visit) overviewLive() error {
	w := windowOf(v.query("window", 10))
	var asked time.Time
	return v.live(liveEvery, func(ctx context.Context) ([]piece, error) {
		parts := map[string]any{"now": v.now(ctx), "failed": v.lastFailed(ctx)}
		if time.Since(asked) >= w.again {
			asked = time.Now()
			parts["sums"] = v.sums(ctx, w)
		}
		return v.partsOf("overview", parts)
	})
}

// partsOf draws parts for a live page, each under the name of its template.
func (v *visit) partsOf(name string, parts map[string]any) ([]piece, error) {
	var all []piece
	for what, data := range parts {
		p, err := v.piece(what, name, what, data)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// sums are the numbers of a window: of the calls that the one who asks may see.
func (v *visit) sums(ctx context.Context, w window) *sumsView {
	view, err := v.counted(ctx, w)
	if err != nil {
		return &sumsView{Window: w, Lost: v.lost(err)}
	}
	return view
}

func (v *visit) counted(ctx context.Context, w window) (*sumsView, error) {
	q := w.query(time.Now())
	s, err := v.stats(ctx, q)
	if err != nil {
		return nil, err
	}
	if s.Total.Calls == 0 {
		p, err := v.o.Book.Search(ctx, v.whose(), control.CallQuery{Limit: 1})
		if err != nil || len(p.Calls) == 0 {
			return v.nothing(w, err)
		}
	}
	view := &sumsView{Window: w, Total: s.Total, Verdicts: verdictChart(w, q, s), Latency: latencyChart(w, q, s)}
	view.Ended = chart.Spark("Calls over the last "+w.Span, chart.Off, each(s, func(b control.Bucket) int { return b.Calls }))
	view.Wrong = chart.Spark("Failed calls over the last "+w.Span, chart.First, each(s, func(b control.Bucket) int { return b.Failed }))
	view.Slowest = ranked(s.Skills, url.Values{"last": {w.Key}}, func(k control.SkillStat) int64 { return int64(k.P95) })
	view.Failing = ranked(s.Skills, url.Values{"last": {w.Key}, "verdict": {control.VerdictFailed}}, func(k control.SkillStat) int64 { return int64(k.Failed) })
	return view, nil
}

func (v *visit) nothing(w window, err error) (*sumsView, error) {
	if err != nil {
		return nil, err
	}
	f, err := v.first()
	return &sumsView{Window: w, First: f}, err
}

func each(s *control.Stats, of func(control.Bucket) int) []int {
	all := make([]int, len(s.Buckets))
	for i, b := range s.Buckets {
		all[i] = of(b)
	}
	return all
}

// ranked are the five skills of the highest rank above 0, with links to the calls that q means.
func ranked(skills []control.SkillStat, q url.Values, rank func(control.SkillStat) int64) []skillRow {
	all := slices.DeleteFunc(slices.Clone(skills), func(k control.SkillStat) bool { return rank(k) <= 0 })
	slices.SortStableFunc(all, func(a, b control.SkillStat) int { return cmp.Compare(rank(b), rank(a)) })
	var rows []skillRow
	for _, k := range all[:min(5, len(all))] {
		q.Set("skill", k.Skill)
		rows = append(rows, skillRow{k, Base + "/calls?" + q.Encode()})
	}
	return rows
}

// lastFailed are the newest calls that failed, whenever that was.
func (v *visit) lastFailed(ctx context.Context) failedView {
	p, err := v.o.Book.Search(ctx, v.whose(), control.CallQuery{Verdict: control.VerdictFailed, Limit: 6})
	return failedView{Rows: callRows(p.Calls), Lost: v.lost(err)}
}
