package auth

import "testing"

func TestShares(t *testing.T) {
	s := NewShares(10, 6)
	take := func(principal string, n int64, want bool) func() {
		t.Helper()
		give, ok := s.Take(principal, n)
		if ok != want {
			t.Errorf("%q took %d: %t", principal, n, ok)
		}
		return give
	}
	first := take("a", 6, true)
	take("a", 1, false)
	take("b", 5, false)
	second := take("b", 4, true)
	take("c", 1, false)
	first()
	first() // does nothing
	take("a", 7, false)
	third := take("", 6, true)
	take("", 1, false)
	third()
	second()
	take("", 10, true)()
	if s.all != 0 || len(s.held) != 0 {
		t.Errorf("%d are held in the end, by %d", s.all, len(s.held))
	}
}
