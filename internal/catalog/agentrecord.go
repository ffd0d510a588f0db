package catalog

import (
	"errors"
	"time"
)

// ErrInUse: live tokens are bound to an agent.
var ErrInUse = errors.New("tokens are bound to it")

// AgentRecord is an agent as it is kept.
type AgentRecord struct {
	ID, Principal    int64
	Name             string
	Tools            map[string]bool // by name: whether it is on
	Allowed          *[]string       // its own allowlist; nil: it has none
	Created, Updated time.Time
	Revision         int64
}

// AgentHolding is a principal with its agents, by name, and what they may use where they have no list of their own.
type AgentHolding struct {
	ID              int64
	Owner           Owner
	Default         *[]string
	DefaultRevision int64
	Agents          []AgentRecord
}
