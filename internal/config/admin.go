package config

import (
	"fmt"
	"time"
)

// mostOften bounds readiness.canary: each look is a cell.
const mostOften = Age(time.Second)

func (c *Config) adminFaults(v *faults) {
	if c.Admin.Listen != "" {
		v.add("admin.listen", checkListen(c.Admin.Listen, c.Auth.Mode != AuthNone))
	}
	if a := c.Readiness.Canary; a != 0 && (a < mostOften || a > Day) {
		v.add("readiness.canary", fmt.Sprintf("expected a time from 1s to 1d, or 0 for none, not %s", a))
	}
}
