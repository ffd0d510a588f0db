package rest

import (
	"net/http"

	"github.com/hotcell/hotcell/internal/auth"
)

// memory is what the bodies of all requests that are held whole may take together, beyond what each may always have. One
// principal's may take half of it.
type memory struct{ shares *auth.Shares }

const (
	allMemory = 256 << 20 // bytes
	ownMemory = 64 << 10
)

func newMemory() memory { return memory{auth.NewShares(allMemory, allMemory/2)} }

// take reserves room for a request's body, which has most bytes if its length is not known. give it back in the end.
func (m memory) take(r *http.Request, most int64) (give func(), err error) {
	n := r.ContentLength
	if n < 0 {
		n = most
	}
	if n <= ownMemory {
		return func() {}, nil
	}
	give, ok := m.shares.Take(auth.FromContext(r.Context()).Principal, n)
	if !ok {
		p := problemf(http.StatusServiceUnavailable, "busy", "too many large requests are being served already: try again later")
		p.retryAfter = busyFor
		return nil, p
	}
	return give, nil
}
