package executor

import (
	"container/list"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// Replay is how long after a call's end the same request sent again gets the stored answer.
const Replay = 10 * time.Minute

// How many ended calls are remembered here beyond that, to be looked at, and how many bytes of their answers and events.
const (
	keepCalls = 1000
	mostCalls = 20_000
	keepBytes = 12 << 20
)

// registry knows the calls that are in flight and those that ended a while ago.
type registry struct {
	mu     sync.Mutex
	order  *list.List // of *call, oldest first
	byID   map[string]*list.Element
	byReq  map[string]*call // newest with that request id
	byKey  map[key]*call
	bytes  int64
	flight int
}

// key makes a request idempotent: the same caller sent the same id.
type key struct{ principal, agent, reqID string }

func newRegistry() *registry {
	return &registry{order: list.New(), byID: map[string]*list.Element{}, byReq: map[string]*call{}, byKey: map[key]*call{}}
}

// add takes a call in, unless the same caller sent its request id before, in a call that ended within the replay window or still
// runs: then it returns the earlier call, or an error when that had another body. An answer that says nothing about the
// request, because its caller hung up or no cell could be had, stands in nobody's way.
func (r *registry) add(c *call, now time.Time) (earlier *call, err *a2e.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.byKey[c.key]; old != nil && (!old.hasEnded() || !old.again && now.Sub(old.now().Ended) < Replay) {
		if old.digest() != c.digest() {
			return nil, duplicate(c.key.reqID)
		}
		return old, nil
	}
	r.byID[c.id] = r.order.PushBack(c)
	r.byReq[c.key.reqID] = c
	r.byKey[c.key] = c
	r.flight++
	return nil, nil
}

func duplicate(reqID string) *a2e.Error {
	return a2e.Errorf(a2e.InvalidMessage, "request id %q was used for another request that still runs, or ended within the last ten minutes: use a new one", clip(reqID, 80)).
		Because(a2e.ReasonDuplicateID)
}

// drop forgets a call that was not taken in after all.
func (r *registry) drop(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flight--
	r.bytes += c.size() // which forget takes off again
	if e := r.byID[c.id]; e != nil {
		r.forget(e, c)
	}
}

// ended notes that a call has its answer, and forgets old ones.
func (r *registry) ended(c *call, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flight--
	r.bytes += c.size()
	for e := r.order.Front(); e != nil; {
		next := e.Next()
		old := e.Value.(*call)
		if old.hasEnded() && !old.owed.Load() {
			if !r.overfull(old, now) {
				return
			}
			r.forget(e, old)
		}
		e = next
	}
}

func (r *registry) overfull(oldest *call, now time.Time) bool {
	n := r.order.Len()
	return n > mostCalls || r.bytes > keepBytes || (n > keepCalls && now.Sub(oldest.now().Ended) >= Replay)
}

func (r *registry) forget(e *list.Element, c *call) {
	r.order.Remove(e)
	delete(r.byID, c.id)
	if r.byReq[c.key.reqID] == c {
		delete(r.byReq, c.key.reqID)
	}
	if r.byKey[c.key] == c {
		delete(r.byKey, c.key)
	}
	r.bytes -= c.size()
}

// find returns the call with this id, or the newest with this request id, or nil.
func (r *registry) find(id string, whose control.Whose) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.byID[id]; e != nil {
		if c := e.Value.(*call); whose.Has(c.key.principal) {
			return c
		}
	}
	if c := r.byReq[id]; c == nil || whose.Has(c.key.principal) {
		return c
	}
	for e := r.order.Back(); e != nil; e = e.Prev() { // somebody else used the same request id later
		if c := e.Value.(*call); c.key.reqID == id && whose.Has(c.key.principal) {
			return c
		}
	}
	return nil
}

// newest returns at most limit calls, newest first; all when limit is 0.
func (r *registry) newest(limit int, whose control.Whose) []*call {
	r.mu.Lock()
	defer r.mu.Unlock()
	var calls []*call
	for e := r.order.Back(); e != nil && (limit == 0 || len(calls) < limit); e = e.Prev() {
		if c := e.Value.(*call); whose.Has(c.key.principal) {
			calls = append(calls, c)
		}
	}
	return calls
}

// inFlight returns how many calls have no answer yet.
func (r *registry) inFlight() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.flight
}

// running returns the calls that are under way: their answers are not known yet.
func (r *registry) running() []*call {
	var calls []*call
	for _, c := range r.newest(0, control.Whose{}) {
		if !c.hasEnded() && !c.owed.Load() {
			calls = append(calls, c)
		}
	}
	return calls
}
