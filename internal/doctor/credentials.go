package doctor

import "strings"

// Reference is where the configuration says that a secret is. No value is ever here.
type Reference struct {
	For      string // "provider main", "secret TOKEN", "tools.mcp.web"
	Why      string // "" where a value is there
	Optional bool   // nobody wrote it: it is a default
}

// credentials: is there a value for each reference of the configuration? Whether it is the right one only its owner knows.
func (e *exam) credentials() {
	const id = "credentials"
	var there, missing, unset []string
	for _, r := range e.facts.Settings.References {
		text := word(r.For) + ": " + clean(r.Why, 2*maxWord)
		switch {
		case r.Why == "":
			there = append(there, word(r.For))
		case r.Optional:
			unset = append(unset, text)
		default:
			missing = append(missing, text)
		}
	}
	switch {
	case len(missing) > 0:
		e.add(id, Warn, "not to be had: "+strings.Join(missing, "; "), "calls that need them are refused: set them, or change the references in the configuration")
	case len(there) > 0:
		e.ok(id, "there: %s", strings.Join(there, ", "))
	case len(unset) > 0:
		e.add(id, OK, "none: "+strings.Join(unset, "; "), "set it, or llm.providers, where skills need a model")
	default:
		e.ok(id, "the configuration names none")
	}
}
