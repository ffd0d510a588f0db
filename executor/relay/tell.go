package relay

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hotcell/hotcell/internal/wall"
)

// ErrQuiet: the call has ended, or its skill has said more than it may.
var ErrQuiet = errors.New("nobody listens any more")

// Tell takes an event from a skill of this process. It is bounded, coerced, numbered and kept like one of a cell's. What is
// no event at all is an error; so is any event once nothing is relayed any more, [ErrQuiet].
func (r *Relay) Tell(kind string, data map[string]any) error {
	if data == nil {
		data = map[string]any{}
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("an event's data has no JSON form: %w", err)
	}
	b, err := json.Marshal(wall.Event{Type: wall.TypeEvent, Kind: kind, Data: raw})
	if err != nil {
		return err
	}
	if len(b) > wall.MaxLine {
		return fmt.Errorf("an event may be %d bytes long as JSON, this one has %d", wall.MaxLine, len(b))
	}
	if _, _, err := wall.Parse(b).Event(); err != nil {
		return fmt.Errorf("no event: %w", err)
	}
	r.lines.Add(1)
	r.line(wall.Line{Bytes: b})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.quiet {
		return ErrQuiet
	}
	return nil
}

// Clean takes the secrets out of a result that did not come through the relay.
func (r *Relay) Clean(res *wall.Result) { r.secrets.result(res) }
