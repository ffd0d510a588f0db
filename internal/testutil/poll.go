package testutil

import (
	"testing"
	"time"
)

// patience is the least time that a condition is given: on a busy machine everything takes its time, and a condition that
// holds ends the wait at once.
const patience = 30 * time.Second

// Poll calls cond every few milliseconds until it returns true, and fails the test if it does not within that time, which is
// at least half a minute. cond is called at least once, and once more at the end.
func Poll(t testing.TB, within time.Duration, cond func() bool) {
	t.Helper()
	within = max(within, patience)
	deadline := time.Now().Add(within)
	for step := time.Millisecond; !cond(); step = min(2*step, 50*time.Millisecond) {
		left := time.Until(deadline)
		if left <= 0 {
			t.Fatalf("the condition did not hold within %v", within)
		}
		time.Sleep(min(step, left))
	}
}
