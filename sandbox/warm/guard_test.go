package warm

import (
	"bufio"
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
)

// metered is a driver whose cells the kernel looks at.
type metered struct {
	*fake.Driver
	used func(age time.Duration) sandbox.Evidence
}

type meteredCell struct {
	sandbox.Sandbox
	d    *metered
	made time.Time
}

func (d *metered) Create(ctx context.Context, spec *sandbox.Spec) (sandbox.Sandbox, error) {
	box, err := d.Driver.Create(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &meteredCell{box, d, time.Now()}, nil
}

func (c *meteredCell) Evidence() sandbox.Evidence { return c.d.used(time.Since(c.made)) }

// A cell that works while it waits, or ran out of memory, is retired; one that only loads what it needs is not.
func TestTheGuard(t *testing.T) {
	spent := func(cpu func(age time.Duration) time.Duration) func(time.Duration) sandbox.Evidence {
		return func(age time.Duration) sandbox.Evidence {
			return sandbox.Evidence{Confidence: sandbox.ConfidenceKernel, Usage: sandbox.Usage{CPU: cpu(age)}}
		}
	}
	const settled = 4 * time.Minute
	for name, tt := range map[string]struct {
		used func(age time.Duration) sandbox.Evidence
		fine bool
	}{
		"loads for nine seconds": {spent(func(age time.Duration) time.Duration { return min(age, 9*time.Second) }), true},
		"ticks now and then":     {spent(func(age time.Duration) time.Duration { return age / 200 }), true},
		"never rests":            {spent(func(age time.Duration) time.Duration { return age }), false},
		"works half of the time": {spent(func(age time.Duration) time.Duration { return age / 2 }), false},
		"a child ran out of memory": {func(time.Duration) sandbox.Evidence {
			return sandbox.Evidence{Confidence: sandbox.ConfidenceKernel, OOMKilled: true}
		}, false},
		"memory ran out around it": {func(time.Duration) sandbox.Evidence {
			return sandbox.Evidence{Confidence: sandbox.ConfidenceKernel, Pressure: true}
		}, false},
		"nobody can look at what it has": {func(time.Duration) sandbox.Evidence {
			return sandbox.Evidence{Confidence: sandbox.ConfidenceNone, OOMKilled: true}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, answer, Options{Idle: time.Hour, MaxAge: time.Hour})
				b.warm = New(&metered{b.fake, tt.used}, b.warm.pool.opts)
				defer b.close()
				b.call(b.spec("s", "b", "p"))
				b.waiting()
				list, _ := b.warm.List(t.Context())
				time.Sleep(settled)
				b.waiting()
				now, _ := b.warm.List(t.Context())
				if stays := len(now) == 1 && now[0].ID == list[0].ID; stays != tt.fine {
					t.Errorf("at first %v waited, after %v %v did", list, settled, now)
				}
				if made := b.fake.Stats().Created; made > 13 {
					t.Errorf("%d cells were made for one that waits", made)
				}
			})
		})
	}
}

// A cell that talks while it waits is heard for a while, and then is of no use.
func TestAWaitingCellThatTalks(t *testing.T) {
	bothWays(t, func(t *testing.T, open func(fake.Program, Options) *bench) {
		var printed atomic.Int64
		b := open(func(ctx context.Context, _ *sandbox.Spec, stdin io.Reader, stdout, _ io.Writer) int {
			io.WriteString(stdout, ready)
			go func() { _, _ = bufio.NewReader(stdin).ReadString('\n') }()
			for ctx.Err() == nil {
				n, _ := io.WriteString(stdout, strings.Repeat("x", 1<<10))
				printed.Add(int64(n))
				time.Sleep(10 * time.Millisecond)
			}
			return 0
		}, Options{Words: 1 << 16})
		defer b.close()
		box, err := b.warm.Create(t.Context(), b.spec("s", "b", "p"))
		if err != nil {
			t.Fatal(err)
		}
		box.Destroy(t.Context())
		time.Sleep(2 * time.Minute)
		if n, made := printed.Load(), b.fake.Stats().Created; made > 12 || n > int64(made)<<17 {
			t.Errorf("%d cells were made, which printed %d bytes", made, n)
		}
	})
}

func (c *meteredCell) Unenforced() []string { return []string{"network"} }

// What a cell is without is told of it, whether it waited or was made for its call.
func TestWhatIsNotEnforcedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer, Options{Idle: time.Hour, MaxAge: time.Hour})
		b.warm = New(&metered{b.fake, func(time.Duration) sandbox.Evidence { return sandbox.Evidence{} }}, b.warm.pool.opts)
		defer b.close()
		spec := b.spec("s", "b", "p")
		b.call(spec)
		time.Sleep(time.Second)
		b.waiting()
		leased, _ := b.warm.Lease(spec.Key)
		made, err := b.warm.Create(t.Context(), b.spec("other", "b", "p"))
		if err != nil || leased == nil {
			t.Fatalf("%v, leased %v", err, leased)
		}
		for _, box := range []sandbox.Sandbox{made, leased} {
			if got := sandbox.Unenforced(box); len(got) != 1 || got[0] != "network" {
				t.Errorf("%T: %q", box, got)
			}
			if err := box.Destroy(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
