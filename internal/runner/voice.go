package runner

import (
	"context"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/wall"
)

// The levels of log events.
const (
	levelInfo  = "info"
	levelWarn  = "warn"
	levelError = "error"
)

// maxMessage is the most bytes of one log event's message. Escaped, even NULs stay below wall.MaxLine.
const maxMessage = 64 << 10

// voice is the wall's outbound side. When it fails, the supervisor is gone.
type voice struct {
	w      *wall.Writer
	hangup context.CancelCauseFunc
}

// event is an event whose data the runner makes itself.
type event struct {
	Type string `json:"type"`
	Kind string `json:"kind"`
	Data any    `json:"data"`
}

type logData struct {
	Level   string `json:"level"`
	Message string `json:"message"`
}

func (v *voice) encode(line any) {
	if err := v.w.Encode(line); err != nil {
		v.hangup(err)
	}
}

// Send lets lines of the tunnel out.
func (v *voice) Send(lines []byte) error {
	err := v.w.Send(lines)
	if err != nil {
		v.hangup(err)
	}
	return err
}

func (v *voice) log(level, message string) {
	v.encode(event{wall.TypeEvent, "log", logData{level, message}})
}

// clip cuts a text to at most about limit bytes and says so in it.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + cutMark(int64(len(s)-limit))
}

func cutMark(n int64) string { return "… [" + strconv.FormatInt(n, 10) + " bytes cut]" }
