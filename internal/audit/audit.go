package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// Entry is one thing that a call did or an operator. Data holds no secret, no credential and no more than 64 KiB as JSON.
type Entry struct {
	At    time.Time      `json:"at"`
	Call  string         `json:"call"`            // the call's id; "" for what is about no call
	Skill string         `json:"skill,omitempty"` // the call's; who keeps entries adds it
	Kind  string         `json:"kind"`            // "llm.request", "egress.connect", "tool.call", "agent.turn", or one of the acts
	Data  map[string]any `json:"data"`
}

// The kinds of rows that the chain has: how calls ended, and what was done by those who operate hotcell or own something.
const (
	CallEnd         = "call.end"
	CallCancel      = "call.cancel" // by an operator
	TokenCreate     = "token.create"
	TokenRevoke     = "token.revoke"
	AgentCreate     = "agent.create"
	AgentChange     = "agent.change" // its tools or its allowlist
	AgentDelete     = "agent.delete"
	AgentDefault    = "agent.default" // the allowlist of agents that have none of their own
	ApprovalDecide  = "approval.decide"
	ApprovalSettle  = "approval.settle" // how the write went
	SkillCreate     = "skill.create"    // a custom skill
	SkillUpdate     = "skill.update"
	SkillDelete     = "skill.delete"
	BundleInstall   = "bundle.install"
	BundleRollback  = "bundle.rollback"
	BundleUninstall = "bundle.uninstall"
	SecretSet       = "secret.set"
	SecretRemove    = "secret.remove"
	ImagePin        = "image.pin" // by a command: which content a tag stands for
	ImageUnpin      = "image.unpin"
	ImageRemove     = "image.remove" // what was pulled and nothing needed
	KeyMade         = "audit.key"    // a key was made, where there was none
	Trimmed         = "audit.trim"   // rows were taken away from the front
)

// Kinds returns the kinds of the chain.
func Kinds() []string {
	return []string{
		CallEnd, CallCancel, TokenCreate, TokenRevoke, AgentCreate, AgentChange, AgentDelete, AgentDefault, ApprovalDecide, ApprovalSettle,
		SkillCreate, SkillUpdate, SkillDelete, BundleInstall, BundleRollback, BundleUninstall, SecretSet, SecretRemove,
		ImagePin, ImageUnpin, ImageRemove, KeyMade, Trimmed,
	}
}

// Uses returns the kinds of what calls use outside of their cells.
func Uses() []string { return []string{llmRequest, toolCall, egressConnect, "agent.turn"} }

// Kind reports whether there is such a kind.
func Kind(s string) bool { return slices.Contains(Kinds(), s) || slices.Contains(Uses(), s) }

// Log takes entries about what calls use. Write must return at once and must not be given anything that changes afterwards.
type Log interface {
	Write(Entry)
}

// Recorder keeps what operators do. Record returns once the entry is kept for good. Who did it is in the context.
type Recorder interface {
	Record(ctx context.Context, e Entry) error
}

// Nobody is the log of who keeps none.
var Nobody Log = nobody{}

type nobody struct{}

func (nobody) Write(Entry)                         {}
func (nobody) Record(context.Context, Entry) error { return nil }

// Enter has a log record what an operator did. One that can't fails: an act that nobody keeps is no secret.
func Enter(ctx context.Context, l Log, e Entry) error {
	if r, ok := l.(Recorder); ok {
		return r.Record(ctx, e)
	}
	return fmt.Errorf("%T keeps nothing that operators do", l)
}

// Actor is who does something.
type Actor struct {
	Principal, Agent, Door string
}

type actorKey struct{}

// By returns a context for what an actor does.
func By(ctx context.Context, a Actor) context.Context { return context.WithValue(ctx, actorKey{}, a) }

// ActorOf returns who does what is done in a context, and whether that is known.
func ActorOf(ctx context.Context) (Actor, bool) {
	a, ok := ctx.Value(actorKey{}).(Actor)
	return a, ok
}

// maxText bounds what callers choose, in bytes.
const maxText = 256

// Text is a text of a caller's, short enough for a row, and such that JSON repeats it as it is: its hash would be another one's.
func Text(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// row is a bound of [control.AuditRow]'s fields that callers choose.
func row(r *control.AuditRow) {
	for _, s := range []*string{&r.Kind, &r.Call, &r.Principal, &r.Agent, &r.Door, &r.Skill} {
		*s = Text(*s)
	}
}
