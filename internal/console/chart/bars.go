package chart

import (
	"html/template"
	"time"
)

// Series are the numbers of one kind, a number for each slice of the time.
type Series struct {
	Name   string
	Ink    Ink
	Values []int
}

// Bars are stacked bars over time: one stack for each of the equal slices.
type Bars struct {
	ID          string // tells the figure from others of the page
	Title       string
	What        string // is counted: "calls"
	From, Until time.Time
	Slices      int
	Series      []Series // from the bottom up
	Links       []string // where the table's rows lead to; nil: nowhere
	Empty       string   // what is said where there is nothing
}

// stack is one slice.
type stack struct {
	X, Width, Mark, Wide string // the place, and within it the bars'
	From, Text           string
	Parts                []part
}

type part struct {
	Ink       Ink
	Y, Height string
}

type barsData struct {
	frame
	Stacks []stack
}

// HTML draws the figure.
func (b Bars) HTML() template.HTML {
	s := sliced(b.From, b.Until, b.Slices, b.Links)
	d := barsData{frame: framed(b.ID, b.Title, b.What+" in "+long(s.each), b.From, b.Until)}
	sums, most := b.sums()
	all := 0
	for _, series := range b.Series {
		sum := total(series.Values...)
		all = total(all, sum)
		d.Legend = append(d.Legend, key{series.Name, whole(sum), series.Ink.class()})
		d.Table.Heads = append(d.Table.Heads, series.Name)
	}
	if all == 0 {
		d.Empty = b.Empty
		return drawing("bars", d)
	}
	d.Text = b.says(all)
	a := counts(most)
	d.Y = a.ticks(height)
	for i, sum := range sums {
		if sum > 0 {
			d.Stacks = append(d.Stacks, b.stack(a, s, i))
			d.Table.Rows = append(d.Table.Rows, s.row(i, b.cells(i)))
		}
	}
	return drawing("bars", d)
}

// sums returns how many there are in each slice, and the most of them.
func (b Bars) sums() (sums []int, most int) {
	sums = make([]int, max(b.Slices, 0))
	for i := range sums {
		for _, series := range b.Series {
			sums[i] = total(sums[i], series.at(i))
		}
		most = max(most, sums[i])
	}
	return sums, most
}

func (s Series) at(i int) int {
	if i >= len(s.Values) {
		return 0
	}
	return max(s.Values[i], 0)
}

// stack draws a slice. A number above nothing is one pixel high at least.
func (b Bars) stack(a axis, s slices, i int) stack {
	one := stack{X: s.left(i), Width: percent(1 / float64(s.n)), From: stamp(s.at(i))}
	one.Mark, one.Wide = percent((float64(i)+0.1)/float64(s.n)), percent(0.8/float64(s.n))
	var says []string
	below := height
	for _, series := range b.Series {
		n := series.at(i)
		if n == 0 {
			continue
		}
		h := max(height-a.y(float64(n), height), 1)
		below = max(below-h, 0)
		one.Parts = append(one.Parts, part{series.Ink.class(), number(below), number(h)})
		says = append(says, counted(n, series.Name))
	}
	one.Text = s.name(i) + ": " + list(says, "none")
	return one
}

func (b Bars) cells(i int) []string {
	cells := make([]string, len(b.Series))
	for k, series := range b.Series {
		cells[k] = whole(series.at(i))
	}
	return cells
}

// says is the figure in a sentence.
func (b Bars) says(all int) string {
	var parts []string
	for _, series := range b.Series {
		if sum := total(series.Values...); sum > 0 {
			parts = append(parts, counted(sum, series.Name))
		}
	}
	return counted(all, b.What) + " in all: " + list(parts, "none") + ". The table below the picture has the numbers."
}
