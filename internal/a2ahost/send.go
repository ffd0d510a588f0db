package a2ahost

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/hotcell/hotcell/internal/a2e"
)

// send starts the task that a message asks for, or goes on with the one that it names. size is the message's, in bytes.
func (h *Host) send(ctx context.Context, who a2e.Caller, p *sendParams, size int) (*task, *stream, error) {
	if err := p.check(); err != nil {
		return nil, nil, err
	}
	asked, err := h.asked(ctx, who, p.Message)
	if err != nil {
		return nil, nil, err
	}
	shelf, err := h.shelf(ctx, who)
	if err != nil {
		return nil, nil, err
	}
	o, err := choose(h.named(ctx, who, shelf), p, h.earlier(who, asked))
	if err != nil {
		return nil, nil, err
	}
	text := false
	if o.skill != nil {
		if text, err = o.skill.agree(p.Configuration); err != nil {
			return nil, nil, err
		}
	}
	id := newIdentity(p.Message.ContextID, text)
	if asked != nil {
		id = *asked
	}
	t, s, err := h.start(ctx, who, id, o, p, shelf)
	if err == nil {
		h.memory.note(who.Principal, id.task, p.Message, size)
	}
	return t, s, err
}

// earlier are the messages of a question, none where there is no question.
func (h *Host) earlier(who a2e.Caller, asked *identity) []*message {
	if asked == nil {
		return nil
	}
	if turns := h.memory.turns(who.Principal, asked.task); len(turns) > 0 {
		return turns
	}
	return []*message{{}} // what was said is forgotten, and still this is the answer to a question
}

// asked returns the question that a message answers, nil where it opens a task.
func (h *Host) asked(ctx context.Context, who a2e.Caller, m *message) (*identity, error) {
	if m.TaskID == "" {
		return nil, nil
	}
	r, t, err := h.locate(ctx, who, m.TaskID)
	if err != nil {
		return nil, err
	}
	state := r.state()
	switch {
	case m.ContextID != "" && m.ContextID != r.id.context:
		return nil, invalid("message.contextId", "the task belongs to another context")
	case state.Terminal():
		return nil, faultf(a2a.ErrUnsupportedOperation, "the task has ended and takes no further messages").of(m.TaskID)
	case state != a2a.TaskStateInputRequired || t != nil:
		return nil, faultf(a2a.ErrUnsupportedOperation, "the task is at work and takes no further messages").of(m.TaskID)
	}
	return &r.id, nil
}

// start begins the task of an order. Without a skill it asks for one, with the list of them; asked again, that is the answer
// that it has already.
func (h *Host) start(ctx context.Context, who a2e.Caller, id identity, o order, p *sendParams, s *shelf) (*task, *stream, error) {
	question := o.skill == nil
	if question {
		o = order{skill: s.byID[catalogue], arguments: map[string]any{}}
	}
	req := &a2e.CallRequest{
		Header: a2e.Header{Type: a2e.TypeCallRequest, ID: id.task, Version: a2e.Version, TS: a2e.Now()},
		Name:   o.skill.id, Arguments: o.arguments,
	}
	if question {
		req.ID = id.question()
	} else if err := describe(req, id, p); err != nil {
		return nil, nil, err
	}
	from := a2e.TraceOf(ctx) // which alone of the request outlives it
	do := func(ctx context.Context, w a2e.EventWriter) *a2e.CallResponse {
		return h.handler.Call(a2e.WithTrace(ctx, from), who, req, w)
	}
	if o.skill.local {
		do = func(context.Context, a2e.EventWriter) *a2e.CallResponse { return localAnswer(req, s.answer()) }
	}
	return h.begin(who, id, question, o.skill.id, do)
}

// The keys of metadata that say how a call is to run.
const (
	keyTimeout     = "timeout"
	keyCorrelation = "correlation_id"
)

// describe puts into a request what the metadata says about it.
func describe(req *a2e.CallRequest, id identity, p *sendParams) error {
	req.Metadata = map[string]any{}
	for _, at := range []struct {
		field string
		meta  map[string]any
	}{{"metadata.", p.Metadata}, {"message.metadata.", p.Message.Metadata}} {
		for key, v := range at.meta {
			switch key {
			case keyTimeout:
				n, err := wholeNumber(v)
				if err != nil {
					return invalid(at.field+key, "expected whole seconds, 1 or more")
				}
				req.Timeout = &n
			case keyCorrelation:
				text, ok := v.(string)
				if !ok || !plain(text, maxMessage) {
					return invalid(at.field+key, "expected 1 to %d bytes of text", maxMessage)
				}
				req.CorrelationID = text
			default:
				req.Metadata[key] = v
			}
		}
	}
	for _, key := range skillKeys {
		delete(req.Metadata, key)
	}
	req.Metadata["a2a"] = map[string]any{"task_id": id.task, "context_id": id.context, "message_id": p.Message.MessageID}
	return nil
}

func wholeNumber(v any) (int, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, strconv.ErrSyntax
	}
	i, err := strconv.Atoi(n.String())
	if err == nil && i < 1 {
		err = strconv.ErrRange
	}
	return i, err
}

// sendMessage is SendMessage: it waits for the task's end, unless the client does not want to.
func (h *Host) sendMessage(ctx context.Context, who a2e.Caller, p *sendParams, size int) (*a2a.Task, error) {
	t, s, err := h.send(ctx, who, p, size)
	if err != nil {
		return nil, err
	}
	c := p.Configuration
	if c == nil {
		c = &configuration{}
	}
	if c.ReturnImmediately {
		t.leave(s)
		return t.submitted().task(nil, h.memory.history(who.Principal, t.id), c.HistoryLength), nil
	}
	var got pieces
	err = t.follow(ctx, s, func(u a2a.Event) error {
		got.take(u)
		got.full = got.full || !leased(ctx).holds(got.bytes) // what is missing then can be read later
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t.end.task(&got, h.memory.history(who.Principal, t.id), c.HistoryLength), nil
}

// sendStreaming is SendStreamingMessage.
func (h *Host) sendStreaming(ctx context.Context, who a2e.Caller, p *sendParams, size int, emit func(a2a.Event) error) error {
	t, s, err := h.send(ctx, who, p, size)
	if err != nil {
		return err
	}
	var length *int
	if p.Configuration != nil {
		length = p.Configuration.HistoryLength
	}
	if err := emit(t.submitted().task(nil, h.memory.history(who.Principal, t.id), length)); err != nil {
		t.leave(s)
		return err
	}
	return t.follow(ctx, s, emit)
}
