package testutil

import (
	"testing"
	"time"
)

// Poll calls cond every few milliseconds until it returns true, and fails the test if it does not within that time.
// cond is called at least once, and once more at the end.
func Poll(t testing.TB, within time.Duration, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for step := time.Millisecond; !cond(); step = min(2*step, 50*time.Millisecond) {
		left := time.Until(deadline)
		if left <= 0 {
			t.Fatalf("the condition did not hold within %v", within)
		}
		time.Sleep(min(step, left))
	}
}
