package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// The plot's measures, in pixels.
const (
	plotWidth = 960
	plotLeft  = 380 // of names
	plotRight = 90  // of figures
	barHeight = 14
	barStep   = 20
)

// panel is a part of the plot: bars of one unit on one logarithmic scale.
type panel struct {
	title, unit string
	bars        []bar
}

type bar struct {
	name  string
	value float64
	ours  bool
}

// panels are what is drawn: first events of warm and cold calls, and rates.
func (r *report) panels() (all []panel) {
	add := func(title, unit, section, suffix string, same func(string) bool) {
		p := panel{title: title, unit: unit}
		for _, row := range r.of(section) {
			if name, ok := strings.CutSuffix(row.Name, suffix); ok && row.Unit == unit && same(row.Name) {
				p.bars = append(p.bars, bar{name, row.P50, strings.HasPrefix(name, "hotcell")})
			}
		}
		if len(p.bars) > 0 {
			all = append(all, p)
		}
	}
	each := func(string) bool { return true }
	add("A call whose cell waits: first event, p50", unitMS, "warm", firstEvent, each)
	add("A call in a cell of its own: first event, p50", unitMS, "cold", firstEvent, each)
	for _, l := range loads() {
		add("Sustained calls: "+l.name, unitCalls, "throughput", "", func(name string) bool { return strings.Contains(name, l.name+",") })
	}
	return all
}

// plot draws the report as an SVG.
func (r *report) plot() []byte {
	var body bytes.Buffer
	y := 24
	for _, p := range r.panels() {
		y = p.draw(&body, y)
	}
	line(&body, plotLeft, y, "note", "start", "bars are medians on a logarithmic scale; green is hotcell, grey is the same work without it")
	y += 16
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif">`+"\n", plotWidth, y, plotWidth, y)
	out.WriteString(`<style>
text { font-size: 12px; fill: #222 }
.title { font-size: 14px; font-weight: bold }
.tick, .note { font-size: 10px; fill: #666 }
.grid { stroke: #ddd }
.ours { fill: #2a9d5c }
.other { fill: #9aa3ad }
</style>
`)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", plotWidth, y)
	out.Write(body.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// draw draws a panel from y on, and returns where the next one begins.
func (p panel) draw(w *bytes.Buffer, y int) int {
	low, high := p.decades()
	at := func(v float64) int {
		share := (math.Log10(v) - low) / (high - low)
		return plotLeft + int(share*float64(plotWidth-plotLeft-plotRight))
	}
	line(w, 12, y, "title", "start", p.title)
	top, bottom := y+12, y+12+barStep*len(p.bars)
	for _, tick := range ticks(low, high) {
		x := at(tick)
		fmt.Fprintf(w, `<line class="grid" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", x, top, x, bottom)
		line(w, x, bottom+12, "tick", "middle", fmt.Sprintf("%.4g %s", tick, p.unit))
	}
	for i, b := range p.bars {
		class, y := "other", top+i*barStep+(barStep-barHeight)/2
		if b.ours {
			class = "ours"
		}
		width := max(at(max(b.value, math.Pow(10, low)))-plotLeft, 1)
		line(w, plotLeft-8, y+barHeight-3, "name", "end", b.name)
		fmt.Fprintf(w, `<rect class="%s" x="%d" y="%d" width="%d" height="%d"/>`+"\n", class, plotLeft, y, width, barHeight)
		line(w, plotLeft+width+6, y+barHeight-3, "value", "start", digits(b.value))
	}
	return bottom + 44
}

// ticks are the marks of a scale: with few powers of ten, twice and five times each as well.
func ticks(low, high float64) (all []float64) {
	for d := low; d <= high; d++ {
		all = append(all, math.Pow(10, d))
		if d < high && high-low < 3 {
			all = append(all, 2*math.Pow(10, d), 5*math.Pow(10, d))
		}
	}
	return all
}

// decades are the powers of ten around a panel's figures.
func (p panel) decades() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, b := range p.bars {
		if b.value > 0 {
			low, high = min(low, math.Floor(math.Log10(b.value))), max(high, math.Ceil(math.Log10(b.value)))
		}
	}
	if math.IsInf(low, 0) {
		return 0, 1
	}
	return low, max(high, low+1)
}

func line(w *bytes.Buffer, x, y int, class, anchor, text string) {
	fmt.Fprintf(w, `<text class="%s" x="%d" y="%d" text-anchor="%s">`, class, x, y, anchor)
	_ = xml.EscapeText(w, []byte(text)) // a buffer takes all
	w.WriteString("</text>\n")
}
