package config

import (
	"fmt"
	"strings"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/pattern"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/policies"
)

const maxPattern = 64 // bytes, as long as a skill's name or a secret's may be

// checkSkills takes patterns of skills; no pattern at all is no skill.
func checkSkills(patterns []string) string {
	if why := checkList(patterns); why != "" {
		return why
	}
	for _, p := range patterns {
		if !skills.GoodScope(p, goodPrincipal) {
			return fmt.Sprintf("expected names of skills, such as [report-*], where * stands for any text, or custom:NAME or custom:PRINCIPAL/NAME for custom skills, not %.40q", p)
		}
	}
	return ""
}

// checkNames takes names of skills.
func checkNames(names []string) string {
	if why := checkList(names); why != "" {
		return why
	}
	for _, n := range names {
		if n == "" || len(n) > maxPattern || strings.Trim(n, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return fmt.Sprintf("expected names of skills, such as [time-arithmetic], not %.40q", n)
		}
	}
	return ""
}

// checkPrincipals takes patterns of principals; no pattern at all is nobody.
func checkPrincipals(patterns []string) string {
	if why := checkList(patterns); why != "" {
		return why
	}
	for _, p := range patterns {
		if !goodPrincipal(p) {
			return fmt.Sprintf("expected principals, such as [alice, group:team], where * stands for any text, not %.40q", p)
		}
	}
	return ""
}

func goodPrincipal(p string) bool {
	return auth.Name(strings.ReplaceAll(strings.TrimPrefix(p, pattern.Group), "*", "x"))
}

// secretScopeFaults checks which skills get which secrets. No entry is repeated: a secret might have been put there.
func (c *Config) secretScopeFaults(v *faults) {
	const key = "policy.secrets"
	if why := checkList(c.Policy.Secrets); why != "" {
		v.add(key, why)
		return
	}
	for i, entry := range c.Policy.Secrets {
		skill, name, ok := skills.SplitScoped(entry)
		if !ok || !skills.GoodScope(skill, goodPrincipal) || len(name) > maxPattern || !policies.SecretName(strings.ReplaceAll(name, "*", "x")) {
			v.add(fmt.Sprintf("%s[%d]", key, i), `expected SKILL:NAME, such as deploy:GITHUB_TOKEN or "report-*:*", where * stands for any text, or custom:SKILL:NAME or custom:PRINCIPAL/SKILL:NAME for custom skills`)
		}
	}
}
