package metrics

import (
	"sync"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/a2e"
)

const (
	other     = "other"
	maxSkills = 200 // skill names with a label of their own
	maxLabel  = 128 // bytes
)

// names gives labels to the first names that it sees.
type names struct {
	max int

	mu   sync.Mutex
	seen map[string]bool
}

func newNames(most int) *names { return &names{max: most, seen: map[string]bool{}} }

// add returns the name's label, and takes the name in where there is room.
func (n *names) add(name string) string {
	if label(name) != name || name == "" {
		return other
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.seen[name] {
		if len(n.seen) >= n.max {
			return other
		}
		n.seen[name] = true
	}
	return name
}

// find returns the name's label.
func (n *names) find(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen[name] {
		return name
	}
	return other
}

// label returns s if it may be a label's value.
func label(s string) string {
	if len(s) > maxLabel || !utf8.ValidString(s) {
		return other
	}
	return s
}

func among(set map[string]bool, s string) string {
	if set[s] {
		return s
	}
	return other
}

// proved reports whether a call that ended with this code had found its skill.
func proved(code string) bool {
	switch a2e.Code(code) {
	case a2e.UnknownSkill, a2e.ParseError, a2e.InvalidMessage, a2e.VersionMismatch, a2e.Unauthorized, other:
		return false
	}
	return true
}

func set[T ~string](words ...T) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[string(w)] = true
	}
	return m
}

func phases() map[string]bool { return set("queue", "prepare", "start", "run", "teardown") }

func codes() map[string]bool {
	return set("ok", a2e.UnknownSkill, a2e.SkillError, a2e.RuntimeError, a2e.ParseError, a2e.InvalidMessage,
		a2e.SchemaViolation, a2e.Timeout, a2e.OutOfMemory, a2e.SandboxCrash, a2e.Unauthorized, a2e.VersionMismatch)
}

func reasons() map[string]bool {
	return set("", a2e.ReasonCancelled, a2e.ReasonQueueFull, a2e.ReasonQueueTimeout, a2e.ReasonQuota, a2e.ReasonDraining,
		a2e.ReasonImageUnavailable, a2e.ReasonEngineUnavailable, a2e.ReasonStartFailed, a2e.ReasonOutputLimit,
		a2e.ReasonUnsupported, a2e.ReasonBlocked, a2e.ReasonTruncated, a2e.ReasonSignal, a2e.ReasonExit,
		a2e.ReasonOutputSchema, a2e.ReasonInternal, a2e.ReasonDuplicateID,
		a2e.ReasonSupervisorRestart, a2e.ReasonOOMPressure, a2e.ReasonToolUnavailable)
}
