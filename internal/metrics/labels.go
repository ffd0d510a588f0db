package metrics

import (
	"sync"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/a2e"
)

const (
	other     = "other"
	none      = "none"
	maxSkills = 100 // skill names with a label of their own
	maxNames  = 50  // of anything else that a configuration names
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
	if name == "" || len(name) > maxLabel || !utf8.ValidString(name) {
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

// label returns s if it may be a label's value.
func label(s string) string {
	if len(s) > maxLabel || !utf8.ValidString(s) {
		return other
	}
	return s
}

// words is a closed set of labels.
type words map[string]bool

func set[T ~string](list ...T) words {
	m := make(words, len(list))
	for _, w := range list {
		m[string(w)] = true
	}
	return m
}

// of returns s if it is one of the words.
func (w words) of(s string) string {
	if w[s] {
		return s
	}
	return other
}

func phases() words { return set("queue", "prepare", "lease", "start", "run", "teardown") }

func doors() words {
	return set("cli", "stdio", "socket", "http", "rest", "mcp", "a2a", "skill", "canary")
}

func codes() words {
	return set("ok", a2e.UnknownSkill, a2e.SkillError, a2e.RuntimeError, a2e.ParseError, a2e.InvalidMessage,
		a2e.SchemaViolation, a2e.Timeout, a2e.OutOfMemory, a2e.SandboxCrash, a2e.Unauthorized, a2e.VersionMismatch)
}

func reasons() words {
	return set("", a2e.ReasonCancelled, a2e.ReasonQueueFull, a2e.ReasonQueueTimeout, a2e.ReasonQuota, a2e.ReasonDraining,
		a2e.ReasonImageUnavailable, a2e.ReasonEngineUnavailable, a2e.ReasonStartFailed, a2e.ReasonOutputLimit,
		a2e.ReasonUnsupported, a2e.ReasonBlocked, a2e.ReasonTruncated, a2e.ReasonSignal, a2e.ReasonExit,
		a2e.ReasonOutputSchema, a2e.ReasonInternal, a2e.ReasonDuplicateID,
		a2e.ReasonSupervisorRestart, a2e.ReasonOOMPressure, a2e.ReasonToolUnavailable,
		a2e.ReasonNodeLost, a2e.ReasonEvicted, a2e.ReasonPreempted, a2e.ReasonCellDeleted, a2e.ReasonUnschedulable, a2e.ReasonClusterQuota)
}
