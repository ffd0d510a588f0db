package executor

import (
	"context"

	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/policies"
)

// Policy implements [control.Book].
func (s *Supervisor) Policy(ctx context.Context, whose control.Whose, id string) (*control.Ran, error) {
	c, r, err := s.look(ctx, id, whose)
	if err != nil {
		return nil, err
	}
	if c != nil {
		r.ID = c.id
		c.mu.Lock()
		policy := c.policy
		c.mu.Unlock()
		if policy != nil {
			return ranUnder(policy), nil
		}
	}
	return s.journal.Policy(ctx, r.ID)
}

// runsUnder notes the policy that is decided for a call, which does not change any more.
func (c *call) runsUnder(p *policies.Effective) {
	c.ran.policy = p
	c.mu.Lock()
	defer c.mu.Unlock()
	c.policy = p
}

// ranUnder is a policy as it is kept; nil for none.
func ranUnder(p *policies.Effective) *control.Ran {
	if p == nil {
		return nil
	}
	r := &control.Ran{Digest: policyDigest(p), Choices: make([]control.Choice, len(p.Choices)), Clamps: make([]control.Clamp, len(p.Clamps))}
	for i, c := range p.Choices {
		r.Choices[i] = control.Choice{Field: c.Field, Value: c.Value, From: string(c.From)}
	}
	for i, c := range p.Clamps {
		r.Clamps[i] = control.Clamp{Field: c.Field, By: string(c.By), Asker: string(c.Asker), Asked: c.Asked, Granted: c.Granted}
	}
	return r
}
