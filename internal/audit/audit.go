package audit

import "time"

// Entry is one thing that a call did. Data holds no secret, no credential and no more than 64 KiB as JSON.
type Entry struct {
	At    time.Time      `json:"at"`
	Call  string         `json:"call"`            // the call's id
	Skill string         `json:"skill,omitempty"` // the call's; who keeps entries adds it
	Kind  string         `json:"kind"`            // "llm.request", "egress.connect", "tool.call", "agent.turn"
	Data  map[string]any `json:"data"`
}

// Log takes entries. Write must return at once and must not be given anything that changes afterwards.
type Log interface {
	Write(Entry)
}

// Nobody is the log of who keeps none.
var Nobody Log = nobody{}

type nobody struct{}

func (nobody) Write(Entry) {}
