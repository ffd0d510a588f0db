package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/clever"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/trace"
	"github.com/hotcell/hotcell/internal/wall"
)

// What goes in and out, in bytes. Both fit on a line of the wall.
const (
	maxArguments = 512 << 10
	maxData      = 512 << 10
)

// grant is one call's right to use tools.
type grant struct {
	tools  *Tools
	ask    service.Ask
	names  []string
	byName map[string]tool
	room   chan struct{} // holds one for each use that is under way
	desk   chan struct{} // holds one for each request over HTTP, from its body to its answer's end

	server *http.Server

	mu      sync.Mutex
	token   string
	ctx     context.Context // nil: not active yet
	revoke  context.CancelFunc
	revoked bool
	uses    int
	waiting int
}

var (
	_ service.Grant  = (*grant)(nil)
	_ service.Tooler = (*grant)(nil)
)

// give adds a tool unless it is there.
func (g *grant) give(name string, t tool) {
	if g.byName[name] == nil {
		g.names = append(g.names, name)
		g.byName[name] = t
	}
}

// Ports implements [service.Grant].
func (g *grant) Ports() []string { return []string{Port} }

// Env implements [service.Grant].
func (g *grant) Env(at func(port string) string, token string) []string {
	return []string{wall.EnvTools + "=http://" + at(Port), wall.EnvToken + "=" + token}
}

// Lease implements [service.Grant].
func (g *grant) Lease(l *wall.Lease) { l.Tools = append(l.Tools, g.definitions()...) }

// definitions are those of the tools that are there.
func (g *grant) definitions() []wall.ToolDef {
	out := make([]wall.ToolDef, 0, len(g.names))
	for _, name := range g.names {
		if def, err := g.byName[name].definition(); err == nil {
			out = append(out, def)
		}
	}
	return out
}

// Activate implements [service.Grant].
func (g *grant) Activate(ctx context.Context, token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.revoked || g.ctx != nil {
		return
	}
	g.token = token
	g.ctx, g.revoke = context.WithCancel(withLeft(ctx, g.tools.opt.Nested))
}

// Revoke implements [service.Grant].
func (g *grant) Revoke() {
	g.mu.Lock()
	g.revoked = true
	revoke := g.revoke
	g.mu.Unlock()
	if revoke != nil {
		revoke()
	}
	_ = g.server.Close()
}

var errInactive = errors.New("tools may be used during the call alone: neither before nor after it")

// active returns the context of the right, and what the cell must show.
func (g *grant) active() (ctx context.Context, token string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx == nil || g.revoked || g.ctx.Err() != nil {
		return nil, "", denied(errInactive)
	}
	return g.ctx, g.token, nil
}

// Tool implements [service.Tooler].
func (g *grant) Tool(ctx context.Context, ask *wall.Tool) *wall.ToolResult {
	res := &wall.ToolResult{Type: wall.TypeToolResult, ID: ask.ID}
	data, failure := g.use(ctx, ask.Name, ask.Arguments)
	if failure != nil {
		res.Error, res.Code = cut(failure.Message(), maxError), string(failure.Type())
		return res
	}
	res.Success, res.Data = true, data
	return res
}

// use is the gate: every use of a tool passes it, whichever way it comes.
func (g *grant) use(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, *clever.SkillError) {
	began := time.Now()
	call, _, err := g.active()
	if err != nil {
		failure := mapped(err, g.ask.Skill.Name, clip(name))
		return nil, &failure // nothing is written: before its lease, a cell has no call that this could be about
	}
	own, cancel := context.WithCancelCause(call) // first of all, so that the call's end is the reason where both have ended
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	own, span := trace.Start(own, "tool")
	defer span.End()
	span.Text("hotcell.tool", clip(name))
	nth, err := g.count()
	var data json.RawMessage
	if err == nil {
		data, err = g.pass(own, name, arguments)
	}
	entry := map[string]any{"tool": clip(name), "ms": time.Since(began).Milliseconds(), "code": "ok", "bytes": len(data)}
	defer func() {
		if nth <= g.tools.opt.Uses+mostDenied {
			g.tools.opt.Log.Write(audit.Entry{At: began, Call: g.ask.Call, Kind: "tool.call", Data: entry})
		}
	}()
	if err == nil {
		return data, nil
	}
	failure := mapped(err, g.ask.Skill.Name, clip(name))
	entry["code"] = string(failure.Type())
	span.Fail(string(failure.Type()))
	return nil, &failure
}

// pass checks what a use must keep to, and uses the tool.
func (g *grant) pass(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error) {
	t := g.byName[name]
	if t == nil {
		return nil, denied(fmt.Errorf("the skill %q declares no tool %q: it has %v", g.ask.Skill.Name, clip(name), g.names))
	}
	def, err := t.definition()
	if err != nil {
		return nil, err
	}
	if def.Writes && !(g.ask.Policy.Writes && g.ask.Skill.Policy.Writes) {
		return nil, denied(fmt.Errorf("%q writes, and the skill %q is read-only", name, g.ask.Skill.Name))
	}
	if err := g.enter(ctx); err != nil {
		return nil, err
	}
	defer func() { <-g.room }()
	args, err := decodeArguments(arguments) // not while it waits: decoded, they are twenty times as large
	if err != nil {
		return nil, invalid(err)
	}
	data, err := t.use(ctx, g, args)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the tool's data is no JSON: %w", err)
	case len(raw) > maxData:
		return nil, fmt.Errorf("the tool's data has %d bytes, at most %d are handed on: ask it for less", len(raw), maxData)
	}
	return raw, nil
}

// mostDenied is how many uses beyond the last one are in the audit.
const mostDenied = 100

// count takes one of the call's uses, and returns which one it is.
func (g *grant) count() (nth int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.uses++; g.uses > g.tools.opt.Uses {
		err = denied(fmt.Errorf("a call may use tools %d times", g.tools.opt.Uses))
	}
	return g.uses, err
}

// desks is how many requests over HTTP are taken, for each use that may be under way. All others wait with their bodies unread.
const desks = 3

// waiters is how many uses may wait for room, for each that may be under way.
const waiters = 8

// enter waits for room.
func (g *grant) enter(ctx context.Context) error {
	g.mu.Lock()
	if g.waiting >= cap(g.room)*waiters {
		g.mu.Unlock()
		return denied(fmt.Errorf("%d uses of tools are under way and %d wait: use fewer at once", cap(g.room), cap(g.room)*waiters))
	}
	g.waiting++
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.waiting--
		g.mu.Unlock()
	}()
	select {
	case g.room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// decodeArguments reads the one JSON object that arguments are; nothing at all is an empty one.
func decodeArguments(raw json.RawMessage) (map[string]any, error) {
	if len(raw) > maxArguments {
		return nil, fmt.Errorf("arguments: %d bytes, at most %d are allowed", len(raw), maxArguments)
	}
	if len(bytes.TrimSpace(raw)) == 0 || string(raw) == "null" {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var args map[string]any
	if err := dec.Decode(&args); err != nil || args == nil {
		return nil, errors.New("arguments: expected a JSON object")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("arguments: expected one JSON object and nothing behind it")
	}
	return args, nil
}

// Serve implements [service.Grant].
func (g *grant) Serve(port string, conn net.Conn) {
	defer conn.Close()
	if port != Port {
		return
	}
	server := g.server
	if _, _, err := g.active(); err != nil {
		server = g.web() // it says why, once, and soon: nothing that came after a call's end may stay
		server.SetKeepAlivesEnabled(false)
		defer server.Close()
		_ = conn.SetDeadline(time.Now().Add(lastWords))
	}
	_ = server.Serve(newOneConn(conn)) // returns when the connection is closed, or the server is
}

// lastWords is how long a cell may take to hear that it has no right.
const lastWords = 5 * time.Second
