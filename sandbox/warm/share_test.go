package warm

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

// Skills share the places as they share the calls: the busiest one does not take them all.
func TestSkillsShareThePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer, Options{Max: 6})
		defer b.close()
		for range 20 {
			for _, skill := range []string{"a", "a", "a", "b", "b", "c"} {
				b.call(b.spec(skill, "b", "p"))
			}
		}
		time.Sleep(10 * time.Second)
		b.waiting()
		list, _ := b.warm.List(t.Context())
		waits := map[string]int{}
		for _, l := range list {
			waits[l.Labels[sandbox.LabelSkill]]++
		}
		if waits["a"] != 3 || waits["b"] != 2 || waits["c"] != 1 {
			t.Errorf("%v wait, want 3, 2 and 1", waits)
		}
		before := b.fake.Stats().Created
		time.Sleep(30 * time.Second)
		if made := b.fake.Stats().Created - before; made != 0 {
			t.Errorf("%d cells were made while nobody called", made)
		}
	})
}

// Cells that never get ready keep no others from it.
func TestACellThatIsNeverReadyHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(ctx context.Context, spec *sandbox.Spec, stdin io.Reader, stdout, stderr io.Writer) int {
			if spec.Labels[sandbox.LabelSkill] == "mute" {
				<-ctx.Done()
				return 0
			}
			return answer(ctx, spec, stdin, stdout, stderr)
		}, Options{Max: 4})
		defer b.close()
		box, err := b.warm.Create(t.Context(), b.spec("mute", "b", "p"))
		if err != nil {
			t.Fatal(err)
		}
		box.Destroy(t.Context())
		b.waiting()
		b.call(b.spec("s", "b", "p"))
		time.Sleep(100 * time.Millisecond)
		if ids := b.warm.Waiting("s"); len(ids) != 1 {
			t.Errorf("%d cells wait beside one that does not get ready, want 1", len(ids))
		}
	})
}
