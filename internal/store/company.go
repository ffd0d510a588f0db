package store

import (
	"database/sql"
	"hash/maphash"
	"sync"
	"time"
)

const (
	mostKept  = 1 << 17     // requests that are remembered
	companyIn = time.Minute // how long a call may take, at most, from its acceptance to the journal, for its request to be known for a first one
)

// company knows when a request can't be one that was sent before, without asking the journal: when this process has written all calls
// that may still be repeated, and this request is none of them. That is so from a while after the last call of anybody else was seen,
// and with a new journal at once. Its own time is the monotonic one: no clock that is set makes it forget.
type company struct {
	replay time.Duration // how long after its end a call is repeated; 0: the journal is always asked
	keep   time.Duration // how long it is remembered
	seed   maphash.Seed
	clock  func() time.Time

	mu      sync.Mutex
	seen    int                 // how often somebody else was
	since   time.Time           // nobody else had a call in flight from then on; the zero time: somebody may have
	flying  map[string]uint64   // requests of the calls in flight, by the call's id
	sent    map[uint64]int      // how many calls of a request are in flight
	recent  map[uint64]struct{} // of those that ended
	earlier map[uint64]struct{} // of those that ended before these
	turned  time.Time           // when recent was begun
}

func newCompany(replay time.Duration) *company {
	return &company{
		replay: replay, keep: replay + companyIn, seed: maphash.MakeSeed(), clock: time.Now,
		flying: map[string]uint64{}, sent: map[uint64]int{}, recent: map[uint64]struct{}{},
	}
}

// alone notes that the journal has no call of anybody else.
func (c *company) alone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = c.clock().Add(-c.keep)
}

// came notes that somebody else may have a call.
func (c *company) came() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen++
	c.since = time.Time{}
}

// comings counts how often somebody else was seen.
func (c *company) comings() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// first reports whether a request is one that was not sent before for sure, of a call that was accepted just now, if calls that ended after
// since are repeated.
func (c *company) first(k requestKey, accepted, since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock()
	ago := now.Sub(accepted)
	if c.replay <= 0 || accepted.Sub(since) > c.replay || ago < 0 || ago > companyIn || c.since.IsZero() || now.Sub(c.since) < c.keep {
		return false
	}
	h := maphash.Comparable(c.seed, k)
	_, recent := c.recent[h]
	_, earlier := c.earlier[h]
	return !recent && !earlier && c.sent[h] == 0
}

// accepted notes a call of this process.
func (c *company) accepted(id string, k requestKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := maphash.Comparable(c.seed, k)
	c.flying[id] = h
	c.sent[h]++
}

// ended notes that a call has its answer.
func (c *company) ended(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, own := c.flying[id]
	if !own {
		return
	}
	delete(c.flying, id)
	if c.sent[h]--; c.sent[h] == 0 {
		delete(c.sent, h)
	}
	now := c.clock()
	if now.Sub(c.turned) > c.keep {
		c.recent, c.earlier, c.turned = map[uint64]struct{}{}, c.recent, now
	}
	if len(c.recent) >= mostKept { // what is forgotten here, the journal knows
		clear(c.recent)
		if !c.since.IsZero() {
			c.since = now
		}
	}
	c.recent[h] = struct{}{}
}

// look sees whether anybody else has a call in flight, where that is not known and nobody has come since so many had.
func (c *company) look(tx *sql.Tx, seen int) error {
	c.mu.Lock()
	known := c.replay <= 0 || !c.since.IsZero()
	c.mu.Unlock()
	if known {
		return nil
	}
	rows, err := tx.Query(`SELECT id FROM calls WHERE ended = 0`)
	if err != nil {
		return err
	}
	defer rows.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		if _, own := c.flying[id]; !own {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if c.seen == seen {
		c.since = c.clock()
	}
	return nil
}
