package skills

import (
	"fmt"
	"slices"
	"strings"
)

// composer applies what skills say of each other: includes, and tools that are skills.
//
// A skill has its own tools and toolkits first, then those of the skills that it includes, in the order in which they are
// written, each of them flattened in the same way; of a name that comes again the first counts.
type composer struct {
	box    Toolbox
	all    []*loaded
	byName map[string]int // the copy that counts
	done   []*composed
	group  []int // of each skill: the number of its group
}

// composed is a skill on its way through the composer.
type composed struct {
	*loaded
	skill           *Skill // a copy once anything differs from what was loaded
	tools, toolkits []declaration
	report          report
}

// compose returns the skills as they are in each other's company. What is loaded stays as it is, since it may be fine
// again after the next scan.
func compose(all []*loaded, box Toolbox) []*Skill {
	c := &composer{box: box, all: all, byName: make(map[string]int, len(all)), done: make([]*composed, len(all))}
	for i, ld := range all {
		old, known := c.byName[ld.skill.Name]
		if !known || (all[old].skill.Status == Blocked && ld.skill.Status != Blocked) {
			c.byName[ld.skill.Name] = i
		}
		c.done[i] = &composed{loaded: ld, skill: ld.skill}
	}
	order := c.order()
	for _, group := range order {
		for _, i := range group {
			c.flatten(i)
			c.checkRequired(c.done[i])
		}
	}
	for c.spread(order) { // a skill that is Blocked blocks those that need it
	}
	out := make([]*Skill, len(all))
	for i, s := range c.done {
		out[i] = s.skill
	}
	return out
}

// flatten composes a skill, whose includes were composed before unless they lead back to it.
func (c *composer) flatten(i int) {
	s := c.done[i]
	s.tools, s.toolkits = slices.Clone(s.loaded.tools), slices.Clone(s.loaded.toolkits)
	if s.final {
		return
	}
	tools, toolkits := named(s.tools), named(s.toolkits)
	if cycle := c.cycle(i); cycle != nil {
		s.included(CodeCycle, "includes: %s is a cycle", strings.Join(cycle, " → "))
		return
	}
	for _, name := range s.includes {
		at, ok := c.byName[name]
		if !ok {
			s.included(CodeResolution, "includes: there is no skill %s", quote(name))
			continue
		}
		s.tools = append(s.tools, from(c.done[at].tools, tools, name, s.includesAt)...)
		s.toolkits = append(s.toolkits, from(c.done[at].toolkits, toolkits, name, s.includesAt)...)
		if n := len(s.tools) + len(s.toolkits); n > mostComposed {
			s.tools, s.toolkits = nil, nil
			s.included(CodeResolution, "includes: %d tools and toolkits come together with those of %s; the most is %d", n, quote(name), mostComposed)
			return
		}
	}
	c.settle(s)
}

// mostComposed bounds what a skill and its includes declare together.
const mostComposed = 1024

// from returns the declarations of an included skill as those of the skill that includes it: all whose names are not known
// yet, which they are from then on.
func from(ds []declaration, known map[string]bool, name string, at *node) (out []declaration) {
	for _, d := range ds {
		if known[d.name] {
			continue
		}
		known[d.name] = true
		if d.from == "" {
			d.from = name
		}
		d.at, d.path = at, "includes"
		out = append(out, d)
	}
	return out
}

func named(ds []declaration) map[string]bool {
	known := make(map[string]bool, len(ds))
	for _, d := range ds {
		known[d.name] = true
	}
	return known
}

// settle looks up what a skill declares, and writes the outcome into a copy of it.
func (c *composer) settle(s *composed) {
	if len(s.tools)+len(s.toolkits) == 0 {
		return
	}
	sk := *s.skill
	sk.ToolNames, sk.ToolkitNames = toolNames(s.tools), toolNames(s.toolkits)
	sk.Tools, sk.Toolkits = raws(s.tools), raws(s.toolkits)
	s.skill = &sk
	for _, d := range s.tools {
		found := c.look(d.name)
		c.judge(s, d, found, CodeToolMissing)
	}
	for _, d := range s.toolkits {
		c.judge(s, d, c.box.Toolkit(d.name), CodeToolkitMissing)
	}
}

// look finds a tool: another skill, or one of the host.
func (c *composer) look(name string) Found {
	skill, ok := strings.CutPrefix(name, SkillTool)
	if !ok {
		return c.box.Tool(name)
	}
	at, ok := c.byName[skill]
	if !ok {
		return Found{Missing: "there is no skill " + quote(skill)}
	}
	return Found{Tools: []Tool{{Name: name, Source: ToolSkill, Writes: c.all[at].skill.Policy.Writes}}}
}

// judge reports what is missing, and what writes in the hands of a skill that may only read.
func (c *composer) judge(s *composed, d declaration, found Found, missing string) {
	if found.Missing != "" {
		s.fail(d, missing, "%s: %s%s", d.path, found.Missing, through(d.from))
		return
	}
	for _, t := range found.Tools {
		if !slices.ContainsFunc(s.skill.Resolved, func(known Tool) bool { return known.Name == t.Name }) {
			s.skill.Resolved = append(s.skill.Resolved, t)
		}
		if t.Writes && !s.skill.Policy.Writes {
			s.fail(d, CodeReadOnly, "%s: %s writes%s, and this skill is read-only: set writes: true, or do without it",
				d.path, quote(t.Name), through(d.from))
			return
		}
	}
}

func through(included string) string {
	if included == "" {
		return ""
	}
	return fmt.Sprintf(" (a tool of the included skill %s)", quote(included))
}

// spread blocks the skills that need one that cannot be used, and reports whether there were any.
func (c *composer) spread(order [][]int) (changed bool) {
	for _, group := range order {
		for _, i := range group {
			s := c.done[i]
			if s.skill.Status != Published || s.report.findings != nil {
				continue
			}
			for _, name := range s.includes {
				if why := c.unusable(name); why != "" {
					s.included(CodeResolution, "includes: %s", why)
					changed = true
				}
			}
			for _, d := range s.tools {
				if name, ok := strings.CutPrefix(d.name, SkillTool); ok && s.report.findings == nil {
					if why := c.unusable(name); why != "" {
						s.fail(d, CodeToolMissing, "%s: %s", d.path, why)
						changed = true
					}
				}
			}
		}
	}
	return changed
}

// unusable says why a skill cannot be used by another, or "".
func (c *composer) unusable(name string) string {
	at, ok := c.byName[name]
	if !ok {
		return "" // reported before
	}
	switch sk := c.done[at].skill; sk.Status {
	case Blocked:
		return fmt.Sprintf("skill %s is blocked: %s", quote(name), clip(sk.BlockedWhy, maxWhy))
	case Created, Archived:
		return fmt.Sprintf("skill %s is %s, which nobody can use", quote(name), sk.Status)
	case Published:
	}
	return ""
}

// maxWhy keeps reasons that quote reasons short.
const maxWhy = 400

func (s *composed) included(code, format string, args ...any) {
	s.fail(declaration{path: "includes", at: s.includesAt}, code, format, args...)
}

// fail adds a finding, which blocks the skill.
func (s *composed) fail(d declaration, code, format string, args ...any) {
	if len(s.report.findings) > maxFindings {
		return
	}
	s.report.at(fileSidecar, d.at, d.path, SeverityError, code, format, args...)
	f := s.report.findings[len(s.report.findings)-1]
	s.warn(f)
	if s.skill.Status == Published {
		s.skill.Status, s.skill.BlockedWhy = Blocked, blockedWhy(&f)
	}
}

// warn adds a finding that blocks nothing.
func (s *composed) warn(f Finding) {
	sk := *s.skill
	sk.Findings = append(slices.Clone(sk.Findings), f)
	sortFindings(sk.Findings)
	s.skill = &sk
}
