package executor

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
)

// An agent skill's engine writes each turn of its loop down, as a log event of the level debug that begins so.
const turnMark = "turn {"

// mostTurns bounds what an agent has written into the audit. No loop is longer.
const mostTurns = 1000

// transcript copies the turns that an agent's engine tells into the audit; without secrets, which the relay has taken out by
// then. What stands there is the cell's own word: what its model was really asked is told by the broker. Nil for skills of
// other kinds.
func (s *Supervisor) transcript(c *call, p *plan) func(*a2e.Event) {
	if p.skill.Run.Kind != kindAgent {
		return nil
	}
	told := 0
	return func(ev *a2e.Event) {
		message, _ := ev.Data["message"].(string)
		if ev.Kind != a2e.KindLog || ev.Data["level"] != "debug" || !strings.HasPrefix(message, turnMark) || told == mostTurns {
			return
		}
		var turn map[string]any
		if json.Unmarshal([]byte(message[len(turnMark)-1:]), &turn) != nil {
			return
		}
		told++
		s.cfg.Audit.Write(audit.Entry{At: time.Now(), Call: c.id, Kind: "agent.turn", Data: turn})
	}
}
