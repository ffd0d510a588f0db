package docker

import (
	"io"
	"testing"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

// BenchmarkCell measures a cell's whole life, with its phases in ms: create, start (until it returns), run (until the last
// byte and the exit) and remove.
func BenchmarkCell(b *testing.B) {
	r := newReal(b)
	trees := []sandbox.Tree{r.newTree(b, files()), r.newTree(b, files())}
	trees[1].Target = "/hotcell"
	for name, trees := range map[string][]sandbox.Tree{"plain": nil, "1 tree": trees[:1], "2 trees": trees} {
		b.Run(name, func(b *testing.B) {
			var phases [4]time.Duration
			for b.Loop() {
				spec := r.spec("print", "hello")
				spec.Trees = trees
				lap := stopwatch()
				c, err := r.Create(b.Context(), spec)
				if err != nil {
					b.Fatal(err)
				}
				phases[0] += lap()
				if err := c.Start(b.Context()); err != nil {
					b.Fatal(err)
				}
				phases[1] += lap()
				if _, err := io.Copy(io.Discard, c.Stdio().Stdout); err != nil {
					b.Fatal(err)
				}
				if _, err := c.Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
				phases[2] += lap()
				if err := c.Destroy(b.Context()); err != nil {
					b.Fatal(err)
				}
				phases[3] += lap()
			}
			for i, name := range []string{"create", "start", "run", "remove"} {
				b.ReportMetric(float64(phases[i].Microseconds())/1000/float64(b.N), name+"-ms/op")
			}
		})
	}
}

func stopwatch() func() time.Duration {
	last := time.Now()
	return func() time.Duration {
		now := time.Now()
		defer func() { last = now }()
		return now.Sub(last)
	}
}

// BenchmarkFill measures what a tree costs once: the volume and its content.
func BenchmarkFill(b *testing.B) {
	r := newReal(b)
	for b.Loop() {
		if _, err := r.ensure(b.Context(), r.newTree(b, files()), r.image); err != nil {
			b.Fatal(err)
		}
	}
}
