package tools

import (
	"context"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
)

// Port is the name of the cell's port for tools.
const Port = "tools"

// Options is what [Tools] works with. Box and Skills are required; a zero value elsewhere means the default that its comment
// names.
type Options struct {
	Box    *Box
	Skills skills.Catalog

	// Calls runs a call that a skill makes, in a cell of its own, and returns its answer, never nil. The context names the
	// skills around it ([service.Chain]) and ends with the calling skill's own call. Nil: no skill may call another.
	Calls func(ctx context.Context, who a2e.Caller, req *a2e.CallRequest) *a2e.CallResponse

	Log audit.Log // nil: nobody keeps one

	Depth  int // how deep calls may be nested; 0: 3
	Nested int // nested calls of one call; 0: 32
	Uses   int // uses of tools by one call; 0: 1000
	AtOnce int // of them under way at the same time; 0: 8
}

// Tools is the service that gives skills the tools that they declare. It is safe for concurrent use.
type Tools struct {
	opt Options
}

var _ service.Service = (*Tools)(nil)

// New returns a service.
func New(opt Options) *Tools {
	return &Tools{opt: opt}
}

// Grant implements [service.Service]: nil for a skill that declares no tool.
func (t *Tools) Grant(ask service.Ask) (service.Grant, error) { return nil, nil }
