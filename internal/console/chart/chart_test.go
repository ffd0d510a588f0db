package chart

import (
	"html/template"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/hotcell/hotcell/internal/testutil"
)

var (
	from  = time.Date(2026, 11, 30, 14, 46, 0, 0, time.UTC)
	until = from.Add(time.Hour)
)

func bars() Bars {
	return Bars{
		ID: "verdicts", Title: "How calls ended", What: "calls", From: from, Until: until, Slices: 4, Empty: "No call ended.",
		Series: []Series{
			{"succeeded", Good, []int{120, 0, 35, 900}}, {"canceled", Off, []int{0, 0, 1, 0}}, {"timeout", First, []int{3, 0, 0, 1}},
		},
		Links: []string{"/console/calls?since=a", "/console/calls?since=b", "/console/calls?since=c", "/console/calls?since=d"},
	}
}

func lines() Lines {
	return Lines{
		ID: "latency", Title: "How long calls took", From: from, Until: until, Slices: 5, Empty: "No call ended.",
		Lines: []Line{
			{"p50", Fourth, []time.Duration{120 * time.Millisecond, None, 80 * time.Millisecond, 95 * time.Millisecond, 0}},
			{"p95", Second, []time.Duration{1400 * time.Millisecond, None, 900 * time.Millisecond, 2 * time.Second}},
		},
	}
}

func TestFigures(t *testing.T) {
	week := bars()
	week.From, week.Until, week.Links = until.Add(-7*24*time.Hour), until, nil
	one := bars()
	one.Slices = 1
	huge := bars()
	huge.Series[0].Values = []int{math.MaxInt, 1, math.MaxInt, -5}
	huge.Series[2].Values = []int{math.MaxInt}
	none := bars()
	none.Series = []Series{{"succeeded", Good, nil}}
	nothing := Bars{ID: "x", Title: "Nothing", What: "calls", From: from, Until: from, Empty: "Nothing at all."}
	slow := lines()
	slow.Lines[1].Values = []time.Duration{math.MaxInt64, time.Hour}
	gap := Lines{ID: "latency", Title: "How long", From: from, Until: until, Slices: 3, Empty: "No call ended.", Lines: []Line{{"p50", Fourth, []time.Duration{None, None, -7}}}}
	for name, got := range map[string]template.HTML{
		"bars": bars().HTML(), "week": week.HTML(), "one": one.HTML(), "huge": huge.HTML(), "none": none.HTML(), "nothing": nothing.HTML(),
		"lines": lines().HTML(), "slow": slow.HTML(), "gap": gap.HTML(),
		"spark": Spark("Calls over the last hour", Off, []int{0, 1, 5, -3, math.MaxInt}), "spark-empty": Spark("Calls", Off, nil),
		"meter": Meter("3 of 8 cells are in use", 3, 8), "meter-full": Meter("9 of 8", 9, 8), "meter-odd": Meter("-1 of 8", -1, 8),
	} {
		sound(t, name, got)
		testutil.Golden(t, filepath.Join("testdata", name+".html"), []byte(got))
	}
	if got := Meter("3 of none", 3, 0); got != "" {
		t.Errorf("a share of nothing: %s", got)
	}
}

// sound fails the test unless a figure is made of drawing alone, and every number in it is one.
func sound(t *testing.T, name string, figure template.HTML) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(string(figure)))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, tag := range strings.Fields("html head body figure figcaption span div svg title desc g line text rect circle polyline p ul li b details summary table caption thead tbody tr th td time a") {
		known[tag] = true
	}
	ids := map[string]bool{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if !known[n.Data] {
			t.Errorf("%s: an element <%s>", name, n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "style" || strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "href" && !strings.HasPrefix(a.Val, "/console/") && a.Val != "#ZgotmplZ":
				t.Errorf("%s: <%s %s=%q>", name, n.Data, a.Key, a.Val)
			case strings.Contains(a.Val, "NaN") || strings.Contains(a.Val, "Inf") || strings.Contains(a.Val, "e+"):
				t.Errorf("%s: <%s %s=%q> is no number", name, n.Data, a.Key, a.Val)
			case a.Key == "id" && ids[a.Val]:
				t.Errorf("%s: id %s is there twice", name, a.Val)
			case a.Key == "id":
				ids[a.Val] = true
			}
		}
	}
}

// Whatever names, titles and links say, they are text and addresses of this site.
func TestHostileFigures(t *testing.T) {
	for _, payload := range []string{
		`<script>alert(1)</script>`, `</title><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</svg></figure><svg onload=alert(1)>`,
		`javascript:alert(1)`, `' onmouseover='alert(1)`, "\x00<b>\u202e", `</desc><foreignObject><iframe src=//evil.example>`, `{{.}}`, `]]><x/>`,
	} {
		b := bars()
		b.ID, b.Title, b.What, b.Empty, b.Series[0].Name, b.Series[0].Ink = payload, payload, payload, payload, payload, Ink(payload)
		b.Links = []string{payload, "javascript:alert(1)", "data:text/html,x", payload}
		l := lines()
		l.ID, l.Title, l.Empty, l.Lines[0].Name, l.Lines[0].Ink, l.Links = payload, payload, payload, payload, Ink(payload), b.Links
		none := Bars{ID: payload, Title: payload, Empty: payload}
		for name, got := range map[string]template.HTML{
			"bars": b.HTML(), "lines": l.HTML(), "none": none.HTML(), "spark": Spark(payload, Ink(payload), []int{1}), "meter": Meter(payload, 1, 2),
		} {
			unlinked(t, name+" of "+payload, got)
		}
	}
}

// unlinked is sound for a figure whose links all are hostile: none of them may lead away, or run.
func unlinked(t *testing.T, name string, figure template.HTML) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(string(figure)))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if n.Type == html.ElementNode && a.Key == "href" && (strings.Contains(strings.ToLower(a.Val), "script:") || strings.HasPrefix(a.Val, "data:")) {
				t.Errorf("%s: a link to %q", name, a.Val)
			}
		}
	}
	sound(t, name, template.HTML(strings.ReplaceAll(string(figure), `<a href="`, `<a data-href="`)))
}

func TestAxes(t *testing.T) {
	for most, want := range map[int]string{
		0: "0 1", 1: "0 1", 3: "0 1 2 3", 7: "0 2 4 6 8", 10: "0 5 10", 99: "0 50 100", 1200: "0 500 1k 1.5k", 5_000_000: "0 2M 4M 6M", math.MaxInt: "0 5E 10E",
	} {
		if got := labels(counts(most)); got != want {
			t.Errorf("%d: %s, want %s", most, got, want)
		}
	}
	for most, want := range map[time.Duration]string{
		0: "0 µs 1 µs", 800 * time.Microsecond: "0 µs 200 µs 400 µs 600 µs 800 µs", 40 * time.Millisecond: "0 ms 10 ms 20 ms 30 ms 40 ms",
		1400 * time.Millisecond: "0 s 0.5 s 1 s 1.5 s", 90 * time.Second: "0 s 50 s 100 s", 20 * time.Minute: "0 min 5 min 10 min 15 min 20 min", 5 * time.Hour: "0 h 2 h 4 h 6 h",
	} {
		if got := labels(spans(most)); got != want {
			t.Errorf("%v: %s, want %s", most, got, want)
		}
	}
}

func labels(a axis) string {
	var all []string
	for _, tick := range a.ticks(height) {
		all = append(all, tick.Label)
	}
	return strings.Join(all, " ")
}

// A value is within the plot, above the mark of each smaller number.
func TestHeights(t *testing.T) {
	for _, most := range []int{1, 2, 9, 10, 11, 999, 1001, 123456, math.MaxInt} {
		a := counts(most)
		if a.top < float64(most) || a.y(float64(most), height) < 0 || a.y(0, height) != height || len(a.ticks(height)) > 6 {
			t.Errorf("%d: %+v %d", most, a.top, len(a.ticks(height)))
		}
	}
}

func TestTimeAxis(t *testing.T) {
	for length, want := range map[time.Duration]string{
		15 * time.Minute: "14:48 14:51 14:54 14:57 15:00", time.Hour: "15:00 15:15 15:30 15:45", 24 * time.Hour: "18:00 00:00 06:00 12:00",
		7 * 24 * time.Hour: "1 Dec 2 Dec 3 Dec 4 Dec 5 Dec 6 Dec 7 Dec", time.Minute: "14:46:00 14:46:15 14:46:30 14:46:45", 0: "", -time.Hour: "",
	} {
		marks, _ := moments(from, from.Add(length))
		var got []string
		for _, m := range marks {
			got = append(got, m.Label)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%v: %s, want %s", length, s, want)
		}
	}
}
