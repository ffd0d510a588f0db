package console

import (
	"html/template"
	"net/url"
	"time"

	"github.com/hotcell/hotcell/internal/console/chart"
	"github.com/hotcell/hotcell/internal/control"
)

// okCode is how a [control.Stats] names success.
const okCode = "ok"

// failInks are for the most frequent failures; the others are one series.
var failInks = []chart.Ink{chart.First, chart.Second, chart.Third, chart.Fourth}

// verdictChart draws how calls ended, in stacks: success below, then what was cancelled, then the failures.
func verdictChart(w window, q control.StatsQuery, s *control.Stats) template.HTML {
	b := chart.Bars{
		ID: "verdicts", Title: "How calls ended", What: "calls", From: q.Since, Until: q.Until, Slices: len(s.Buckets), Links: bucketLinks(q, s),
		Empty: "No call ended within the last " + w.Span + ".",
	}
	add := func(name string, ink chart.Ink, codes ...string) {
		values := each(s, func(b control.Bucket) int {
			n := 0
			for _, code := range codes {
				n += b.Codes[code]
			}
			return n
		})
		b.Series = append(b.Series, chart.Series{Name: name, Ink: ink, Values: values})
	}
	var fails, rest []string
	canceled := false
	for _, c := range s.Codes {
		switch {
		case c.Code == okCode:
		case c.Code == control.VerdictCanceled:
			canceled = true
		case len(fails) < len(failInks):
			fails = append(fails, c.Code)
		default:
			rest = append(rest, c.Code)
		}
	}
	add("succeeded", chart.Good, okCode)
	if canceled {
		add("canceled", chart.Off, control.VerdictCanceled)
	}
	for i, code := range fails {
		add(plainText(code), failInks[i], code)
	}
	if len(rest) > 0 {
		add("other failures", chart.Rest, rest...)
	}
	return b.HTML()
}

// latencyChart draws how long calls took.
func latencyChart(w window, q control.StatsQuery, s *control.Stats) template.HTML {
	l := chart.Lines{
		ID: "latency", Title: "How long calls took", From: q.Since, Until: q.Until, Slices: len(s.Buckets), Links: bucketLinks(q, s),
		Empty: "No call ended within the last " + w.Span + ".",
	}
	add := func(name string, ink chart.Ink, of func(control.Tally) time.Duration) {
		values := make([]time.Duration, len(s.Buckets))
		for i, b := range s.Buckets {
			if values[i] = of(b.Tally); b.Calls == 0 {
				values[i] = chart.None
			}
		}
		l.Lines = append(l.Lines, chart.Line{Name: name, Ink: ink, Values: values})
	}
	add("half of the calls at most (p50)", chart.Fourth, func(t control.Tally) time.Duration { return t.P50 })
	add("95 of 100 at most (p95)", chart.Second, func(t control.Tally) time.Duration { return t.P95 })
	return l.HTML()
}

// bucketLinks lead to the calls of each bar. They were accepted a little before they ended, mostly within the same bar.
func bucketLinks(q control.StatsQuery, s *control.Stats) []string {
	each := q.Until.Sub(q.Since) / time.Duration(max(1, len(s.Buckets)))
	links := make([]string, len(s.Buckets))
	for i := range links {
		from := q.Since.Add(time.Duration(i) * each)
		links[i] = Base + "/calls?" + url.Values{"since": {isoSeconds(from)}, "until": {isoSeconds(from.Add(each))}}.Encode()
	}
	return links
}

// isoSeconds is a time in addresses.
func isoSeconds(t time.Time) string { return t.UTC().Format(time.RFC3339) }
