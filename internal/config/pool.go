package config

import (
	"fmt"
	"time"
)

// maxWaiting bounds pool.max: each cell that waits is a started container.
const maxWaiting = 100

func (c *Config) poolFaults(v *faults) {
	v.add("pool.max", between(c.Pool.Max, 0, maxWaiting))
	v.add("pool.idle", waitingTime(c.Pool.Idle))
	v.add("pool.max_age", waitingTime(c.Pool.MaxAge))
}

func waitingTime(a Age) string {
	if a < Age(time.Second) || a > Day {
		return fmt.Sprintf("expected a time from 1s to 1d, not %s", a)
	}
	return ""
}
