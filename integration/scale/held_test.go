package scale

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// use is memory in use, in KB: of the heap, and of goroutines' stacks.
type use struct{ heap, stack float64 }

func (u use) less(v use) use { return use{u.heap - v.heap, u.stack - v.stack} }
func (u use) each(n int) use { return use{u.heap / float64(n), u.stack / float64(n)} }
func (u use) String() string {
	return fmt.Sprintf("%.1f KB, %.1f of them stacks", u.heap+u.stack, u.stack)
}

// held is what this process uses now.
func held() use {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return use{float64(m.HeapAlloc) / 1e3, float64(m.StackInuse) / 1e3}
}

// patient is a cell that says one thing and works until it is killed.
func patient(ctx context.Context, _ *sandbox.Spec, stdin io.Reader, stdout, _ io.Writer) int {
	_, _ = io.WriteString(stdout, `{"type":"cell/ready","protocol":1}`+"\n")
	if _, err := bufio.NewReaderSize(stdin, 256).ReadString('\n'); err != nil {
		return 1
	}
	_, _ = io.WriteString(stdout, `{"type":"skill/event","kind":"status","data":{"message":"here"}}`+"\n")
	<-ctx.Done()
	return 0
}

// What a supervisor holds of a call that runs and is listened to, and of a cell that waits, beside what its driver does. The
// cells are goroutines of this process, and counted in.
func TestScaleOfMemory(t *testing.T) {
	const many = 200
	library, err := skills.Load([]skills.Source{{Label: skills.SourceProject, FS: library(), Path: "scale"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	driver := fake.New(patient)
	driver.SetCapabilities(sandbox.Capabilities{OS: "linux", Arch: "amd64", CPUs: 8, Memory: 1 << 42, OwnUsers: true})
	var busy atomic.Bool // nothing is started ahead
	busy.Store(true)
	pool := warm.New(driver, warm.Options{Max: many, Elsewhere: 32, Idle: time.Hour, Busy: busy.Load})
	s, err := executor.New(executor.Config{
		Driver: pool, Images: everyImage{}, Skills: library, Instance: "s", Runner: runnerOf, MaxCells: 4 * many,
		DefaultImages: map[string]string{"python": "image"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, hangUp := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	call := func(n int) {
		up := make(chan struct{}, n)
		for i := range n {
			calls.Go(func() {
				s.Call(ctx, a2e.Caller{Door: "scale"}, &a2e.CallRequest{Name: skill(0), Arguments: map[string]any{"n": i}},
					a2e.EventWriterFunc(func(context.Context, *a2e.Event) error { up <- struct{}{}; return nil }))
			})
		}
		for range n {
			select {
			case <-up:
			case <-time.After(2 * time.Minute):
				t.Fatal("a call says nothing")
			}
		}
	}
	call(1)
	before := held()
	call(many)
	running := held().less(before).each(many)
	busy.Store(false)
	testutil.Poll(t, time.Minute, func() bool { n, coming, _ := pool.Count(); return n > many/20 && coming == 0 })
	n, _, _ := pool.Count()
	full := held()
	pool.Drain()
	waiting := full.less(held()).each(n)
	t.Logf("scale: a call that runs: %v; a cell that waits (of %d): %v", running, n, waiting)
	if running.heap+running.stack > 128 || waiting.heap+waiting.stack > 64 {
		t.Errorf("want 128 KB at most for a call that runs, and 64 for a cell that waits")
	}
	hangUp()
	calls.Wait()
	drained, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Drain(drained); err != nil {
		t.Error(err)
	}
}
