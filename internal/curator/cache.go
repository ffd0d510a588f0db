package curator

import (
	"container/list"
	"sync"
)

// cacheBytes is how much of custom skills stays in memory while nobody uses it.
const cacheBytes = 64 << 20

// cache bounds what slots hold. It knows them in the order in which they were filled; one that was used since gets a second
// chance.
type cache struct {
	most int64

	mu    sync.Mutex
	bytes int64
	slots list.List // of *slot
}

// filled takes note that a slot holds something, and empties others where that is too much.
func (c *cache) filled(s *slot, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(s)
	s.bytes, s.at = bytes, c.slots.PushBack(s)
	c.bytes += bytes
	for chances := c.slots.Len(); c.bytes > c.most && c.slots.Len() > 1; chances-- {
		oldest, _ := c.slots.Front().Value.(*slot)
		if chances > 0 && (oldest == s || oldest.used.Swap(false)) {
			c.slots.MoveToBack(oldest.at)
			continue
		}
		c.drop(oldest)
		oldest.part.Store(nil)
		oldest.made.Store(nil)
	}
}

// forget is told of a slot that is in no picture any more.
func (c *cache) forget(s *slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(s)
}

// drop takes a slot off the books. The caller holds mu.
func (c *cache) drop(s *slot) {
	if s.at == nil {
		return
	}
	c.slots.Remove(s.at)
	c.bytes -= s.bytes
	s.at, s.bytes = nil, 0
}
