package skills

import (
	"strings"

	"github.com/hotcell/hotcell/policies"
)

// checkLimits holds what the skill asks for against what a cell needs and what this program allows: what can never run is
// an error, what will be cut a warning.
func checkLimits(s *sidecar, r *report) {
	found := policies.Check(policies.Skill, s.policy())
	for _, e := range found {
		at, key := s.limit(e.Field)
		r.at(fileSidecar, at, key, SeverityError, CodeInvalidValue, "%s: %s", key, e.Problem)
	}
	cuts := policies.Excess(policies.Skill, s.policy())
	if granted, err := policies.Narrow(policies.Policy{}, s.policy(), policies.Policy{}); err == nil {
		cuts = granted.Clamps // those that follow from the memory too
	}
	for _, c := range cuts {
		if c.By != policies.Host && c.By != policies.Memory {
			continue // of what has no amount, and is judged elsewhere
		}
		at, key := s.limit(c.Field)
		why := "the most that hotcell allows"
		if c.By == policies.Memory {
			why = "for which the memory has room"
		}
		r.at(fileSidecar, at, key, SeverityWarning, CodeLimitCut, "%s: %s is cut to %s, %s", key, c.Asked, c.Granted, why)
	}
}

// limit is where a field of a policy stands in skill.yaml, and its key there.
func (s *sidecar) limit(field string) (at *node, key string) {
	name, isLimit := strings.CutPrefix(field, "limits.")
	if !isLimit {
		return s.timeoutAt, "timeout_seconds"
	}
	return s.limitsAt.get(name), field
}
