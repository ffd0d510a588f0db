package executor

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// maxLost bounds how many cells of unknown fate are remembered, while an engine is away.
const maxLost = 1000

// held are the cells that this supervisor answers for, by name, from before they are made until they are gone.
type held struct {
	mu    sync.Mutex
	cells map[string]hold

	telling sync.Mutex // what is told last is true
	tell    func(poisoned []string) error
}

// hold is what is known of one cell.
type hold struct {
	poisoned bool      // it was to be destroyed and lives
	lost     time.Time // when its creation failed in a way that may yet make it; it is not in use
}

func newHeld(tell func([]string) error) *held {
	return &held{cells: map[string]hold{}, tell: tell}
}

// take notes a cell that is about to be made.
func (h *held) take(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cells[name] = hold{}
}

// lose notes that nobody knows whether the engine has made a cell, or still will.
func (h *held) lose(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost() < maxLost {
		h.cells[name] = hold{lost: time.Now()}
	} else {
		delete(h.cells, name)
	}
}

// lost is how many cells are of unknown fate. The caller holds mu.
func (h *held) lost() (n int) {
	for _, c := range h.cells {
		if !c.lost.IsZero() {
			n++
		}
	}
	return n
}

// poison notes that a cell will not die. It is told to others the first time.
func (h *held) poison(names ...string) error {
	h.mu.Lock()
	news := false
	for _, name := range names {
		if old, ok := h.cells[name]; ok && !old.poisoned {
			h.cells[name], news = hold{poisoned: true}, true
		}
	}
	h.mu.Unlock()
	if news {
		return h.publish()
	}
	return nil
}

// free notes that a cell is gone.
func (h *held) free(name string) error {
	h.mu.Lock()
	old := h.cells[name]
	delete(h.cells, name)
	h.mu.Unlock()
	if old.poisoned {
		return h.publish()
	}
	return nil
}

// abandon poisons all that is left, of which nobody will take care any more.
func (h *held) abandon() error {
	h.mu.Lock()
	names := slices.Collect(maps.Keys(h.cells))
	h.mu.Unlock()
	return h.poison(names...)
}

// find forgets cells of unknown fate that an engine does not show after the time that it may take to make one.
func (h *held) find(listed map[string]bool, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.cells, func(name string, c hold) bool {
		return !c.lost.IsZero() && !listed[name] && now.Sub(c.lost) > creationGrace
	})
}

// inUse reports whether a cell is one that the supervisor takes care of.
func (h *held) inUse(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.cells[name]
	return ok && c.lost.IsZero()
}

// none reports whether every cell is gone.
func (h *held) none() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.cells) == 0
}

// poisoned returns the names of the cells that will not die, sorted.
func (h *held) poisoned() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := []string{}
	for name, c := range h.cells {
		if c.poisoned {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (h *held) publish() error {
	h.telling.Lock()
	defer h.telling.Unlock()
	return h.tell(h.poisoned())
}
