package oci

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// BenchmarkCold compares a cell's whole life (create, start, output, end, removal) with `runc run` of the same bundle, one
// after the other in turn, so that both meet the same machine. It reports medians.
func BenchmarkCold(b *testing.B) {
	r := newReal(b)
	d := r.driver(b, "bench-oci")
	var ours, first, theirs []time.Duration
	for i := 0; b.Loop(); i++ {
		all, byte1, bundle := r.whole(b, d)
		ours, first = append(ours, all), append(first, byte1)
		theirs = append(theirs, runcRun(b, bundle))
	}
	b.ReportMetric(median(ours), "driver-ms")
	b.ReportMetric(median(first), "driver-first-ms")
	b.ReportMetric(median(theirs), "runc-run-ms")
	b.ReportMetric(median(ours)/median(theirs), "ratio")
}

func median(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Microseconds()) / 1000
}

// whole is one cell's life, and how long until its first byte; the bundle is a copy of the cell's.
func (r *real) whole(b *testing.B, d *Driver) (all, first time.Duration, bundle []byte) {
	began := time.Now()
	made, err := d.Create(b.Context(), r.spec("print", "x"))
	if err != nil {
		b.Fatal(err)
	}
	if err := made.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadFull(made.Stdio().Stdout, make([]byte, 2)); err != nil {
		b.Fatal(err)
	}
	first = time.Since(began)
	if _, err := made.Wait(b.Context()); err != nil {
		b.Fatal(err)
	}
	if bundle, err = os.ReadFile(made.(*cell).dir.config()); err != nil {
		b.Fatal(err)
	}
	if err := made.Destroy(context.Background()); err != nil {
		b.Fatal(err)
	}
	return time.Since(began), first, bundle
}

func runcRun(b *testing.B, bundle []byte) time.Duration {
	var spec specs.Spec
	if err := json.Unmarshal(bundle, &spec); err != nil {
		b.Fatal(err)
	}
	spec.Linux.CgroupsPath = "/hotcell/bench-runc" // with the processor shares that cells have
	text, err := json.Marshal(spec)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	out, err := exec.Command("runc", "--root", filepath.Join(dir, "state"), "run", "--bundle", dir, "bench").CombinedOutput()
	if err != nil || string(out) != "x\n" {
		b.Fatalf("%v %s", err, out)
	}
	return time.Since(began)
}
