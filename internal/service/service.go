package service

import (
	"context"
	"net"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
)

// Service decides what calls may use of it. It is safe for concurrent use.
type Service interface {
	// Grant decides about one call, before anything is made for it. A nil Grant with a nil error: the call uses nothing of
	// this service. The error is an *a2e.Error, the call's answer: unauthorized, or runtime_error with reason unsupported.
	Grant(ask Ask) (Grant, error)
}

// Ask is a call as a service sees it. What is in it must not be changed.
type Ask struct {
	Call     string // the call's id
	Who      a2e.Caller
	Skill    *skills.Skill
	Policy   policies.Effective
	Override *a2e.LLMConfig // the caller's llm_override with its credentials, which live only in the grant; nil: none
	Outer    *Outermost     // what all calls nested in one have in common, this one's; nil: it is asked for, and never made
	Chain    []string       // the skills in whose calls this one is nested, the outermost first
}

// Grant is one call's right, from its plan to its end. Before [Grant.Activate] and after [Grant.Revoke] every use of it is
// refused. It is safe for concurrent use.
type Grant interface {
	// Ports names the loopback ports of the cell. They and Env depend on skill, policy, override and configuration alone and
	// never on the call: cells wait with them for calls that nobody knows yet.
	Ports() []string
	// Env is what the skill's process finds in its environment beside the fixed variables, NAME=VALUE. at returns
	// "127.0.0.1:NUMBER" of a port. The token is the cell's own, and means nothing anywhere else.
	Env(at func(port string) string, token string) []string
	// Lease adds to the line that makes the cell this call's.
	Lease(l *wall.Lease)
	// Activate starts the right. ctx ends with the call; token is what the cell must show.
	Activate(ctx context.Context, token string)
	// Serve serves one stream that the cell opened to a port, and closes it.
	Serve(port string, conn net.Conn)
	// Revoke ends the right and whatever is under way. It may come without Activate, and more than once.
	Revoke()
}

// Tooler is a [Grant] that answers tool lines of cells that have no runner.
type Tooler interface {
	Tool(ctx context.Context, ask *wall.Tool) *wall.ToolResult
}

// Keeper is a [Grant] that uses secrets outside of the cell. They are taken out of what the cell says all the same, should
// they come back to it in pieces that only the skill puts together.
type Keeper interface {
	Kept() []string
}

type chainKey struct{}

// Nested returns a context for a call that a skill makes; chain names the skills around it, the outermost first.
func Nested(ctx context.Context, chain []string) context.Context {
	return context.WithValue(ctx, chainKey{}, chain)
}

// Chain returns the skills in whose calls a context's call is nested.
func Chain(ctx context.Context) []string {
	chain, _ := ctx.Value(chainKey{}).([]string)
	return chain
}
