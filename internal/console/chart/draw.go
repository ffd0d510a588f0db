package chart

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
)

//go:embed *.html
var files embed.FS

var drawn = template.Must(template.New("").ParseFS(files, "*.html"))

// height is that of a figure's plot, in pixels.
const height = 180.0

// Ink is how a series looks: a class of the style sheet.
type Ink string

// The inks.
const (
	Good   Ink = "good"
	Off    Ink = "off"
	First  Ink = "first"
	Second Ink = "second"
	Third  Ink = "third"
	Fourth Ink = "fourth"
	Rest   Ink = "rest"
)

// class is the ink, if it is one.
func (i Ink) class() Ink {
	switch i {
	case Good, Off, First, Second, Third, Fourth:
		return i
	}
	return Rest
}

// drawing draws a template. The result is markup of this package, with everything that was put into it escaped.
func drawing(name string, data any) template.HTML {
	var b bytes.Buffer
	if err := drawn.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // a template of ours that does not fit its data: every test finds it
	}
	return template.HTML(b.String()) //nolint:gosec // what html/template made
}

// frame is what figures over time have in common.
type frame struct {
	ID, Title, Text, Unit string
	From, Until           string
	Days                  bool
	Y, X                  []tick
	Height                string
	Legend                []key
	Empty                 string // what is said instead of a picture
	Table                 table
}

// key is an entry of the legend.
type key struct {
	Name, Sum string
	Ink       Ink
}

// table has the numbers for who can't see the picture.
type table struct {
	Heads []string
	Rows  []row
}

type row struct {
	From, Label, Link string
	Cells             []string
}

func framed(id, title, unit string, from, until time.Time) frame {
	f := frame{ID: id, Title: title, Unit: unit, From: stamp(from), Until: stamp(until), Height: number(height)}
	f.X, f.Days = moments(from, until)
	return f
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// slices says when each of n equal parts of a time begins.
type slices struct {
	from  time.Time
	each  time.Duration
	n     int
	links []string
}

func sliced(from, until time.Time, n int, links []string) slices {
	s := slices{from: from, n: n, links: links}
	if n > 0 {
		s.each = until.Sub(from) / time.Duration(n)
	}
	return s
}

// name is how a slice is called in texts.
func (s slices) name(i int) string {
	form := "2 Jan 15:04"
	if s.each < time.Minute {
		form = "2 Jan 15:04:05"
	}
	return s.at(i).UTC().Format(form) + " UTC"
}

func (s slices) at(i int) time.Time { return s.from.Add(time.Duration(i) * s.each) }

func (s slices) row(i int, cells []string) row {
	r := row{From: stamp(s.at(i)), Label: s.name(i), Cells: cells}
	if i < len(s.links) {
		r.Link = s.links[i]
	}
	return r
}

// left and middle are places along the width, in percent.
func (s slices) left(i int) string   { return percent(float64(i) / float64(s.n)) }
func (s slices) middle(i int) string { return percent((float64(i) + 0.5) / float64(s.n)) }

// whole is a number with thin spaces between thousands.
func whole(n int) string {
	t := strconv.Itoa(n)
	for i := len(t) - 3; i > 0 && t[i-1] != '-'; i -= 3 {
		t = t[:i] + "\u202f" + t[i:]
	}
	return t
}

// long is a duration for people.
func long(d time.Duration) string {
	for _, u := range units {
		if d >= u.of {
			f := float64(d) / float64(u.of)
			return number(math.Round(f*10)/10) + " " + u.name
		}
	}
	return "0 ms"
}

// total adds up, and stays at the largest number there is.
func total(values ...int) int {
	sum := 0
	for _, v := range values {
		if v = max(v, 0); sum > math.MaxInt-v {
			return math.MaxInt
		}
		sum += v
	}
	return sum
}

// list joins parts of a sentence.
func list(parts []string, none string) string {
	if len(parts) == 0 {
		return none
	}
	return strings.Join(parts, ", ")
}

func counted(n int, what string) string { return fmt.Sprintf("%s %s", whole(n), what) }
