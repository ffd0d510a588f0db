package a2ahost

import (
	"container/list"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Bounds of what is remembered of tasks beside the journal.
const (
	mostRemembered  = 1024
	rememberedBytes = 4 << 20
	mostOfOne       = 64 << 10 // bytes of one message; a larger one is not remembered
	mostTurns       = 8        // messages of one task
)

// memory is what users said in their tasks, which no journal keeps, and tasks without a call. It forgets the oldest first.
type memory struct {
	mu     sync.Mutex
	order  *list.List // of *memo
	byTask map[string]*list.Element
	bytes  int
}

type memo struct {
	task, principal string
	turns           []*message
	settled         *record
	bytes           int
}

func newMemory() *memory { return &memory{order: list.New(), byTask: map[string]*list.Element{}} }

// note remembers what was said in a task, size bytes long as it came.
func (m *memory) note(principal, task string, said *message, size int) {
	if size > mostOfOne {
		return
	}
	m.change(principal, task, size, func(e *memo) {
		if len(e.turns) < mostTurns {
			e.turns = append(e.turns[:len(e.turns):len(e.turns)], said)
		}
	})
}

// settle remembers a task that has no call, size bytes long.
func (m *memory) settle(principal string, r *record, size int) {
	m.change(principal, r.id.task, size, func(e *memo) { e.settled = r })
}

func (m *memory) change(principal, task string, size int, do func(*memo)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.find(principal, task)
	if e == nil {
		e = &memo{task: task, principal: principal}
		m.byTask[task] = m.order.PushBack(e)
	}
	do(e)
	e.bytes += size
	m.bytes += size
	for m.order.Len() > mostRemembered || m.bytes > rememberedBytes {
		oldest := m.order.Remove(m.order.Front()).(*memo)
		delete(m.byTask, oldest.task)
		m.bytes -= oldest.bytes
	}
}

func (m *memory) find(principal, task string) *memo {
	if at := m.byTask[task]; at != nil {
		if e := at.Value.(*memo); e.principal == principal {
			return e
		}
	}
	return nil
}

// turns are the messages of a task that are remembered, oldest first.
func (m *memory) turns(principal, task string) []*message {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.find(principal, task); e != nil {
		return e.turns
	}
	return nil
}

// history is [memory.turns] as a client gets it.
func (m *memory) history(principal string, id identity) []*a2a.Message {
	var out []*a2a.Message
	for _, turn := range m.turns(principal, id.task) {
		out = append(out, turn.told(id))
	}
	return out
}

// settled returns a task without a call, nil where there is none.
func (m *memory) settled(principal, task string) *record {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.find(principal, task); e != nil {
		return e.settled
	}
	return nil
}

// all returns a principal's tasks without a call.
func (m *memory) all(principal string) []*record {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*record
	for at := m.order.Back(); at != nil; at = at.Prev() {
		if e := at.Value.(*memo); e.principal == principal && e.settled != nil {
			out = append(out, e.settled)
		}
	}
	return out
}
