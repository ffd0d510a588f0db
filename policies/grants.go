package policies

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// none is what a report says where nothing is granted.
const none = "none"

// network keeps what the skill asks for and a pattern of the operator's covers. An operator's list alone asks for nothing.
// A call may keep less of it.
func (n *narrowing) network(e *Effective) {
	from := Default
	if wish := n.skill.Network.Allow; len(wish) > 0 {
		from = Skill
		if e.Network.Allow = covered(wish, n.operator.Network.Allow); len(e.Network.Allow) == 0 {
			from = Operator
		}
		n.cutNetwork(wish, e.Network.Allow, Operator, Skill)
	}
	if wish := n.call.Network.Allow; len(wish) > 0 {
		had := e.Network.Allow
		e.Network.Allow = covered(wish, had)
		n.cutNetwork(wish, e.Network.Allow, Skill, Caller)
		if len(had) > 0 {
			from = Caller
		}
	}
	e.Choices = append(e.Choices, Choice{FieldNetwork, allowed(e.Network.Allow), from})
}

func (n *narrowing) cutNetwork(asked, granted []string, by, asker Party) {
	if wish := covered(asked, asked); len(wish) != len(granted) {
		n.clamp(Clamp{FieldNetwork, by, asker, allowed(wish), allowed(granted)})
	}
}

// covered returns those of the patterns, sorted and in one spelling, that one of the bounds covers. All have been checked.
func covered(asked, bounds []string) []string {
	var kept []string
	for _, text := range asked {
		pattern, err := ParseHostPattern(text)
		if err == nil && slices.ContainsFunc(bounds, func(b string) bool {
			bound, err := ParseHostPattern(b)
			return err == nil && bound.Covers(pattern)
		}) {
			kept = append(kept, pattern.String())
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}

func allowed(patterns []string) string {
	if len(patterns) == 0 {
		return none
	}
	return strings.Join(patterns, " ")
}

// llm is what the skill asks for, through the broker where the operator permits no other way. A call cannot ask for it here:
// which of the operator's models it prefers is decided by who knows them.
func (n *narrowing) llm(e *Effective) {
	if n.skill.LLM == nil {
		e.Choices = append(e.Choices, Choice{fieldLLM, none, Default})
		return
	}
	permit := []string{InjectBroker}
	if n.operator.LLM != nil && n.operator.LLM.Permit != nil {
		permit = n.operator.LLM.Permit
	}
	wish := LLM{Provider: n.skill.LLM.Provider, Model: n.skill.LLM.Model, Inject: cmp.Or(n.skill.LLM.Inject, InjectBroker)}
	granted, from := &wish, Skill
	if !slices.Contains(permit, wish.Inject) {
		from, granted = Operator, nil
		if wish.Inject == InjectFile && slices.Contains(permit, InjectBroker) {
			granted = &LLM{Provider: wish.Provider, Model: wish.Model, Inject: InjectBroker}
		}
		n.clamp(Clamp{FieldInject, Operator, Skill, wish.Inject, granted.way()})
	}
	e.LLM = granted
	e.Choices = append(e.Choices, Choice{fieldLLM, granted.text(), from})
}

// text says a wish in words.
func (l *LLM) text() string {
	if l == nil {
		return none
	}
	way := "through the broker"
	if l.Inject == InjectFile {
		way = "with the credential as a file"
	}
	return fmt.Sprintf("%s of %s, %s", cmp.Or(l.Model, "the default model"), cmp.Or(l.Provider, "the first provider"), way)
}

func (l *LLM) way() string {
	if l == nil {
		return none
	}
	return l.Inject
}

// secrets are what the skill asks for. Whether the operator has them is decided by who keeps them: a skill must not run
// without one that it needs.
func (n *narrowing) secrets(e *Effective) {
	e.Secrets = slices.Clone(n.skill.Secrets)
	slices.Sort(e.Secrets)
	e.Secrets = slices.Compact(e.Secrets)
	from, value := Default, none
	if len(e.Secrets) > 0 {
		from, value = Skill, strings.Join(e.Secrets, " ")
	}
	e.Choices = append(e.Choices, Choice{fieldSecrets, value, from})
}

// checkGrants returns what is wrong with the network, the model and the secrets of a policy.
func checkGrants(party Party, p Policy) []*FieldError {
	var found []*FieldError
	for _, text := range p.Network.Allow {
		if _, err := ParseHostPattern(text); err != nil {
			found = append(found, &FieldError{FieldNetwork, party, err.Error()})
		}
	}
	if p.LLM != nil {
		for _, way := range append(slices.Clone(p.LLM.Permit), cmp.Or(p.LLM.Inject, InjectBroker)) {
			if way != InjectBroker && way != InjectFile {
				found = append(found, &FieldError{fieldLLM, party, fmt.Sprintf("inject %.40q: expected %s or %s", way, InjectBroker, InjectFile)})
			}
		}
	}
	for _, name := range p.Secrets {
		if !SecretName(name) {
			found = append(found, &FieldError{fieldSecrets, party, fmt.Sprintf("%.80q: expected a name of letters, digits, _, - and ., at most %d", name, maxSecretName)})
		}
	}
	return found
}

// maxSecretName is the longest name of a secret, in bytes.
const maxSecretName = 64

// SecretName reports whether s may name a secret: it becomes the name of a file.
func SecretName(s string) bool {
	const chars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	return s != "" && len(s) <= maxSecretName && s[0] != '.' && strings.Trim(s, chars) == ""
}
