package executor

import (
	"bufio"
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	sqlite "github.com/hotcell/hotcell/internal/store"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// BenchmarkWarmCall is what hotcell itself adds to a call whose cell waits: from the request to the first event, and to the
// answer. The cell costs next to nothing.
func BenchmarkWarmCall(b *testing.B) {
	for _, journalled := range []bool{false, true} {
		name := "no journal"
		if journalled {
			name = "journal"
		}
		b.Run(name, func(b *testing.B) { benchmarkWarm(b, journalled, 0) })
		b.Run(name+", after a pause", func(b *testing.B) { benchmarkWarm(b, journalled, 20*time.Millisecond) })
	}
}

func benchmarkWarm(b *testing.B, journalled bool, pause time.Duration) {
	driver := fake.New(func(_ context.Context, _ *sandbox.Spec, stdin io.Reader, stdout, _ io.Writer) int {
		_, _ = io.WriteString(stdout, `{"type":"cell/ready","protocol":1}`+"\n")
		in := bufio.NewReader(stdin)
		if _, err := in.ReadString('\n'); err != nil {
			return 1
		}
		_, _ = io.WriteString(stdout, `{"type":"skill/event","kind":"progress","data":{"pct":50}}`+"\n"+
			`{"type":"skill/result","success":true,"data":1}`+"\n"+`{"type":"cell/exit","exit_code":0}`+"\n")
		return 0
	})
	pool := warm.New(driver, warm.Options{Max: 8})
	var journal Journal
	if journalled {
		s, err := sqlite.Open(context.Background(), sqlite.Options{Path: dbPath(b), Keep: sqlite.Keep{Events: time.Hour}})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		journal = s
	}
	super := setUp(b, well, func(c *Config) { c.Driver, c.Journal, c.MaxCells = pool, journal, 16 })
	call := func() (first, done time.Duration) {
		began := time.Now()
		answer := super.Call(context.Background(), a2e.Caller{Door: "test"}, req("free"), a2e.EventWriterFunc(func(context.Context, *a2e.Event) error {
			if first == 0 {
				first = time.Since(began)
			}
			return nil
		}))
		if answer.Error != nil {
			b.Fatal(answer.Error)
		}
		return first, time.Since(began)
	}
	call()
	var firsts, dones []time.Duration
	for b.Loop() {
		b.StopTimer()
		for len(pool.Waiting("free")) == 0 {
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(pause)
		b.StartTimer()
		first, done := call()
		firsts, dones = append(firsts, first), append(dones, done)
	}
	slices.Sort(firsts)
	slices.Sort(dones)
	b.ReportMetric(float64(firsts[len(firsts)/2].Microseconds()), "µs/first-event")
	b.ReportMetric(float64(dones[len(dones)/2].Microseconds()), "µs/answer")
}
