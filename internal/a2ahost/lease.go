package a2ahost

import (
	"context"
	"net/http"

	"github.com/hotcell/hotcell/internal/auth"
)

// Room for the artifacts that requests put together, in bytes. Written as JSON they take several times as much.
const (
	allContents = 192 << 20 // of all, half of it for one principal
	ownContents = 1 << 20   // of one request, for which there is always room
	contentStep = 1 << 20   // that is taken at a time
)

// lease is what one request has of the room for artifacts, until it is answered.
type lease struct {
	shares    *auth.Shares
	principal string
	most      int // bytes that it may hold by now
	give      []func()
}

type leaseKey struct{}

// lend gives a request its lease. done is to be called once it is answered.
func (h *Host) lend(r *http.Request) (lent *http.Request, done func()) {
	l := &lease{shares: h.contents, principal: auth.FromContext(r.Context()).Principal, most: ownContents}
	return r.WithContext(context.WithValue(r.Context(), leaseKey{}, l)), l.end
}

// end gives back what is held.
func (l *lease) end() {
	if l == nil {
		return
	}
	for _, give := range l.give {
		give()
	}
	l.give, l.most = nil, ownContents
}

// leased is the lease of a request.
func leased(ctx context.Context) *lease {
	l, _ := ctx.Value(leaseKey{}).(*lease)
	return l
}

// holds reports whether there is room for so many bytes in all.
func (l *lease) holds(bytes int) bool {
	for l != nil && l.most < bytes {
		give, ok := l.shares.Take(l.principal, contentStep)
		if !ok {
			return false
		}
		l.give = append(l.give, give)
		l.most += contentStep
	}
	return true
}
