package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

// callDraft is what a call carries. A whole skill/call/req is taken too.
type callDraft struct {
	Name          string            `json:"name" doc:"of the skill"`
	Arguments     map[string]any    `json:"arguments,omitempty"`
	Timeout       *int              `json:"timeout,omitempty" doc:"seconds"`
	CorrelationID string            `json:"correlation_id,omitempty"`
	Metadata      map[string]any    `json:"metadata,omitempty"`
	LLMOverride   *a2e.LLMConfig    `json:"llm_override,omitempty"`
	ID            string            `json:"id,omitempty" doc:"of the request: the same one with the same body runs once, and gets the same answer until ten minutes after the end"`
	AgentID       string            `json:"agent_id,omitempty" doc:"on behalf of which agent; another one than a token is bound to is unauthorized"`
	Files         map[string]string `json:"files,omitempty" doc:"input files by path, in base64: the skill finds them below /workspace/in"`
	Streaming     *bool             `json:"streaming,omitempty" doc:"false: no events are streamed"`
}

// runner is a [a2e.Handler] that takes input files.
type runner interface {
	Run(ctx context.Context, who a2e.Caller, req *a2e.CallRequest, inputs fs.FS, w a2e.EventWriter) *a2e.CallResponse
}

const (
	maxCall      = 16 << 20 // bytes of a call with its files
	callPatience = 30 * time.Second
)

func (a *api) callRoutes() []route {
	if a.handler == nil {
		return nil
	}
	statuses := []int{
		http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity,
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusNotImplemented, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}
	outs := []out{
		good(a2e.CallResponse{}), {http.StatusOK, "events skill/event, then skill/call/resp", kindSSE, nil},
		{http.StatusOK, "a line for each event, then one for the answer", kindNDJSON, nil},
	}
	for _, s := range statuses {
		outs = append(outs, out{s, "the answer of a call that failed: error says why", "", a2e.CallResponse{}})
	}
	return []route{{
		method: http.MethodPost, path: "/v1/calls", id: "call-skill", tag: tagCalls, scope: auth.Calls, summary: "Call a skill",
		about: "Answers once the call has ended, with the whole skill/call/resp and a status that tells its error's code. With Accept: " +
			"text/event-stream or application/x-ndjson events come as they are said, then the same answer; the status is 200 once anything was said. " +
			"Who hangs up cancels the call.",
		takes: body{max: maxCall, patience: callPatience}, in: callDraft{}, outs: outs, serve: a.call,
	}}
}

// call runs a call and answers with its response, whatever became of it.
func (a *api) call(w http.ResponseWriter, r *http.Request) error {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return unread(err)
	}
	c := lifted(w)
	p, why := parseCall(b)
	var id auth.Identity
	if why == nil {
		if id, err = auth.FromContext(r.Context()).As(p.agent); err != nil {
			why = a2e.Errorf(a2e.Unauthorized, "agent_id: the token is bound to another agent").With("field", "agent_id")
		}
	}
	if why != nil {
		_ = c.SetWriteDeadline(time.Now().Add(writeTimeout))
		answered(w, a2e.Failure(p.req.ID, p.req.Name, why, 0))
		return nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if kind := preferred(r, kindJSON, kindNDJSON, kindSSE); kind != kindJSON {
		s := newStream(w, kind, cancel)
		stop := s.beating(ctx)
		answer := a.invoke(ctx, id.Caller(doorName), p, s)
		stop()
		retryAfter(w, answer)
		s.finish(statusOfCall(answer), answer)
		return nil
	}
	answer := a.invoke(ctx, id.Caller(doorName), p, a2e.EventWriterFunc(func(context.Context, *a2e.Event) error { return nil }))
	_ = c.SetWriteDeadline(time.Now().Add(writeTimeout))
	answered(w, answer)
	return nil
}

// invoke calls the handler. A panic there ends the call and not the process.
func (a *api) invoke(ctx context.Context, who a2e.Caller, p posted, w a2e.EventWriter) (answer *a2e.CallResponse) {
	defer func() {
		if v := recover(); v != nil {
			a.log.Error("handler panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			answer = nil
		}
		if answer == nil {
			answer = a2e.Failure(p.req.ID, p.req.Name, a2e.AsError(errors.New("handler gave no answer")), 0)
		}
	}()
	if p.inputs == nil {
		return a.handler.Call(ctx, who, p.req, w)
	}
	with, ok := a.handler.(runner)
	if !ok {
		return a2e.Failure(p.req.ID, p.req.Name, a2e.Errorf(a2e.RuntimeError, "files: this host takes no input files").Because(a2e.ReasonUnsupported), 0)
	}
	return with.Run(ctx, who, p.req, p.inputs, w)
}

// answered writes a call's answer as JSON.
func answered(w http.ResponseWriter, answer *a2e.CallResponse) {
	var b bytes.Buffer
	if err := a2e.NewEncoder(&b).Encode(answer); err != nil {
		answer = unsayable(answer)
		b.Reset()
		_ = a2e.NewEncoder(&b).Encode(answer)
	}
	retryAfter(w, answer)
	send(w, statusOfCall(answer), kindJSON, b.Bytes())
}

// posted is a call as it came.
type posted struct {
	req    *a2e.CallRequest // never nil: of one that can't be read, what its answer needs
	agent  string
	inputs fs.FS // nil: none
}

// callFields are what a call may carry: the fields of skill/call/req, and our own.
var callFields = []string{
	"name", "arguments", "timeout", "correlation_id", "metadata", "llm_override", "id", "streaming", "type", "version", "a2e", "ts", "agent_id", "files",
}

// parseCall reads the body of a call.
func parseCall(b []byte) (p posted, why *a2e.Error) {
	p.req = &a2e.CallRequest{}
	m, err := a2e.Parse(typed(b))
	if err != nil {
		return p.refused(err)
	}
	req, ok := m.(*a2e.CallRequest)
	if !ok {
		return p, a2e.Errorf(a2e.InvalidMessage, "type: expected %s", a2e.TypeCallRequest).With("field", "type")
	}
	p.req = req
	var all map[string]json.RawMessage
	_ = json.Unmarshal(b, &all) // it is an object, and no key stands twice
	if why := unknownField(all); why != nil {
		return p, why
	}
	if raw := all["agent_id"]; raw != nil && json.Unmarshal(raw, &p.agent) != nil || p.agent != "" && !auth.Name(p.agent) {
		return p, a2e.Errorf(a2e.SchemaViolation, "agent_id: expected the name of an agent").With("field", "agent_id")
	}
	if raw := all["files"]; raw != nil && string(raw) != "null" {
		p.inputs, why = inputsOf(raw)
	}
	return p, why
}

// refused keeps what the answer to a request that can't be read needs.
func (p posted) refused(err error) (posted, *a2e.Error) {
	var bad *a2e.DecodeError
	if !errors.As(err, &bad) {
		return p, a2e.AsError(err)
	}
	p.req.ID, p.req.Name = bad.ReqID, bad.Name
	return p, bad.Err
}

// typed adds the type to a request that has none, so that it can be read as the message that it means.
func typed(b []byte) []byte {
	var all map[string]json.RawMessage
	b = bytes.TrimSpace(b)
	if len(b) == 0 || b[0] != '{' || json.Unmarshal(b, &all) != nil || all["type"] != nil {
		return b
	}
	line := append([]byte(`{"type":"`+a2e.TypeCallRequest+`"`), ',')
	rest := bytes.TrimLeft(b[1:], " \t\r\n")
	if len(all) == 0 {
		line = line[:len(line)-1]
	}
	return append(line, rest...)
}

func unknownField(all map[string]json.RawMessage) *a2e.Error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(callFields, name) {
			return a2e.Errorf(a2e.SchemaViolation, "unknown field %q: expected %s", clip(name, 64), oneOf(callFields)).With("field", clip(name, 64))
		}
	}
	return nil
}
