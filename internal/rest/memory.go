package rest

import (
	"context"
	"net/http"
	"time"

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

// Large answers that are on their way at once, half of them one principal's. Each is held until its client has taken it.
const (
	maxReads = 128
	readWait = 10 * time.Second // for one of them
)

// reading waits for a place for a large answer.
func (a *api) reading(r *http.Request) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(r.Context(), readWait)
	defer cancel()
	leave, ok := a.reads.Wait(ctx, auth.FromContext(r.Context()).Principal, 1)
	if !ok {
		p := problemf(http.StatusServiceUnavailable, "busy", "too many answers are on their way to clients that do not take them: try again later")
		p.retryAfter = busyFor
		return nil, p
	}
	return leave, nil
}

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
