package policies

import "fmt"

// FieldError says what is wrong with a field of one party's policy.
type FieldError struct {
	Field   string // "limits.memory"
	Party   Party  // who stated it
	Problem string // what was stated, what was expected, what to do
}

// Error names the field, the party and the problem.
func (e *FieldError) Error() string { return fmt.Sprintf("%s (%s): %s", e.Field, e.Party, e.Problem) }

// Check returns what is wrong with what one party states, in the order of reports: amounts below their floors, a skill's
// sizes that do not fit into its own memory, patterns of hosts and names that are none. [Narrow] refuses a policy of which
// Check says anything.
func Check(party Party, p Policy) []*FieldError {
	var found []*FieldError
	for _, f := range append(limitFields(), timeoutField()) {
		if n := *f.of(&p); n != 0 && n < f.min {
			found = append(found, &FieldError{f.name, party, fmt.Sprintf("%s is too little, expected at least %s", f.format(n), f.format(f.min))})
		}
	}
	if party == Skill && len(found) == 0 {
		if e := checkScratch(p.Limits); e != nil {
			found = append(found, e)
		}
	}
	return append(found, checkGrants(party, p)...)
}

// Excess returns what of a party's policy is cut to what this program allows at most, whatever the others state.
func Excess(party Party, p Policy) []Clamp {
	var found []Clamp
	for _, f := range append(limitFields(), timeoutField()) {
		if n := *f.of(&p); n > f.max {
			found = append(found, Clamp{f.name, Host, party, f.format(n), f.format(f.max)})
		}
	}
	return found
}

// checkScratch refuses a skill whose own sizes do not fit into its own memory, or into the default where it states none.
func checkScratch(skill Limits) *FieldError {
	memory, need, field, stated, whose := skill.Memory, skill.Workspace+skill.Out, fieldWorkspace, "", ""
	if memory == 0 {
		memory, whose = DefaultMemory, ", the default"
	}
	room, verb, together := ScratchSize(memory), "does", ""
	switch {
	case skill.Workspace != 0 && skill.Out != 0:
		stated, verb, together = fmt.Sprintf("%s and limits.out %s", skill.Workspace, skill.Out), "do", " together"
	case skill.Workspace != 0:
		stated, room = skill.Workspace.String(), room-MinOut
	case skill.Out != 0:
		field, stated, room = fieldOut, skill.Out.String(), room-MinWorkspace
	}
	if skill.Workspace <= room && skill.Out <= room && need <= room {
		return nil
	}
	return &FieldError{field, Skill, fmt.Sprintf(
		"%s %s not fit into limits.memory %s%s, expected at most %s%s: ask for less, or for more memory", stated, verb, memory, whose, room, together)}
}
