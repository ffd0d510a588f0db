package recent

import (
	"sync"
	"time"
)

// Value is the newest that is known of something. The zero Value knows nothing. It is safe for concurrent use.
type Value[T any] struct {
	mu    sync.Mutex
	value *T
	at    time.Time
}

// Get returns what was put at most maxAge ago, and nil if that is longer ago; 0 means as old as there is.
func (v *Value[T]) Get(maxAge time.Duration) *T {
	v.mu.Lock()
	defer v.mu.Unlock()
	if maxAge > 0 && time.Since(v.at) > maxAge {
		return nil
	}
	return v.value
}

// Put notes what has been learned just now. Nil is: nothing is known any more.
func (v *Value[T]) Put(value *T) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.value, v.at = value, time.Now()
}
