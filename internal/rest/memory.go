package rest

import (
	"net/http"

	"golang.org/x/sync/semaphore"
)

// memory is what the bodies of all requests that are held whole may take together, beyond what each may always have.
type memory struct {
	free *semaphore.Weighted
}

const (
	allMemory = 256 << 20 // bytes
	ownMemory = 64 << 10
)

func newMemory() memory { return memory{semaphore.NewWeighted(allMemory)} }

// take reserves room for a request's body, which has most bytes if its length is not known. give it back in the end.
func (m memory) take(r *http.Request, most int64) (give func(), err error) {
	n := r.ContentLength
	if n < 0 {
		n = most
	}
	if n <= ownMemory {
		return func() {}, nil
	}
	if !m.free.TryAcquire(n) {
		p := problemf(http.StatusServiceUnavailable, "busy", "too many large requests are being served already: try again later")
		p.retryAfter = busyFor
		return nil, p
	}
	return func() { m.free.Release(n) }, nil
}
