package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"
)

// The contenders' names in the table and the file.
const (
	hotcellCold = "hotcell, cold call"
	rawEngine   = "raw Engine API"
	dockerRun   = "docker run"

	hotcellWarm     = "hotcell, warm call, frames image"
	hotcellPrestart = "hotcell, warm call, prestarted Python"
	hotcellChild    = "hotcell, warm call, Python"
	rawAttach       = "raw write and read of a waiting container"
)

// ratio is one figure divided by another: a's first output by b's, at p50.
type ratio struct{ key, a, b string }

func ratios() []ratio {
	return []ratio{
		{"cold_vs_raw_engine", hotcellCold, rawEngine},
		{"cold_vs_docker_run", hotcellCold, dockerRun},
		{"warm_vs_raw_attach", hotcellWarm, rawAttach},
		{"warm_child_vs_raw_attach", hotcellPrestart, rawAttach},
		{"warm_vs_docker_run", hotcellWarm, dockerRun},
	}
}

// row is one figure of one contender, in milliseconds.
type row struct {
	Name string  `json:"name"`
	Unit string  `json:"unit"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	N    int     `json:"n"`
}

// report is what BENCH_JSON holds.
type report struct {
	Machine map[string]any     `json:"machine"`
	Rows    []row              `json:"rows"`
	Ratios  map[string]float64 `json:"ratios"`
}

func summarise(samples map[string][]timing) *report {
	r := &report{
		Machine: map[string]any{"os": runtime.GOOS, "arch": runtime.GOARCH, "cpus": runtime.NumCPU(), "go": runtime.Version()},
		Ratios:  map[string]float64{},
	}
	phases := []struct {
		name string
		of   func(timing) time.Duration
	}{
		{"first output", func(t timing) time.Duration { return t.first }},
		{"done", func(t timing) time.Duration { return t.done }},
		{"gone", func(t timing) time.Duration { return t.gone }},
	}
	for _, phase := range phases {
		for _, name := range []string{hotcellCold, rawEngine, dockerRun, hotcellWarm, rawAttach, hotcellPrestart, hotcellChild} {
			if len(samples[name]) > 0 && phase.of(samples[name][0]) > 0 {
				r.Rows = append(r.Rows, figure(name+", "+phase.name, samples[name], phase.of))
			}
		}
	}
	first := phases[0].of
	for _, q := range ratios() {
		r.Ratios[q.key] = figure("", samples[q.a], first).P50 / figure("", samples[q.b], first).P50
	}
	return r
}

func figure(name string, samples []timing, of func(timing) time.Duration) row {
	ms := make([]float64, len(samples))
	for i, t := range samples {
		ms[i] = float64(of(t)) / float64(time.Millisecond)
	}
	slices.Sort(ms)
	return row{Name: name, Unit: "ms", P50: quantile(ms, 50), P95: quantile(ms, 95), P99: quantile(ms, 99), N: len(ms)}
}

// quantile is the nearest-rank percentile of sorted figures.
func quantile(sorted []float64, percent int) float64 {
	rank := (percent*len(sorted) + 99) / 100
	return sorted[max(rank, 1)-1]
}

func (r *report) print(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "milliseconds\tp50\tp95\tp99\tn\t")
	for _, row := range r.Rows {
		fmt.Fprintf(tw, "%s\t%.2f\t%.2f\t%.2f\t%d\t\n", row.Name, row.P50, row.P95, row.P99, row.N)
	}
	_ = tw.Flush()
	fmt.Fprintln(w)
	for _, q := range ratios() {
		fmt.Fprintf(w, "%s  %.3g  (first output, p50)\n", q.key, r.Ratios[q.key])
	}
}

func (r *report) save(file string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}
