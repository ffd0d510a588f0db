package a2ehost

import (
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
)

// table holds the sessions of an HTTP door.
type table struct {
	opt  WebOptions
	rest time.Duration // a session that is idle for longer makes room when there are too many

	mu   sync.Mutex
	byID map[string]*webSession
}

func newTable(opt WebOptions, rest time.Duration) *table {
	return &table{opt: opt, rest: rest, byID: map[string]*webSession{}}
}

// find returns a session that is still served, or nil.
func (t *table) find(id string) *webSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// add takes a session in, and reports false when there is no room for it.
func (t *table) add(ws *webSession) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o, _ := ws.owned(); o == nil {
		t.crowd()
	} else if !t.room(o.principal) {
		return false
	}
	if len(t.byID) >= t.opt.MaxSessions && !t.evict(func(*webSession) bool { return true }) {
		return false
	}
	t.byID[ws.id] = ws
	return true
}

// crowd makes room among those that have shown no token: the oldest of the address that has most of them goes.
func (t *table) crowd() {
	from, oldest, all := map[string]int{}, map[string]*webSession{}, 0
	for _, ws := range t.byID {
		if o, _ := ws.owned(); o != nil {
			continue
		}
		all++
		from[ws.from]++
		if old := oldest[ws.from]; old == nil || ws.began.Before(old.began) {
			oldest[ws.from] = ws
		}
	}
	if all < t.opt.Unknown {
		return
	}
	worst := ""
	for addr, n := range from {
		if oldest[worst] == nil || n > from[worst] {
			worst = addr
		}
	}
	t.drop(oldest[worst], errEvicted)
}

// room makes room for another session of a principal, if it can be had.
func (t *table) room(principal string) bool {
	if principal == "" {
		return true
	}
	n := 0
	for _, ws := range t.byID {
		if o, _ := ws.owned(); o != nil && o.principal == principal {
			n++
		}
	}
	return n < t.opt.PerPrincipal || t.evict(func(ws *webSession) bool {
		o, _ := ws.owned()
		return o != nil && o.principal == principal
	})
}

// evict ends the session that has been idle longest, of those that may be chosen.
func (t *table) evict(may func(*webSession) bool) bool {
	var found *webSession
	longest := t.rest
	for _, ws := range t.byID {
		if idle := ws.idle(); idle > longest && may(ws) {
			found, longest = ws, idle
		}
	}
	if found == nil {
		return false
	}
	t.drop(found, errEvicted)
	return true
}

// end ends a session, which nobody finds any more.
func (t *table) end(ws *webSession, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(ws, why)
}

// drop is end with the lock held.
func (t *table) drop(ws *webSession, why error) {
	delete(t.byID, ws.id)
	ws.leave(why)
	ws.forget()
}

func (t *table) remove(ws *webSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, ws.id)
}

// claim reports why an identity may not use a session: errClosed, errOthers or errFull. Nobody's becomes its.
func (t *table) claim(ws *webSession, id auth.Identity, header bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	o, _ := ws.owned()
	switch {
	case o != nil && o.belongs(id):
		return nil
	case o != nil:
		return errOthers
	case t.byID[ws.id] != ws:
		return errClosed
	case !t.room(id.Principal):
		return errFull
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.owner, ws.header = &owner{id.Principal, id.Agent}, header
	return nil
}

// sweep ends the sessions that have expired.
func (t *table) sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, ws := range t.byID {
		o, _ := ws.owned()
		if o == nil && time.Since(ws.began) >= t.opt.Handshake || o != nil && ws.idle() >= t.opt.SessionIdle {
			t.drop(ws, errExpired)
		}
	}
}
