package policies

import "strconv"

// effective puts together what was decided.
func (n *narrowing) effective() Effective {
	var e Effective
	var amounts Policy
	for _, f := range append(limitFields(), timeoutField()) {
		held := n.held[f.name]
		*f.of(&amounts) = held.value
		e.Choices = append(e.Choices, Choice{f.name, f.format(held.value), held.by})
	}
	e.Limits, e.Timeout = amounts.Limits, amounts.Timeout
	n.network(&e)
	n.llm(&e)
	n.secrets(&e)
	n.runtime(&e)
	n.writes(&e)
	e.Clamps = n.clamps
	return e
}

// runtime is the operator's; nobody below may pick one, since it could be a weaker one.
func (n *narrowing) runtime(e *Effective) {
	e.Runtime = n.operator.Runtime
	from, value := Operator, e.Runtime
	if value == "" {
		from, value = Default, "the engine's default"
	}
	for _, asks := range []struct {
		party Party
		name  string
	}{{Skill, n.skill.Runtime}, {Caller, n.call.Runtime}} {
		if asks.name != "" && asks.name != e.Runtime {
			n.clamp(Clamp{fieldRuntime, from, asks.party, asks.name, value})
		}
	}
	e.Choices = append(e.Choices, Choice{fieldRuntime, value, from})
}

// writes is the skill's wish: false cannot be told from nothing said, so neither the operator nor the call refuse it
// here, and a call cannot ask for it.
func (n *narrowing) writes(e *Effective) {
	e.Writes = n.skill.Writes
	from := Default
	if e.Writes {
		from = Skill
	}
	if n.call.Writes && !e.Writes {
		n.clamp(Clamp{fieldWrites, Skill, Caller, "true", "false"})
	}
	e.Choices = append(e.Choices, Choice{fieldWrites, strconv.FormatBool(e.Writes), from})
}
