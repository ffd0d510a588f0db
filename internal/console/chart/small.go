package chart

import (
	"html/template"
	"math"
)

// Small figures stand in a line of text, or under a number. What they say is their label.

type sparkData struct {
	Label string
	Ink   Ink
	Bars  []smallBar
}

type smallBar struct{ X, Y, Width, Height string }

// Sizes of a spark, in pixels.
const sparkWide, sparkHigh = 120.0, 24.0

// Spark draws small bars without an axis; label says what they are.
func Spark(label string, ink Ink, values []int) template.HTML {
	d := sparkData{Label: label, Ink: ink.class()}
	most := 0
	for _, v := range values {
		most = max(most, v)
	}
	each := sparkWide / math.Max(1, float64(len(values)))
	for i, v := range values {
		if v <= 0 {
			continue
		}
		h := math.Max(1, sparkHigh*float64(v)/float64(most))
		d.Bars = append(d.Bars, smallBar{number((float64(i) + 0.1) * each), number(sparkHigh - h), number(0.8 * each), number(h)})
	}
	return drawing("spark", d)
}

type meterData struct {
	Label string
	Full  bool // nine tenths and more
	Width string
}

// Meter draws how much of a whole is used; label says the same in words. Without a whole there is nothing to draw.
func Meter(label string, used, whole int64) template.HTML {
	if whole <= 0 {
		return ""
	}
	share := math.Min(math.Max(float64(used)/float64(whole), 0), 1)
	return drawing("meter", meterData{label, share >= 0.9, percent(share)})
}
