package executor

import (
	"sync"
	"weak"

	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/policies"
)

// maxNarrowed bounds of how many skills it is remembered what they may use.
const maxNarrowed = 4096

// narrowed remembers what a skill may use when its call asks for nothing: the operator's policy is always the same.
type narrowed struct {
	mu    sync.Mutex
	known map[weak.Pointer[skills.Skill]]policies.Effective
}

func newNarrowed() *narrowed {
	return &narrowed{known: map[weak.Pointer[skills.Skill]]policies.Effective{}}
}

// of narrows the operator's policy, the skill's and the call's. Nobody changes what it returns.
func (n *narrowed) of(operator policies.Policy, skill *skills.Skill, asked policies.Policy) (policies.Effective, error) {
	if asked.Timeout != 0 {
		return policies.Narrow(operator, skill.Policy, asked)
	}
	key := weak.Make(skill)
	n.mu.Lock()
	eff, ok := n.known[key]
	n.mu.Unlock()
	if ok {
		return eff, nil
	}
	eff, err := policies.Narrow(operator, skill.Policy, asked)
	if err != nil {
		return eff, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= maxNarrowed {
		clear(n.known)
	}
	n.known[key] = eff
	return eff, nil
}
