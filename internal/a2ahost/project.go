package a2ahost

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// record is a task as its call tells it.
type record struct {
	id       identity
	question bool
	call     control.Call
	answer   *a2e.CallResponse // nil while the call is in flight, and where nobody looked
}

// state is where a task stands.
func (r *record) state() a2a.TaskState {
	switch r.call.State {
	case control.Succeeded:
		if r.question {
			return a2a.TaskStateInputRequired
		}
		return a2a.TaskStateCompleted
	case control.Failed:
		return a2a.TaskStateFailed
	case control.Canceled:
		return a2a.TaskStateCanceled
	case control.Starting, control.Running, control.Stopping:
		return a2a.TaskStateWorking
	}
	return a2a.TaskStateSubmitted
}

// since is when a task got to where it stands.
func (r *record) since() time.Time {
	for _, t := range []time.Time{r.call.Ended, r.call.Started, r.call.Accepted} {
		if !t.IsZero() {
			return t.UTC().Truncate(time.Millisecond)
		}
	}
	return time.UnixMilli(0).UTC()
}

// status is where a task stands, and why.
func (r *record) status() a2a.TaskStatus {
	s := a2a.TaskStatus{State: r.state(), Timestamp: stamp(r.since())}
	if r.answer == nil || r.answer.Data == nil {
		return s
	}
	id := cmp.Or(r.call.ID, r.answer.ID) + "-end"
	switch text, _ := r.answer.Data.Summary.(string); {
	case r.answer.Error != nil:
		s.Message = r.id.says(id, r.answer.Error.Message)
	case r.question:
		s.Message = r.id.says(id, whichSkill)
		if one := resultOf(identity{}, r.answer.Data); one != nil {
			s.Message.Parts = append(s.Message.Parts, one.Parts...)
		}
	case text != "":
		s.Message = r.id.says(id, text)
	}
	return s
}

// facts are what else can be told of a task: its metadata.
func (r *record) facts() map[string]any {
	m := map[string]any{"skill": r.call.Skill}
	if r.call.ID != "" {
		m["callId"] = r.call.ID
	}
	if r.call.Code != "" {
		m["error_code"] = string(r.call.Code)
	}
	if r.call.Reason != "" {
		m["reason"] = r.call.Reason
	}
	if r.answer == nil {
		return m
	}
	if d := r.answer.Data; d != nil {
		m["durationMs"] = d.DurationMS
	}
	if e := r.answer.Error; e != nil {
		m["error_code"], m["retryable"] = string(e.Code), e.Retryable
		if e.Reason() != "" {
			m["reason"] = e.Reason()
		}
		if len(e.Detail) > 0 {
			m["detail"] = e.Detail
		}
	}
	return m
}

// task is the whole of it. history is what the user said.
func (r *record) task(p *pieces, history []*a2a.Message, length *int) *a2a.Task {
	t := &a2a.Task{ID: a2a.TaskID(r.id.task), ContextID: r.id.context, Status: r.status(), Metadata: r.facts()}
	if p != nil {
		history = append(history[:len(history):len(history)], lastOf(p.said, ptr(mostSaid))...)
		t.Artifacts = p.artifacts(r.state().Terminal())
	}
	t.History = lastOf(history, length)
	if r.answer != nil && !r.question {
		if one := resultOf(r.id, r.answer.Data); one != nil {
			t.Artifacts = append(t.Artifacts[:len(t.Artifacts):len(t.Artifacts)], one)
		}
	}
	return t
}

// ends are the updates with which a task's streams end.
func (r *record) ends() []a2a.Event {
	var out []a2a.Event
	if r.answer != nil && !r.question {
		if one := resultOf(r.id, r.answer.Data); one != nil {
			out = append(out, &a2a.TaskArtifactUpdateEvent{
				TaskID: a2a.TaskID(r.id.task), ContextID: r.id.context, Artifact: one, LastChunk: true,
			})
		}
	}
	return append(out, &a2a.TaskStatusUpdateEvent{
		TaskID: a2a.TaskID(r.id.task), ContextID: r.id.context, Status: r.status(), Metadata: r.facts(),
	})
}

// usualHistory is how many messages a client gets that does not say how many it wants.
const usualHistory = 20

// lastOf returns the last messages, as many as asked for.
func lastOf(all []*a2a.Message, length *int) []*a2a.Message {
	n := usualHistory
	if length != nil {
		n = *length
	}
	if len(all) <= n {
		return all
	}
	return all[len(all)-n:]
}

func ptr[T any](v T) *T { return &v }

// ended makes up the record of a call that no journal knows: one that was refused, or that this door answered itself.
func ended(id identity, question bool, name string, accepted time.Time, answer *a2e.CallResponse) *record {
	call := control.Call{ReqID: id.task, Skill: name, State: control.Succeeded, Accepted: accepted, Ended: time.Now()}
	if e := answer.Error; e != nil {
		call.State, call.Code, call.Reason = control.Failed, e.Code, e.Reason()
		if call.Reason == a2e.ReasonCancelled {
			call.State = control.Canceled
		}
	}
	return &record{id: id, question: question, call: call, answer: answer}
}

// localAnswer is a result of this door's own.
func localAnswer(req *a2e.CallRequest, data any) *a2e.CallResponse {
	raw, _ := json.Marshal(data)
	return &a2e.CallResponse{
		Header: a2e.Header{Type: a2e.TypeCallResponse, ID: a2e.NewID(), Version: a2e.Version, TS: a2e.Now()},
		ReqID:  req.ID, Name: req.Name, CreatedAt: a2e.Now(), Data: &a2e.Result{Success: true, Data: json.RawMessage(raw)},
	}
}
