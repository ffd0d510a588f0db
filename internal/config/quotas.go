package config

import "github.com/hotcell/hotcell/policies"

// Quotas bound what each principal may have. 0 is no bound.
type Quotas struct {
	InFlight  int            // calls at once
	PerMinute int            // calls within a minute
	CPU       Age            // of processors, within a day
	Memory    policies.Bytes // times seconds, within a day
}

const mostCalls = 100_000 // of one principal, at once or within a minute

func (c *Config) quotaFaults(v *faults) {
	v.add("quotas.in_flight", between(c.Quotas.InFlight, 0, mostCalls))
	v.add("quotas.per_minute", between(c.Quotas.PerMinute, 0, mostCalls))
	v.add("quotas.memory_seconds", positive(int64(c.Quotas.Memory)))
}
