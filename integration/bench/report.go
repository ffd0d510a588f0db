package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// The units of rows. Of a rate the high end is the good one.
const (
	unitMS    = "ms"
	unitUS    = "µs"
	unitCalls = "calls/s"
	unitRate  = "MB/s"
	unitEvent = "events/s"
	unitMB    = "MB"
	unitKB    = "KB"
)

// row is one figure of one contender. P95 and P99 are the bad end of it: of a rate they are low.
type row struct {
	Section string  `json:"section"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	P50     float64 `json:"p50"`
	P95     float64 `json:"p95"`
	P99     float64 `json:"p99"`
	Spread  float64 `json:"spread"` // of the median, percent
	N       int     `json:"n"`
}

// report is what BENCH_JSON holds.
type report struct {
	Machine map[string]any     `json:"machine"`
	Rows    []row              `json:"rows"`
	Ratios  map[string]float64 `json:"ratios"`
	Absent  map[string]string  `json:"absent,omitempty"` // what could not be measured, and why

	failed []error
}

func newReport() *report {
	return &report{
		Machine: map[string]any{
			"os": runtime.GOOS, "arch": runtime.GOARCH, "cpus": runtime.NumCPU(), "go": runtime.Version(),
			"at": time.Now().UTC().Format(time.RFC3339),
		},
		Rows: []row{}, Ratios: map[string]float64{}, Absent: map[string]string{},
	}
}

// The phases of a timed contender, behind its name.
const (
	firstEvent = ": first event"
	result     = ": result"
	gone       = ": gone"
)

// timed adds the rows of a contender in a race.
func (r *report) timed(section, name string, samples []timing) {
	for _, phase := range []struct {
		name string
		of   func(timing) time.Duration
	}{
		{firstEvent, func(t timing) time.Duration { return t.first }},
		{result, func(t timing) time.Duration { return t.done }},
		{gone, func(t timing) time.Duration { return t.gone }},
	} {
		ms := make([]float64, len(samples))
		for i, t := range samples {
			ms[i] = float64(phase.of(t)) / float64(time.Millisecond)
		}
		if len(ms) > 0 && slices.Max(ms) > 0 {
			r.add(section, name+phase.name, unitMS, ms...)
		}
	}
}

// add adds a row of figures.
func (r *report) add(section, name, unit string, figures ...float64) {
	ordered := slices.Sorted(slices.Values(figures))
	if strings.HasSuffix(unit, "/s") || unit == unitMinute {
		slices.Reverse(ordered)
	}
	r.Rows = append(r.Rows, row{
		Section: section, Name: name, Unit: unit, N: len(ordered), Spread: spread(slices.Sorted(slices.Values(figures))),
		P50: quantile(ordered, 50), P95: quantile(ordered, 95), P99: quantile(ordered, 99),
	})
}

// p50 returns a row's median.
func (r *report) p50(name string) (float64, bool) {
	i := slices.IndexFunc(r.Rows, func(row row) bool { return row.Name == name })
	if i < 0 {
		return 0, false
	}
	return r.Rows[i].P50, true
}

// failure is what went wrong in the run.
func (r *report) failure() error { return errors.Join(r.failed...) }

// write writes the files that were asked for.
func (r *report) write(opts options) error {
	var failed []error
	if opts.json != "" {
		b, err := json.MarshalIndent(r, "", "  ")
		if err == nil {
			err = os.WriteFile(opts.json, append(b, '\n'), 0o644)
		}
		failed = append(failed, err)
	}
	if opts.svg != "" {
		failed = append(failed, os.WriteFile(opts.svg, r.plot(), 0o644))
	}
	if opts.doc != "" {
		failed = append(failed, r.document(opts.doc))
	}
	return errors.Join(failed...)
}

// load reads the figures of an earlier run.
func load(file string) (*report, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := newReport()
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: expected what BENCH_JSON writes: %w", file, err)
	}
	return r, nil
}
