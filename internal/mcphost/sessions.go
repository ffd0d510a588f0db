package mcphost

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

// Bounds of sessions.
const (
	maxSessions  = 1024             // of all
	maxOwn       = 64               // of one principal, and as many subscriptions without a session
	idleSessions = 30 * time.Minute // after which a session that nobody uses ends
)

// errFull: no other session can be opened now.
var errFull = errors.New("too many sessions are open: end some of them, or try again later")

// table holds the sessions over HTTP.
type table struct {
	host *Host

	mu        sync.Mutex
	sessions  map[string]*session
	listeners map[string]int // subscriptions without a session, by principal
	closed    bool
}

// session is a peer that lasts, and whose it is.
type session struct {
	*peer
	id, owner string // owner is the identity that opened it
	unwatch   func()

	// Guarded by the table.
	requests int         // under way
	idle     *time.Timer // nil once the session has ended
	used     time.Time
}

func newTable(h *Host) *table {
	return &table{host: h, sessions: map[string]*session{}, listeners: map[string]int{}}
}

// owner is an identity as a text: another one is somebody else, even if only what it may do differs.
func owner(id auth.Identity) string {
	id.Scopes = slices.Sorted(slices.Values(id.Scopes))
	id.Groups = slices.SortedFunc(slices.Values(id.Groups), func(a, b auth.Membership) int {
		return slices.Compare([]string{a.Group, string(a.Role)}, []string{b.Group, string(b.Role)})
	})
	b, _ := json.Marshal(id)
	return string(b)
}

// open makes a session, for one request that is under way. Where a principal has too many, the one that it did not use for
// longest ends, if none of its calls is in flight.
func (t *table) open(id auth.Identity) (*session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errFull
	}
	own, oldest := 0, (*session)(nil)
	for _, s := range t.sessions {
		if s.who.Principal != id.Principal {
			continue
		}
		own++
		if s.requests == 0 && s.calls.Load() == 0 && (oldest == nil || s.used.Before(oldest.used)) {
			oldest = s
		}
	}
	if own >= maxOwn || len(t.sessions) >= maxSessions {
		if oldest == nil {
			return nil, errFull
		}
		t.remove(oldest)
	}
	s := &session{id: rand.Text(), owner: owner(id), requests: 1}
	s.peer = t.host.newPeer(t.host.life, id.Caller(Door), s.id)
	s.lasts = true
	s.unwatch = t.host.watch.add(s.peer)
	s.idle = time.AfterFunc(idleSessions, func() { t.expire(s) })
	s.idle.Stop()
	t.sessions[s.id] = s
	return s, nil
}

// enter finds a session of the identity and notes that a request of it is under way.
func (t *table) enter(id string, who auth.Identity) (*session, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[id]
	if s == nil || s.owner != owner(who) {
		return nil, false
	}
	s.requests++
	s.idle.Stop()
	return s, true
}

// leave ends what [table.enter] or [table.open] began.
func (t *table) leave(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.used = time.Now()
	if s.requests--; s.requests > 0 {
		return
	}
	if s.idle == nil { // it has ended meanwhile
		t.host.kept.forget(s.id)
		return
	}
	s.idle.Reset(idleSessions)
}

func (t *table) expire(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.requests == 0 {
		t.remove(s)
	}
}

// end removes a session.
func (t *table) end(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(s)
}

// remove takes a session out and ends its calls. The SDK's part of it ends in the background, since it waits for them.
func (t *table) remove(s *session) {
	if s.idle == nil {
		return
	}
	s.idle.Stop()
	s.idle = nil
	delete(t.sessions, s.id)
	s.unwatch()
	s.peer.end()
	t.host.group.Go(func() {
		for conn := range s.server.Sessions() {
			_ = conn.Close()
		}
	})
}

func (t *table) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, s := range t.sessions {
		t.remove(s)
	}
}

// listener takes a place for a subscription without a session, and reports false where the principal has no other.
func (t *table) listener(who a2e.Caller) (leave func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listeners[who.Principal] >= maxOwn {
		return nil, false
	}
	t.listeners[who.Principal]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.listeners[who.Principal]--; t.listeners[who.Principal] == 0 {
			delete(t.listeners, who.Principal)
		}
	}, true
}
