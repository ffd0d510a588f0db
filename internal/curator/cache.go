package curator

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// How much of custom skills stays in memory while nobody uses it.
const (
	cacheBytes  = 64 << 20 // whole ones
	glanceBytes = 32 << 20 // what lists tell of them
)

// cache bounds what is held of slots. It knows it in the order in which it came; what was used since gets a second chance.
type cache struct {
	most int64

	mu    sync.Mutex
	bytes int64
	slots list.List // of *held
}

// held is something that a slot holds as long as there is room.
type held struct {
	used  atomic.Bool // since the cache looked last
	empty func()      // lets go of it

	bytes int64         // the cache's, like at
	at    *list.Element // nil: it is not on the books
}

// use notes that it was used.
func (h *held) use() {
	if !h.used.Load() {
		h.used.Store(true)
	}
}

// filled takes note that something is held, and empties others where that is too much.
func (c *cache) filled(h *held, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(h)
	h.bytes, h.at = bytes, c.slots.PushBack(h)
	c.bytes += bytes
	for chances := c.slots.Len(); c.bytes > c.most && c.slots.Len() > 1; chances-- {
		oldest, _ := c.slots.Front().Value.(*held)
		if chances > 0 && (oldest == h || oldest.used.Swap(false)) {
			c.slots.MoveToBack(oldest.at)
			continue
		}
		c.drop(oldest)
		oldest.empty()
	}
}

// forget is told of what is in no picture any more.
func (c *cache) forget(h *held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(h)
}

// drop takes something off the books. The caller holds mu.
func (c *cache) drop(h *held) {
	if h.at == nil {
		return
	}
	c.slots.Remove(h.at)
	c.bytes -= h.bytes
	h.at, h.bytes = nil, 0
}
