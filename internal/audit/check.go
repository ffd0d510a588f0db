package audit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hotcell/hotcell/internal/control"
)

// Mark is one of the two ends of a chain as a store notes them beside the rows.
type Mark struct {
	control.AuditHead
	Seal control.Sum
}

// Trim is the data of a row of the kind [Trimmed]: the rows through a number were taken away.
type Trim struct {
	Through int64       `json:"through"`
	Hash    control.Sum `json:"hash"` // of the last one
	Rows    int64       `json:"rows"`
	Why     string      `json:"why"` // age or size
}

// Checker looks through a chain, row by row, and finds the first thing that is wrong with it.
type Checker struct {
	key    Key
	start  *Mark // nil: what was before the first row is not known
	anchor control.AuditHead

	report  control.AuditReport
	last    control.AuditHead
	trimmed *Trim // the newest
	met     bool  // the anchor
}

// NewChecker returns a checker of a chain. start is what the store notes as the last row that was taken away, zero where none was;
// nil is for rows that come without a store. Where anchor is not zero it must be among the rows.
func NewChecker(key Key, start *Mark, anchor control.AuditHead) *Checker {
	c := &Checker{key: key, start: start, anchor: anchor}
	c.report.Keyed = !key.None()
	if start == nil {
		return c
	}
	c.last = start.AuditHead
	if start.N != 0 {
		if wrong := key.check(start.Seal, startSeal, start.N, start.Hash); wrong != "" {
			c.fail(0, "the mark of what was trimmed (through %d): %s", start.N, wrong)
		}
	}
	c.meet(start.AuditHead)
	return c
}

// Failed reports whether something wrong was found: no further row need be looked at.
func (c *Checker) Failed() bool { return c.report.Fault != "" }

// Fail notes something wrong that was found elsewhere.
func (c *Checker) Fail(n int64, format string, args ...any) { c.fail(n, format, args...) }

func (c *Checker) fail(n int64, format string, args ...any) {
	if !c.Failed() {
		c.report.BadRow, c.report.Fault = n, fmt.Sprintf(format, args...)
	}
}

// Next looks at the next row.
func (c *Checker) Next(r *control.AuditRow) {
	if c.Failed() {
		return
	}
	first := c.report.Rows == 0
	c.report.Rows++
	if first {
		c.report.First = r.N
	}
	known := c.start != nil || !first
	switch wrong := c.key.check(r.Seal, rowSeal, r.N, r.Hash); {
	case known && r.N <= c.last.N:
		c.fail(r.N, "row %d comes behind row %d: it was repeated, moved or given another number", r.N, c.last.N)
	case known && r.N == c.last.N+2:
		c.fail(c.last.N+1, "row %d is missing", c.last.N+1)
	case known && r.N != c.last.N+1:
		c.fail(c.last.N+1, "rows %d to %d are missing", c.last.N+1, r.N-1)
	case !bytes.Equal(Hash(r), r.Hash):
		c.fail(r.N, "row %d was edited: its content does not have its hash", r.N)
	case known && !bytes.Equal(r.Prev, c.last.Hash):
		c.fail(r.N, "row %d does not follow row %d as it is: one of the two was replaced", r.N, r.N-1)
	case wrong != "":
		c.fail(r.N, "row %d: %s", r.N, wrong)
	}
	c.last = control.AuditHead{N: r.N, Hash: r.Hash, At: r.At}
	c.meet(c.last)
	if r.Kind == Trimmed {
		var t Trim
		if err := json.Unmarshal(r.Data, &t); err != nil {
			c.fail(r.N, "row %d can't be read: %v", r.N, err)
		}
		c.trimmed = &t
	}
}

func (c *Checker) meet(h control.AuditHead) {
	switch {
	case len(c.anchor.Hash) == 0:
	case bytes.Equal(c.anchor.Hash, h.Hash) && (c.anchor.N == 0 || c.anchor.N == h.N):
		c.met = true
	case c.anchor.N != 0 && c.anchor.N == h.N:
		c.fail(h.N, "row %d is not the one that was anchored: the chain was made anew from there or from before", h.N)
	}
}

// End says how it went. head is what the store notes as the last row; nil for rows that come without a store.
func (c *Checker) End(head *Mark) control.AuditReport {
	c.report.Head = c.last
	if head != nil && !c.Failed() {
		c.ends(head)
	}
	if !c.Failed() && len(c.anchor.Hash) > 0 && !c.met {
		c.unmet()
	}
	c.report.OK = !c.Failed()
	return c.report
}

// ends compares the rows with what the store notes beside them.
func (c *Checker) ends(head *Mark) {
	switch wrong := c.key.check(head.Seal, headSeal, head.N, head.Hash); {
	case head.N > c.last.N:
		c.fail(c.last.N+1, "rows %d to %d are missing at the end", c.last.N+1, head.N)
	case head.N < c.last.N:
		c.fail(head.N+1, "row %d is not known as written: the mark of the last row says %d", head.N+1, head.N)
	case !bytes.Equal(head.Hash, c.last.Hash):
		c.fail(head.N, "row %d is not the one that the mark of the last row names", head.N)
	case head.N != 0 && wrong != "":
		c.fail(head.N, "the mark of the last row (%d): %s", head.N, wrong)
	case c.start.N != 0 && c.trimmed == nil:
		c.fail(c.start.N, "rows through %d are gone, and no row says that they were trimmed", c.start.N)
	case c.trimmed != nil && (c.trimmed.Through != c.start.N || !bytes.Equal(c.trimmed.Hash, c.start.Hash)):
		c.fail(c.start.N, "the mark of what was trimmed says through %d, the row about it says through %d, or they disagree about its hash",
			c.start.N, c.trimmed.Through)
	}
}

func (c *Checker) unmet() {
	first := c.report.First
	switch {
	case c.anchor.N > c.last.N:
		c.fail(c.last.N+1, "the anchored row %d is missing: the chain ends with %d", c.anchor.N, c.last.N)
	case c.anchor.N != 0 && c.anchor.N < first:
		c.fail(0, "the anchored row %d is not kept any more: the chain begins with %d, so anchor a newer one", c.anchor.N, first)
	default:
		c.fail(0, "the anchored hash is no row's: the chain was cut or made anew, or that row is not kept any more")
	}
}
