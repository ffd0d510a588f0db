package wall

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The most that a lease tells a cell.
const (
	MaxTools    = 128 // tools
	MaxToolName = 128 // bytes of a tool's name
	maxTurns    = 1000
)

// Lease makes a waiting cell the cell of one call: it hands in what the cell must not have before. It comes before the
// request and never twice. A call that was granted nothing gets none.
type Lease struct {
	Type    string            `json:"type"`
	Secrets map[string]string `json:"secrets,omitempty"` // each becomes the file [DirSecrets]/NAME, mode 0400

	// What an agent skill's engine is told: it finds all but the secrets in [LeasePath].
	Model        *Model          `json:"model,omitempty"`
	Tools        []ToolDef       `json:"tools,omitempty"`
	MaxTurns     int             `json:"max_turns,omitempty"` // 0: the engine's default
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
}

// String keeps secrets out of logs.
func (Lease) String() string { return "[redacted]" }

// GoString keeps secrets out of logs.
func (Lease) GoString() string { return "[redacted]" }

// DecodeLease reads a lease line and checks the secrets' names. Its errors hold no value. What is JSON of others is kept as it
// stands.
func DecodeLease(line []byte) (Lease, error) {
	o, err := parseLine(line, TypeLease)
	if err != nil {
		return Lease{}, err
	}
	l := Lease{Type: TypeLease}
	err = errors.Join(
		optional(o, "secrets", "an object of strings", &l.Secrets),
		optional(o, "model", "an object with provider, kind, model and config", &l.Model),
		optional(o, "tools", "a list of objects with name, description and input_schema", &l.Tools),
		optional(o, "max_turns", "an integer", &l.MaxTurns),
		optional(o, "output_schema", "a JSON Schema", &l.OutputSchema),
	)
	if err != nil {
		return Lease{}, oneLine(err)
	}
	return l, l.check()
}

func (l Lease) check() error {
	for name := range l.Secrets {
		if !secretName(name) {
			return fmt.Errorf("secrets: bad name %.80q: expected letters, digits, _, - and ., at most %d", name, maxName)
		}
	}
	if l.Model != nil && l.Model.Provider == "" {
		return errors.New("model: a provider is needed")
	}
	if len(l.Tools) > MaxTools {
		return fmt.Errorf("tools: %d, at most %d are allowed", len(l.Tools), MaxTools)
	}
	for _, t := range l.Tools {
		if t.Name == "" || len(t.Name) > MaxToolName {
			return fmt.Errorf("tools: bad name %.80q: expected 1 to %d bytes", t.Name, MaxToolName)
		}
	}
	if l.MaxTurns < 0 || l.MaxTurns > maxTurns {
		return fmt.Errorf("max_turns: expected 0 to %d", maxTurns)
	}
	return nil
}

func secretName(s string) bool {
	if s == "" || len(s) > maxName || s[0] == '.' {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.'
	})
}
