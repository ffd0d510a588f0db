package rig

import (
	"fmt"
	"sync/atomic"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/internal/control"
)

// counts is an observer that keeps the books: what began has to end. It tells next what it is told.
type counts struct {
	executor.Observer
	accepted, ended, created, destroyed atomic.Int64
}

func (c *counts) CallAccepted(door string) {
	c.accepted.Add(1)
	c.Observer.CallAccepted(door)
}

func (c *counts) CallEnded(skill string, end control.Call, trace string) {
	c.ended.Add(1)
	c.Observer.CallEnded(skill, end, trace)
}

func (c *counts) CellCreated() {
	c.created.Add(1)
	c.Observer.CellCreated()
}

func (c *counts) CellDestroyed() {
	c.destroyed.Add(1)
	c.Observer.CellDestroyed()
}

// check reports a call that was accepted and not answered, or a cell that was made and not destroyed.
func (c *counts) check() error {
	if c.accepted.Load() != c.ended.Load() || c.created.Load() != c.destroyed.Load() {
		return fmt.Errorf("books do not balance: %d calls accepted, %d ended; %d cells made, %d destroyed",
			c.accepted.Load(), c.ended.Load(), c.created.Load(), c.destroyed.Load())
	}
	return nil
}
