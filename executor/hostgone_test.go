package executor

import (
	"context"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
)

// slowToList is a plugin that lists its skills once its caller has gone.
type slowToList struct{ guest }

func (s slowToList) ListSkills(ctx context.Context, who a2e.Caller) ([]a2e.Definition, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Who hangs up while it is looked for a skill has cancelled its call: nothing is wrong with hotcell.
func TestHangingUpWhileASkillIsLookedFor(t *testing.T) {
	b := setUp(t, well, hosting(slowToList{guest{"here": gives(1)}}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answer, _ := b.ask(ctx, &a2e.CallRequest{Header: a2e.Header{ID: "gone"}, Name: "here"})
	if got := verdict(answer); got != "runtime_error/cancelled" {
		t.Errorf("got %s: %+v", got, answer.Error)
	}
}
