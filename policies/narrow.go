package policies

import (
	"slices"
)

// Narrow intersects what the three parties state; each can only take away from the one before.
//
// The operator's limits are maxima, within those of the host ([MaxMemory] and its like). The skill's wish, or the default
// where it has none, is cut to them. The call's wish is cut to what the skill gets. Only the timeout may be longer than the
// default when a call asks for it and the skill states none. Workspace and out are cut further so that they fit into the
// memory. Each cut of a stated wish is in Clamps.
//
// The runtime is the operator's choice alone. A network is what the skill asks for and a pattern of the operator's covers,
// since an operator's list permits but does not ask; no list permits nothing. A model is what the skill asks for, in a way
// that the operator permits. Writes and secrets are what the skill asks for.
//
// The error is a *[FieldError], the first of [Check].
func Narrow(operator, skill, call Policy) (Effective, error) {
	for _, stated := range []struct {
		party  Party
		policy Policy
	}{{Operator, operator}, {Skill, skill}, {Caller, call}} {
		if found := Check(stated.party, stated.policy); len(found) > 0 {
			return Effective{}, found[0]
		}
	}
	n := narrowing{operator: operator, skill: skill, call: call, held: map[string]holding{}}
	for _, f := range limitFields() {
		n.held[f.name] = n.narrow(f, n.orDefault(f, n.ceiling(f)), Skill, *f.of(&skill))
	}
	n.fitScratch(skill.Limits)
	for _, f := range limitFields() {
		n.held[f.name] = n.narrow(f, n.held[f.name], Caller, *f.of(&call))
	}
	n.fitScratch(Limits{
		Workspace: max(skill.Limits.Workspace, call.Limits.Workspace),
		Out:       max(skill.Limits.Out, call.Limits.Out),
	})
	n.timeout()
	return n.effective(), nil
}

// narrowing is the state of one [Narrow].
type narrowing struct {
	operator, skill, call Policy
	held                  map[string]holding // by field name
	clamps                []Clamp
}

// holding is the value of a field so far, and the party whose bound it is.
type holding struct {
	value int64
	by    Party
}

// ceiling is the most that the operator and the host allow.
func (n *narrowing) ceiling(f field) holding {
	return n.narrow(f, holding{f.max, Host}, Operator, *f.of(&n.operator))
}

// orDefault cuts a ceiling to the default, unless the skill states a wish of its own.
func (n *narrowing) orDefault(f field, ceiling holding) holding {
	if *f.of(&n.skill) != 0 || ceiling.value < f.def {
		return ceiling
	}
	return holding{f.def, Default}
}

// narrow applies what a party asks for, 0 for nothing, to what is held.
func (n *narrowing) narrow(f field, held holding, asker Party, asked int64) holding {
	switch {
	case asked == 0:
		return held
	case asked > held.value:
		n.clamp(Clamp{f.name, held.by, asker, f.format(asked), f.format(held.value)})
		return held
	}
	return holding{asked, asker}
}

// timeout differs from the limits in one point: a call that states one replaces the default of a skill that does not.
func (n *narrowing) timeout() {
	f := timeoutField()
	held := n.ceiling(f)
	if n.call.Timeout == 0 || n.skill.Timeout != 0 {
		held = n.orDefault(f, held)
	}
	held = n.narrow(f, held, Skill, int64(n.skill.Timeout))
	n.held[f.name] = n.narrow(f, held, Caller, int64(n.call.Timeout))
}

// clamp notes a cut. A second one of the same wish replaces the first and keeps what was asked.
func (n *narrowing) clamp(c Clamp) {
	i := slices.IndexFunc(n.clamps, func(old Clamp) bool { return old.Field == c.Field && old.Asker == c.Asker })
	if i < 0 {
		n.clamps = append(n.clamps, c)
		return
	}
	c.Asked = n.clamps[i].Asked
	n.clamps[i] = c
}
