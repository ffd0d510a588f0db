package policies

import (
	"slices"
	"strconv"
	"strings"
)

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
	n.runtime(&e)
	n.writes(&e)
	e.Clamps = n.clamps
	return e
}

// network keeps what skill and call ask for. An operator's list alone asks for nothing.
func (n *narrowing) network(e *Effective) {
	from := Default
	for _, asks := range []struct {
		party Party
		allow []string
	}{{Skill, n.skill.Network.Allow}, {Caller, n.call.Network.Allow}} {
		if len(asks.allow) > 0 {
			from = asks.party
			e.Network.Allow = append(e.Network.Allow, asks.allow...)
		}
	}
	slices.Sort(e.Network.Allow)
	e.Network.Allow = slices.Compact(e.Network.Allow)
	value := "none"
	if len(e.Network.Allow) > 0 {
		value = "allow " + strings.Join(e.Network.Allow, " ")
	}
	e.Choices = append(e.Choices, Choice{fieldNetwork, value, from})
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
