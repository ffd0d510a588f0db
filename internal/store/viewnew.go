package store

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// encodeNew is what encode makes of a call that was just accepted, without a look at all that a call may have: every call waits for it.
// It reports false for one that has more.
func encodeNew(c *control.Call) (view []byte, ok bool) {
	if !c.Ended.IsZero() || c.Code != "" || c.Reason != "" || c.Usage != nil || c.Confidence != "" || len(c.Unenforced) > 0 || len(c.Notes) > 0 ||
		len(c.Phases) > 0 || c.Account != nil {
		return nil, false
	}
	b := make([]byte, 0, 512)
	for _, m := range []struct {
		name, value string
		always      bool
	}{
		{`{"id":`, c.ID, true}, {`,"req_id":`, c.ReqID, true}, {`,"skill":`, c.Skill, true}, {`,"principal":`, c.Principal, false}, {`,"agent":`, c.Agent, false},
		{`,"door":`, c.Door, true}, {`,"state":`, string(c.State), true}, {`,"cell":`, c.Cell, false},
	} {
		if m.always || m.value != "" {
			b = appendText(append(b, m.name...), m.value)
		}
	}
	if c.Hosted {
		b = append(b, `,"hosted":true`...)
	}
	b = appendTime(append(b, `,"accepted":`...), c.Accepted)
	if !c.Started.IsZero() {
		b = appendTime(append(b, `,"started":`...), c.Started)
	}
	if !c.Deadline.IsZero() {
		b = appendTime(append(b, `,"deadline":`...), c.Deadline)
	}
	return append(strconv.AppendInt(append(b, `,"events":`...), int64(c.Events), 10), '}'), true
}

// appendText appends a text as JSON.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, _ := json.Marshal(s) // a string always has a JSON form
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

func appendTime(b []byte, t time.Time) []byte {
	return append(t.AppendFormat(append(b, '"'), time.RFC3339Nano), '"')
}
