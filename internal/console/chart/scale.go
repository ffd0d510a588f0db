package chart

import (
	"math"
	"strconv"
	"time"
)

// tick is a mark on an axis: where it is and what it says.
type tick struct {
	At    string // pixels from the top, or percent from the left
	Label string
	When  string // the moment, for scripts; "" on an axis of numbers
	Minor bool   // left out where there is little room
}

// axis is the vertical one: it ends at top, which no value exceeds.
type axis struct {
	top, step float64
	label     func(float64) string
}

// counts is the axis of numbers of things up to most.
func counts(most int) axis {
	step := math.Max(1, nice(float64(most)/4))
	return axis{over(float64(most), step), step, compact}
}

// over is the first multiple of step that is at least most, and at least one step.
func over(most, step float64) float64 { return step * math.Max(1, math.Ceil(most/step-1e-9)) }

// nice is the smallest 1, 2 or 5 times a power of ten that is at least x.
func nice(x float64) float64 {
	if x <= 0 {
		return 0
	}
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if x <= m*p*(1+1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// compact is a number in few letters: 950, 1.2k, 3M.
func compact(f float64) string {
	units := []string{"", "k", "M", "G", "T", "P", "E"}
	i := 0
	for ; f >= 1000 && i < len(units)-1; i++ {
		f /= 1000
	}
	return number(f) + units[i]
}

// number has two digits after the point at most.
func number(f float64) string { return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64) }

// units of time, the largest first.
var units = []struct {
	name string
	of   time.Duration
	from time.Duration // the longest time that is told in it is at least this
}{
	{"h", time.Hour, 3 * time.Hour},
	{"min", time.Minute, 3 * time.Minute},
	{"s", time.Second, time.Second},
	{"ms", time.Millisecond, time.Millisecond},
	{"µs", time.Microsecond, 0},
}

// spans is the axis of durations up to most.
func spans(most time.Duration) axis {
	u := units[len(units)-1]
	for _, one := range units {
		if most >= one.from {
			u = one
			break
		}
	}
	step := math.Max(1, nice(float64(most)/float64(u.of)/4))
	if u.name == "s" && most < 4*time.Second {
		step = nice(most.Seconds() / 4)
	}
	unit := float64(u.of)
	return axis{over(float64(most)/unit, step) * unit, step * unit, func(f float64) string { return number(f/unit) + " " + u.name }}
}

// ticks are the axis' marks on a figure of a height.
func (a axis) ticks(height float64) []tick {
	var all []tick
	for v := 0.0; v <= a.top*(1+1e-9); v += a.step {
		all = append(all, tick{At: number(a.y(v, height)), Label: a.label(v)})
	}
	return all
}

// y is how far from the top a value is.
func (a axis) y(v, height float64) float64 { return height - height*math.Min(math.Max(v, 0)/a.top, 1) }

// times that marks of a time axis may be apart.
var apart = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 3 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour,
	6 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// moments are the marks of the time axis: seven at most, at round times.
func moments(from, until time.Time) (marks []tick, days bool) {
	whole := until.Sub(from)
	if whole <= 0 {
		return nil, false
	}
	step := apart[len(apart)-1]
	for _, s := range apart {
		if whole <= 7*s {
			step = s
			break
		}
	}
	form := "15:04"
	switch {
	case step >= 24*time.Hour:
		form, days = "2 Jan", true
	case step < time.Minute:
		form = "15:04:05"
	}
	at := from.UTC().Truncate(step)
	if at.Before(from) {
		at = at.Add(step)
	}
	for ; at.Before(until) && len(marks) < 8; at = at.Add(step) {
		marks = append(marks, tick{
			At: percent(float64(at.Sub(from)) / float64(whole)), Label: at.Format(form), When: at.Format(time.RFC3339),
		})
	}
	for i := range marks {
		marks[i].Minor = len(marks) > 4 && i%2 == 1
	}
	return marks, days
}

func percent(part float64) string { return strconv.FormatFloat(100*part, 'f', 3, 64) }
