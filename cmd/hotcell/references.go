package main

import (
	"maps"
	"reflect"
	"slices"

	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/doctor"
	"github.com/hotcell/hotcell/internal/host"
)

// lookup asks for each reference of the configuration whether a value is there. No value is kept.
func lookup(cfg *config.Config) []doctor.Reference {
	var all []doctor.Reference
	add := func(what, ref string, optional bool) {
		r := doctor.Reference{For: what, Optional: optional}
		if _, err := host.References(cfg).Resolve(ref); err != nil {
			r.Why = err.Error()
		}
		all = append(all, r)
	}
	untouched := reflect.DeepEqual(cfg.LLM.Providers, config.Default(true, "", "").LLM.Providers)
	for _, p := range cfg.LLM.Providers {
		if p.Credential != "" {
			add("provider "+p.Name, p.Credential, untouched)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Secrets)) {
		add("secret "+name, cfg.Secrets[name], false)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Images.Auth)) {
		add("images.auth "+name, cfg.Images.Auth[name], false)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Tools.MCP)) {
		server := cfg.Tools.MCP[name]
		for _, refs := range []map[string]string{server.Env, server.Headers} {
			for _, key := range slices.Sorted(maps.Keys(refs)) {
				add("tools.mcp."+name+" "+key, refs[key], false)
			}
		}
	}
	return all
}
