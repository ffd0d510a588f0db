package chart

import (
	"html/template"
	"strings"
	"time"
)

// None stands where a line has no value.
const None = time.Duration(-1)

// Line is one duration for each slice of the time.
type Line struct {
	Name   string
	Ink    Ink
	Values []time.Duration // [None] where there is none
}

// Lines are durations over time.
type Lines struct {
	ID          string // tells the figure from others of the page
	Title       string
	From, Until time.Time
	Slices      int
	Lines       []Line
	Links       []string // where the table's rows lead to; nil: nowhere
	Empty       string   // what is said where there is nothing
}

type linesData struct {
	frame
	Strokes []stroke
	Stacks  []stack // of no parts: where a pointer finds the numbers
}

// stroke is what of a line hangs together.
type stroke struct {
	Ink    Ink
	Points string // in thousandths of the width
	Dots   []dot
}

type dot struct{ X, Y string }

// HTML draws the figure.
func (l Lines) HTML() template.HTML {
	s := sliced(l.From, l.Until, l.Slices, l.Links)
	d := linesData{frame: framed(l.ID, l.Title, "time per call", l.From, l.Until)}
	most, any := l.most()
	for _, line := range l.Lines {
		d.Legend = append(d.Legend, key{line.Name, "", line.Ink.class()})
		d.Table.Heads = append(d.Table.Heads, line.Name)
	}
	if !any {
		d.Empty = l.Empty
		return drawing("lines", d)
	}
	d.Text = "The longest is " + long(most) + ". The table below the picture has the numbers."
	a := spans(most)
	d.Y = a.ticks(height)
	for _, line := range l.Lines {
		d.Strokes = append(d.Strokes, line.strokes(a, s)...)
	}
	for i := range s.n {
		cells, says := l.slice(i)
		if len(says) == 0 {
			continue
		}
		d.Stacks = append(d.Stacks, stack{X: s.left(i), Width: percent(1 / float64(s.n)), From: stamp(s.at(i)), Text: s.name(i) + ": " + list(says, "")})
		d.Table.Rows = append(d.Table.Rows, s.row(i, cells))
	}
	return drawing("lines", d)
}

func (l Lines) most() (most time.Duration, any bool) {
	for _, line := range l.Lines {
		for i := range l.Slices {
			if d := line.at(i); d >= 0 {
				most, any = max(most, d), true
			}
		}
	}
	return most, any
}

func (l Line) at(i int) time.Duration {
	if i >= len(l.Values) || l.Values[i] < 0 {
		return None
	}
	return l.Values[i]
}

// slice returns a row of the table, and the same in words.
func (l Lines) slice(i int) (cells, says []string) {
	for _, line := range l.Lines {
		d := line.at(i)
		if d < 0 {
			cells = append(cells, "–")
			continue
		}
		cells = append(cells, long(d))
		says = append(says, line.Name+" "+long(d))
	}
	return cells, says
}

// strokes are the parts of a line between its gaps.
func (l Line) strokes(a axis, s slices) []stroke {
	var all []stroke
	var points []string
	var dots []dot
	end := func() {
		if len(dots) > 0 {
			all = append(all, stroke{l.Ink.class(), strings.Join(points, " "), dots})
		}
		points, dots = nil, nil
	}
	for i := range s.n {
		d := l.at(i)
		if d < 0 {
			end()
			continue
		}
		y := number(a.y(float64(d), height))
		points = append(points, number(1000*(float64(i)+0.5)/float64(s.n))+","+y)
		dots = append(dots, dot{s.middle(i), y})
	}
	end()
	return all
}
