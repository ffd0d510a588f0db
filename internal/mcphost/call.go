package mcphost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// maxCalls is how many calls a session may have in flight.
const maxCalls = 256

// metaFields are the fields of an A2E call that a client may set in _meta, each behind [metaPrefix].
var metaFields = map[string]string{
	"request_id": "id", "timeout": "timeout", "correlation_id": "correlation_id", "metadata": "metadata", "llm_override": "llm_override",
}

// callTool runs a skill. What goes wrong within the call is its result, so that a model can read it; only a tool that is
// not there for the caller is an error of the protocol.
func (p *peer) callTool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	call, why := request(req.Params)
	if why != nil {
		if why.Detail["field"] == "name" {
			return nil, unknownTool(req.Params.Name, why)
		}
		return failure(why), nil
	}
	defer p.calls.Add(-1)
	if p.calls.Add(1) > maxCalls {
		return failure(a2e.Errorf(a2e.RuntimeError, "too many calls at once: a session may have %d in flight", maxCalls).
			Because(a2e.ReasonQueueFull).Transient()), nil
	}
	life, done := p.bound(ctx)
	defer done()
	life = a2e.WithTrace(life, placeOf(req))
	events := newListener(ctx, req.Session, req.Params)
	resp := p.host.opt.Handler.Call(life, p.who, call, events)
	made := events.close(resp)
	switch {
	case resp == nil:
		return nil, p.failed(ctx, "call", errors.New("handler gave no answer"))
	case resp.Error != nil && resp.Error.Code == a2e.UnknownSkill && !p.lists(ctx, call.Name):
		return nil, unknownTool(call.Name, resp.Error)
	}
	return answer(resp, made, req.ProtocolVersion()), nil
}

// placeOf is where in a trace a request is: its _meta says so, or the HTTP request that it came with.
func placeOf(req *mcp.CallToolRequest) a2e.Trace {
	if t := a2e.MetadataTrace(req.Params.Meta); t.Parent != "" || req.Extra == nil {
		return t
	}
	return a2e.HeaderTrace(req.Extra.Header)
}

// request makes an A2E call of the parameters, and reads it as any door's: with the same bounds, and the same faults. Ids of
// MCP requests never make a call the same as another one; an id in _meta does.
func request(params *mcp.CallToolParamsRaw) (*a2e.CallRequest, *a2e.Error) {
	fields := map[string]any{
		"type": a2e.TypeCallRequest, "version": a2e.Version, "ts": a2e.Now(), "name": params.Name, "arguments": map[string]any{},
	}
	if len(params.Arguments) > 0 && string(params.Arguments) != "null" {
		fields["arguments"] = params.Arguments
	}
	for key, field := range metaFields {
		if v, there := params.Meta[metaPrefix+key]; there {
			fields[field] = v
		}
	}
	line, err := json.Marshal(fields)
	if err != nil {
		return nil, a2e.Errorf(a2e.InvalidMessage, "arguments: expected JSON")
	}
	m, err := a2e.Parse(line)
	if err != nil {
		var refused *a2e.DecodeError
		if errors.As(err, &refused) {
			return nil, refused.Err
		}
		return nil, a2e.AsError(err)
	}
	return m.(*a2e.CallRequest), nil
}

// lists reports whether the caller may call a skill: then unknown_skill is about something else, such as an argument.
func (p *peer) lists(ctx context.Context, name string) bool {
	entries, err := p.host.opt.Catalog.Callable(ctx, p.who)
	return err == nil && slices.ContainsFunc(entries, func(e catalog.Entry) bool { return e.Definition.Name == name })
}

// unknownTool is the protocol's error for a tool that is not there, with A2E's words beside it.
func unknownTool(name string, why *a2e.Error) error {
	data, err := json.Marshal(errorData(why))
	if err != nil {
		data = nil
	}
	if len(name) > a2e.MaxName {
		name = name[:a2e.MaxName]
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name), Data: data}
}
