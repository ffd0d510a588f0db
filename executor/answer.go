package executor

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
)

// response builds the one terminal answer of a call.
func response(c *call, result *wall.Result, took time.Duration, fail *a2e.Error) *a2e.CallResponse {
	r := answerTo(c.id, c.req.ID, c.req.Name, took, fail)
	if result != nil {
		r.Data.Data, r.Data.Summary, r.Data.Truncated = rawOrNil(result.Data), summaryOf(result.Summary), result.Truncated
	}
	return r
}

// refusal answers a request that no call was made for, or whose answer is held back.
func refusal(c *call, fail *a2e.Error) *a2e.CallResponse { return response(c, nil, 0, fail) }

// answerTo builds an answer without a result. After a failure both its error and its data say so (protocols decision 6).
func answerTo(id, reqID, name string, took time.Duration, fail *a2e.Error) *a2e.CallResponse {
	now := a2e.Now()
	r := &a2e.Result{Success: fail == nil, DurationMS: roundMS(took)}
	if fail != nil {
		fail.With("call_id", id)
		message, code := fail.Message, string(fail.Code)
		r.Error, r.ErrorCode = &message, &code
	}
	return &a2e.CallResponse{
		Header: a2e.Header{Type: a2e.TypeCallResponse, ID: id, Version: a2e.Version, TS: now},
		ReqID:  reqID, Name: name, Data: r, Error: fail, CreatedAt: now,
	}
}

// embed puts the kept events into the answer. What was dropped is told in a last event.
func embed(answer *a2e.CallResponse, c *call) {
	events, dropped := c.told(0)
	if dropped > 0 {
		events = append(events, a2e.Event{
			Header: a2e.Header{Type: a2e.TypeEvent, ID: a2e.NewID(), Version: a2e.Version, TS: a2e.Now()},
			Kind:   a2e.KindLog, ReqID: c.req.ID, Seq: len(events) + dropped,
			Data: map[string]any{"level": "warn", "message": fmt.Sprintf("%d more events were sent and are not repeated here", dropped)},
		})
	}
	answer.Data.Events = events
}

// checkOutput holds a successful result against the skill's output schema.
func checkOutput(s *skills.Skill, r *wall.Result) *a2e.Error {
	if s.Output == nil {
		return nil
	}
	var data any
	if len(r.Data) > 0 {
		if err := decode(r.Data, &data); err != nil {
			return a2e.Errorf(a2e.SkillError, "output is not JSON: %v", err).Because(a2e.ReasonOutputSchema)
		}
	}
	return a2e.AsError(s.CheckOutput(data))
}

func rawOrNil(b json.RawMessage) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// summaryOf makes a skill's summary a string (protocols decision 38), or null.
func summaryOf(b json.RawMessage) any {
	var s string
	switch {
	case len(b) == 0 || string(b) == "null":
		return nil
	case json.Unmarshal(b, &s) == nil:
		return s
	}
	return string(b)
}

// roundMS rounds half up to whole milliseconds (protocols decision 2).
func roundMS(d time.Duration) int64 { return max(0, int64((d+time.Millisecond/2)/time.Millisecond)) }
