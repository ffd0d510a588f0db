package warm

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
)

// distant is a driver whose cells take two seconds to come up, on other machines.
type distant struct{ *fake.Driver }

func (d distant) Create(ctx context.Context, spec *sandbox.Spec) (sandbox.Sandbox, error) {
	select {
	case <-time.After(2 * time.Second):
		return d.Driver.Create(ctx, spec)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Where starts are the work of other machines they are not made one after the other, nor held up by calls that start cold.
func TestCellsThatStartElsewhereStartTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for elsewhere, want := range map[int]int{0: 1, 6: 6} {
			b := newBench(t, answer, Options{Max: 8, Elsewhere: elsewhere})
			b.warm = New(distant{b.fake}, b.warm.pool.opts)
			boxes := make(chan sandbox.Sandbox, 8)
			for range cap(boxes) {
				go func() {
					box, err := b.warm.Create(t.Context(), b.spec("s", "b", "p"))
					if err != nil {
						t.Error(err)
					}
					boxes <- box
				}()
			}
			time.Sleep(3 * time.Second) // the calls' own cells are made and not started: they count as cold
			if _, starting, _ := b.warm.Count(); starting > max(1, elsewhere) || elsewhere > 0 && starting == 0 {
				t.Errorf("elsewhere %d: %d start while calls do", elsewhere, starting)
			}
			for range cap(boxes) {
				if err := (<-boxes).Destroy(t.Context()); err != nil {
					t.Error(err)
				}
			}
			began := time.Now()
			for ready := 0; ready < 8 && time.Since(began) < time.Minute; ready, _, _ = b.warm.Count() {
				time.Sleep(100 * time.Millisecond)
			}
			took := time.Since(began)
			if few := took < 6*time.Second; few != (want > 1) {
				t.Errorf("elsewhere %d: 8 cells were ready after %v", elsewhere, took)
			}
			b.close()
		}
	})
}
