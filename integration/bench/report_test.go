package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestQuantiles(t *testing.T) {
	var all []float64
	for i := range 200 {
		all = append(all, float64(i+1))
	}
	for percent, want := range map[int]float64{50: 100, 95: 190, 99: 198} {
		if got := quantile(all, percent); got != want {
			t.Errorf("p%d of 1 to 200 is %v, want %v", percent, got, want)
		}
	}
	if got := quantile([]float64{7}, 99); got != 7 {
		t.Errorf("p99 of one figure is %v, want 7", got)
	}
	if narrow, wide := spread(all), spread([]float64{50, 100, 200}); narrow < 10 || narrow > 20 || wide != 100 {
		t.Errorf("spreads are %v and %v, want 10 to 20 and 100", narrow, wide)
	}
}

// sample is a report with two rows whose ratio is known, one rate, and one contender without figures.
func sample() *report {
	r := newReport()
	r.timed("cold", coldDocker, []timing{{first: 30 * time.Millisecond, done: 40 * time.Millisecond}})
	r.timed("cold", dockerRun, []timing{{first: 120 * time.Millisecond}})
	r.timed("cold", rawEngine, nil)
	l := loads()[0]
	r.add("throughput", l.at(4), unitCalls, 8, 10, 9)
	r.add("throughput", l.rawAt(4), unitCalls, 10)
	r.finish()
	return r
}

func TestAbsentNeverZero(t *testing.T) {
	r := sample()
	for _, row := range r.Rows {
		if row.P50 == 0 || strings.Contains(row.Name, rawEngine) || strings.HasSuffix(row.Name, gone) {
			t.Errorf("row %+v", row)
		}
	}
	want := map[string]float64{"cold_vs_docker_run": 0.25, "throughput_vs_raw_4": 0.9, "throughput_vs_raw_4_docker_warm": 0.9}
	for key, v := range r.Ratios {
		if want[key] != v {
			t.Errorf("%s is %v, want %v", key, v, want[key])
		}
	}
	if len(r.Ratios) != len(want) {
		t.Errorf("%d ratios, want %d: %v", len(r.Ratios), len(want), r.Ratios)
	}
	for _, row := range r.of("throughput") {
		if row.N == 3 && (row.P50 != 9 || row.P99 != 8) {
			t.Errorf("of the rates 8, 9 and 10 p50 is %v and p99 %v, want 9 and 8", row.P50, row.P99)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	page, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	opts := options{json: filepath.Join(dir, "a.json"), svg: filepath.Join(dir, "a.svg"), doc: filepath.Join(dir, "a.md")}
	if err := os.WriteFile(opts.doc, page, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what was written is replaced
		if err := sample().write(opts); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(opts.doc)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(written), "| docker run: first event | 120 |"); n != 1 {
		t.Errorf("the row of docker run is there %d times", n)
	}
	again, err := load(opts.json)
	if err != nil || len(again.Rows) != len(sample().Rows) {
		t.Errorf("read back: %v, %v", again, err)
	}
	drawn, err := os.Open(opts.svg)
	if err != nil {
		t.Fatal(err)
	}
	defer drawn.Close()
	bars := 0
	for dec := xml.NewDecoder(drawn); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "rect" {
			bars++
		}
	}
	if bars != 1+4 {
		t.Errorf("%d rectangles, want the ground and four bars", bars)
	}
}

func TestPageWithoutMark(t *testing.T) {
	if _, err := replace("a\n<!-- bench:x -->\nb\n", "x", "t\n"); err == nil {
		t.Error("a table without its end was replaced")
	}
	if got, err := replace("a\n<!-- bench:x -->\nold\n<!-- bench:end -->\nb\n", "x", "new\n"); err != nil || got != "a\n<!-- bench:x -->\nnew\n<!-- bench:end -->\nb\n" {
		t.Errorf("got %q, %v", got, err)
	}
}
