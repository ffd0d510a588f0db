package console

import (
	"fmt"
	"strings"
)

// refusals adds what hotcell refused the skill on the way, or what it ran out of, which is often why it failed. The skill's own
// words tell that best: hotcell's refusals are in them.
func (c *cause) refusals(e explanation) explanation {
	if c.told() {
		return c.afterKill(e)
	}
	h := c.hint()
	if h == nil {
		return e
	}
	e.Title = "The skill " + h.title + "."
	e.What = append([]string{h.what}, e.What...)
	if len(e.Change) > 1 {
		e.Change = e.Change[:1]
	}
	e.Change = append(append([]advice{}, h.change...), e.Change...)
	e.Again = "It would most likely fail in the same way: change something first."
	return e
}

// said finds what the skill says of a refusal; nil: nothing.
func (c *cause) said() *hint {
	said := c.fail.Message + "\n" + c.text("stderr")
	all := hints()
	for i := range all {
		if strings.Contains(said, all[i].has) && (all[i].fits == nil || all[i].fits(c, &all[i], said)) {
			return c.narrowed(&all[i])
		}
	}
	return nil
}

// hint finds what the skill says of a refusal, or else what hotcell knows of one.
func (c *cause) hint() *hint {
	if h := c.said(); h != nil {
		return h
	}
	all := hints()
	for _, u := range c.uses {
		if u.Refused {
			return c.refusedUse(u, all)
		}
	}
	if c.refused() > 0 {
		return &hint{
			title:  "failed after hotcell had refused it something",
			what:   fmt.Sprintf("On its way hotcell refused it %s: a host, a model or a tool that it may not use. That need not be the reason.", plural(c.refused(), "request", "requests")),
			change: all[0].change,
		}
	}
	return nil
}

// refusedUse is the hint for a use that the audit has.
func (c *cause) refusedUse(u use, all []hint) *hint {
	h := hint{
		title: "failed after hotcell had refused it the " + u.Kind + " " + plainText(u.What),
		what:  fmt.Sprintf("On its way it asked for the %s %s, and was refused (%s). That need not be the reason.", u.Kind, u.What, u.Outcome),
	}
	switch u.Kind {
	case "host":
		h.change = all[0].change
	case "tool":
		name := "NAME"
		if plainName.MatchString(u.What) {
			name = u.What
		}
		h.change = []advice{{Do: "Name the tool in the skill; one that writes also needs writes: true.", File: "skill.yaml", Text: "tools: [" + name + "]\nwrites: true"}}
	default:
		h.change = []advice{{Do: "See what the skill may ask of models, and who decided it.", File: "shell", Text: "hotcell policy explain SKILL"}}
	}
	return &h
}

// narrowed leaves out what a skill asks for already.
func (c *cause) narrowed(h *hint) *hint {
	b, _ := c.limit("network")
	if host := c.denied(); host != "" && strings.Contains(b.asked, host) && len(h.change) == 2 {
		h.change = h.change[1:]
	}
	return h
}

// denied is the host that the skill was refused, as host:port; "": none is known.
func (c *cause) denied() string {
	if m := deniedHost.FindStringSubmatch(c.fail.Message + "\n" + c.text("stderr")); m != nil {
		return m[1]
	}
	for _, u := range c.uses {
		if u.Refused && u.Kind == "host" && plainHost.MatchString(u.What) {
			return u.What
		}
	}
	return ""
}

// refused is how often hotcell refused something that the skill wanted outside of its cell.
func (c *cause) refused() int {
	if c.call.Account == nil || c.call.Account.Uses == nil {
		return 0
	}
	return c.call.Account.Uses.Refused
}

// hint is what a skill repeats when it was refused something or ran out of it.
type hint struct {
	has         string // in its message or its standard error
	title, what string
	change      []advice
	fits        func(c *cause, h *hint, said string) bool // holds it against what is known of the call, and says what is true of it; nil: it fits
}

func hints() []hint {
	hosts := []advice{
		{Do: "Name the host and the port in the skill.", File: "skill.yaml", Text: "network:\n  allow: [\"api.example.org:443\"]"},
		{Do: "The operator must allow the same host: policy.network bounds all skills, and is none by default. Add it to the list.", File: "hotcell.yaml", Text: "policy:\n  network:\n    allow: [\"api.example.org:443\"]"},
	}
	return []hint{
		{"is not in network.allow", "was refused a host on the network", "It wanted to reach a host that it may not reach, and hotcell refused that. Put that host in the place of api.example.org below.", hosts, nil},
		{"leads to an address that is not public", "was refused a private address", "It wanted to reach a host whose address is private, and hotcell refused that.", []advice{
			{Do: "Only the operator can open private addresses, by naming them.", File: "hotcell.yaml", Text: "policy:\n  network:\n    allow: [\"10.1.2.3:443\"]"},
		}, nil},
		{"Network is unreachable", "wanted a network, which it does not have", "", hosts, offline},
		{"Temporary failure in name resolution", "wanted a network, which it does not have", "", hosts, offline},
		{"Name or service not known", "wanted a network, which it does not have", "", hosts, offline},
		{"max_turns exceeded", "asked its model more often than it may", "The number of requests to a model is bounded by max_turns in skill.yaml, and by the operator at the provider (limits.requests).", []advice{
			{Do: "Let it ask more often than now; a skill without code that says nothing may 10 times.", File: "skill.yaml", Text: "max_turns: 20"},
		}, nil},
		{"and the request may use", "used up its model tokens", "The tokens of one call are bounded at the model's provider. The message has how many were left.", []advice{
			{Do: "Raise them above what they are; 1000000 is what holds when nothing is said.", File: "hotcell.yaml", Text: "llm:\n  providers:\n    - name: ...\n      limits:\n        tokens: 2000000"},
		}, nil},
		{"and the request may cost", "used up what its model may cost", "The cost of one call is bounded at the model's provider. The message has what was left.", []advice{
			{Do: "Raise it above what it is.", File: "hotcell.yaml", Text: "llm:\n  providers:\n    - name: ...\n      limits:\n        cost: 2"},
		}, nil},
		{"No space left on device", "ran out of room for its files", "", nil, full},
		{"ModuleNotFoundError", "lacks a Python package", "A package that it imports is not there, and a cell can't install anything while it runs. The message names the package.", []advice{
			{Do: "Put the package beside the script, or name an image that has it.", File: "shell, in the skill's folder", Text: "pip install --target scripts --no-compile PACKAGE"},
		}, nil},
		{"Resource temporarily unavailable", "wanted more processes than it may have", "", nil, crowded},
		{"can't start new thread", "wanted more threads than it may have", "", nil, crowded},
		{"Too many open files", "wanted more open files than it may have", "", nil, manyFiles},
	}
}
