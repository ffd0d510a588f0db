package mcphost

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
)

// stateless is the first protocol revision without sessions.
const statelessRevision = "2026-07-28"

// skillsExtension is the extension by which the files of skills are found.
const skillsExtension = "io.modelcontextprotocol/skills"

const instructions = "Each tool is a skill. A skill runs in a sealed container of its own, which is destroyed after the call. " +
	"What a skill is for and how it works stands in its SKILL.md, which is the resource skill://NAME/SKILL.md."

// list is what a client can be told has changed.
type list int

const (
	listTools list = iota
	listResources
)

// peer is one client: who calls, and the SDK's server that talks to it.
type peer struct {
	host   *Host
	who    a2e.Caller
	server *mcp.Server
	life   context.Context // what its calls live in: it ends with the peer
	end    context.CancelFunc
	lasts  bool         // it is a session, and is told of changes
	calls  atomic.Int64 // in flight
	asked  atomic.Int64 // requests in flight, calls among them

	mu   sync.Mutex
	seen map[list]mark // what the lists were when the client looked at them
}

// newPeer makes a peer whose session, if it is one over HTTP, has an id. It ends with life.
func (h *Host) newPeer(life context.Context, who a2e.Caller, id string) *peer {
	p := &peer{host: h, who: who, seen: map[list]mark{}}
	p.life, p.end = context.WithCancel(life)
	caps := &mcp.ServerCapabilities{
		Tools:     &mcp.ToolCapabilities{ListChanged: true},
		Resources: &mcp.ResourceCapabilities{ListChanged: true},
	}
	caps.AddExtension(skillsExtension, nil)
	withLogging(caps)
	version := h.opt.Version
	if version == "" {
		version = "unknown"
	}
	p.server = mcp.NewServer(&mcp.Implementation{Name: "hotcell", Title: "hotcell", Version: version}, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: caps, GetSessionID: func() string { return id },
	})
	p.server.AddReceivingMiddleware(p.receive)
	for _, err := range []error{
		mcp.AddReceivingCustomMethod(p.server, "skills/list", p.skillsList),
		mcp.AddReceivingCustomMethod(p.server, "skills/get", p.skillsGet),
	} {
		if err != nil { // the SDK has methods of these names
			h.log.Error("methods of skills", "err", err)
		}
	}
	return p
}

// receive answers what is about skills and leaves the rest of the protocol to the SDK.
func (p *peer) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer p.survive(method, &res, &err)
		if !strings.HasPrefix(method, "notifications/") {
			defer p.asked.Add(-1)
			if p.asked.Add(1) > maxUnanswered {
				return nil, errBusy
			}
		}
		switch r := req.(type) {
		case *mcp.ListToolsRequest:
			return result(p.listTools(ctx, r))
		case *mcp.CallToolRequest:
			return result(p.callTool(ctx, r))
		case *mcp.ListResourcesRequest:
			return result(p.listResources(ctx, r))
		case *mcp.ListResourceTemplatesRequest:
			return p.listTemplates(), nil
		case *mcp.ReadResourceRequest:
			return result(p.readResource(ctx, r))
		case *mcp.SubscriptionsListenRequest:
			own, done, err := p.listen(ctx)
			if err != nil {
				return nil, err
			}
			defer done()
			ctx = own
		}
		return next(ctx, method, req)
	}
}

// result keeps a nil pointer from becoming a result.
func result[R mcp.Result](res R, err error) (mcp.Result, error) {
	if err != nil {
		return nil, err
	}
	return res, nil
}

// survive turns a panic into an error. It is to be deferred.
func (p *peer) survive(what string, res *mcp.Result, err *error) {
	if v := recover(); v != nil {
		p.host.log.Error("panic in a request", "method", what, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		*res, *err = nil, errInternal
	}
}

var errBusy = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "too many requests at once in this session"}

var errInternal = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}

// failed is the answer where the catalogue or the control failed: the reason is for the log alone.
func (p *peer) failed(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "cancelled"}
	}
	p.host.log.Error(what, "err", err)
	return errInternal
}

// invalid refuses the parameters of a request.
func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// bound returns a context that ends with ctx and with the peer.
func (p *peer) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// saw notes what a list was when the client looked at it.
func (p *peer) saw(l list, m mark) {
	if !p.lasts {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[l] = m
}

// knows returns what a list was when the client looked at it last.
func (p *peer) knows(l list) (mark, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, ok := p.seen[l]
	return m, ok
}

// changed tells the client that a list is another one now. The SDK sends the notification when something is registered, so
// something is, which nobody sees: lists and calls are answered by [peer.receive].
func (p *peer) changed(l list) {
	const name = "changed"
	switch l {
	case listTools:
		p.server.AddTool(&mcp.Tool{Name: name, InputSchema: objectSchema}, nil)
	case listResources:
		p.server.AddResource(&mcp.Resource{Name: name, URI: "hotcell:" + name}, nil)
	}
}
