package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hotcell/hotcell/internal/credentials"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/policies"
)

// LLM says which models there are.
type LLM struct {
	Providers []llm.Provider // the first whose credential is there serves those who name none
	BaseURLs  []string       // what a caller's own base_url must be, or be below
}

// LLMPolicy is what skills may do about models.
type LLMPolicy struct {
	Inject []string // how credentials may reach them: broker, file
}

// Secrets are references to secrets by the names that skills use.
type Secrets map[string]string

const maxProviders = 32

func (c *Config) llmFaults(v *faults) {
	if len(c.LLM.Providers) > maxProviders {
		v.add("llm.providers", fmt.Sprintf("%d entries, at most %d are allowed", len(c.LLM.Providers), maxProviders))
		return
	}
	seen := map[string]bool{}
	for i, p := range c.LLM.Providers {
		key := fmt.Sprintf("llm.providers[%d]", i)
		for _, f := range p.Check() {
			v.add(key+"."+f.Key, f.Why)
		}
		v.add(key+".skills", checkSkills(p.Skills))
		if p.Credential != "" {
			v.add(key+".credential", checkReference(p.Credential))
		}
		if seen[p.Name] {
			v.add(key+".name", "another provider has this name")
		}
		seen[p.Name] = true
	}
	v.add("llm.base_urls", checkList(c.LLM.BaseURLs))
	for _, u := range c.LLM.BaseURLs {
		_, why := llm.CheckURL(u)
		v.add("llm.base_urls", why)
	}
	ways := []string{policies.InjectBroker, policies.InjectFile}
	for _, way := range c.Policy.LLM.Inject {
		v.add("policy.llm.inject", oneOf(way, ways))
	}
}

func (c *Config) secretFaults(v *faults) {
	if len(c.Secrets) > maxListed {
		v.add("secrets", fmt.Sprintf("%d entries, at most %d are allowed", len(c.Secrets), maxListed))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
		if !credentials.Name(name) {
			v.add("secrets", "expected names of letters, digits, hyphens and underscores")
			continue
		}
		v.add("secrets."+name, checkReference(c.Secrets[name]))
	}
}

// checkReference never repeats what it checks.
func checkReference(s string) string {
	if err := credentials.Check(s); err != nil {
		return err.Error() + ", and never the secret itself"
	}
	return ""
}
