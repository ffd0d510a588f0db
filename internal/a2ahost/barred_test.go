package a2ahost

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
)

// A skill that the caller can see and not call is the supervisor's to refuse; one that is not there is refused at once.
func TestBarredSkillsAreCalled(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		sent(t, c, asks("barred"))
		r.f.mu.Lock()
		saw := r.f.saw
		r.f.mu.Unlock()
		if len(saw) != 1 || saw[0].Name != "barred" {
			t.Errorf("the supervisor saw %+v", saw)
		}
		if got, err := c.SendMessage(within(t), asks("absent")); err == nil || got != nil {
			t.Errorf("got %+v, want %v", got, a2a.ErrInvalidParams)
		}
	})
}
