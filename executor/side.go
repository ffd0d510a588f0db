package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/hotcell/hotcell/internal/wall"
)

const (
	tunnelBudget = 1 << 30 // bytes of a call's tunnel lines, both ways
	tunnelTotal  = 1 << 16 // streams that a call opens in all
	toolsAtOnce  = 16      // tool lines of a call that are answered at a time
	toolsInAll   = 10_000  // and in all
	replyBacklog = 64      // answers that wait for a cell to read; what is more is dropped
)

// side is what runs beside a call's own lines: the streams and tool lines of its cell, led to the grants of that call and
// to nothing else.
type side struct {
	s      *Supervisor
	c      *call
	grants *grants
	lines  *wall.Writer
	tunnel *wall.Tunnel
	ctx    context.Context // of what the call uses; ends with the call
	end    func()

	uses   busy          // streams and tools that are being served
	slots  chan struct{} // for tools at once
	spoken chan struct{} // for answers that are being written: their tools are in use no more

	// Only the reader of the cell knows these.
	broken  bool                  // the tunnel
	asked   int                   // tool lines
	replies chan *wall.ToolResult // that wait for the cell to read; nil: there were none so far
}

// openSide starts the rights of a call that has its cell, and serves them until close. ctx ends with the call.
func (s *Supervisor) openSide(ctx context.Context, c *call, cl *cell, g *grants) *side {
	own, end := ctx, func() {}
	if len(g.all) > 0 {
		own, end = outlived(around(ctx, c, g.values(ctx)))
	}
	d := &side{
		s: s, c: c, grants: g, lines: cl.lines, ctx: own, end: end,
		tunnel: wall.NewTunnel(cl.lines, wall.TunnelOptions{Ports: g.names(), Total: tunnelTotal, Bytes: tunnelBudget}),
	}
	if g.tools != nil {
		d.slots, d.spoken = make(chan struct{}, toolsAtOnce), make(chan struct{}, replyBacklog)
	}
	if len(g.all) > 0 {
		g.activate(own, s.token(cl.name))
	}
	if len(g.ports) > 0 {
		context.AfterFunc(own, d.hangUp) // whatever becomes of the call
		d.uses.enter()
		s.tidying.Go(d.accept)
	}
	return d
}

// close ends the rights and all streams.
func (d *side) close() {
	d.end()
	d.grants.revoke()
	d.hangUp()
}

// settle waits a moment for what was cut by close: then all that the call used is told, where somebody counts it.
func (d *side) settle() {
	if _, ok := d.s.cfg.Audit.(counter); ok && !d.uses.settle(settleLimit) {
		d.s.logOf(d.c).Warn("the account of a call may lack what it used last: what was under way is cut, and does not end")
	}
}

func (d *side) hangUp() { d.tunnel.Close(errEnded) }

var errEnded = errors.New("the call has ended")

// errAround ends what a call uses, such as a call within it. Why the call itself ended is not the reason of that.
var errAround = errors.New("the call around it, which has ended")

// outlived returns a context that ends with ctx or by end, and says then that it was outlived.
func outlived(ctx context.Context) (own context.Context, end func()) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(errAround) })
	return own, func() {
		stop()
		cancel(errAround)
	}
}

// accept hands each stream to the grant that owns its port.
func (d *side) accept() {
	defer d.uses.leave()
	for {
		conn, port, err := d.tunnel.Accept()
		if err != nil {
			return
		}
		owner := d.grants.owner[port]
		if owner == nil {
			_ = conn.Close()
			continue
		}
		d.uses.enter()
		d.s.tidying.Go(func() {
			defer d.uses.leave()
			defer conn.Close()
			defer d.survive("stream to " + port)
			owner.Serve(port, conn)
		})
	}
}

// survive keeps a fault of hotcell's own within the stream or the tool line that met it.
func (d *side) survive(what string) {
	if r := recover(); r != nil {
		d.s.logOf(d.c).Error("a "+what+" met a fault of hotcell's own", "panic", r, "stack", string(debug.Stack()))
	}
}

// use takes a line by which the cell uses what its call was granted. It waits for nothing and keeps nothing of line. Its
// error is told among the call's events; the verdict on the call is not its business.
func (d *side) use(kind string, line []byte) error {
	if kind == wall.TypeTool {
		return d.tool(line)
	}
	if d.broken {
		return errors.New("the tunnel is closed")
	}
	err := d.tunnel.Handle(kind, line) // where nothing is granted, it refuses each stream
	switch {
	case err != nil:
		d.broken = true
		return fmt.Errorf("the tunnel is closed: %w", err)
	case len(d.grants.ports) == 0:
		return errors.New("not allowed: the call was granted nothing to connect to")
	}
	return nil
}

// tool answers a tool line in the background.
func (d *side) tool(line []byte) error {
	ask, err := wall.DecodeTool(line)
	if err != nil {
		return err
	}
	if d.grants.tools == nil {
		d.reply(refusedTool(ask.ID, "the call was granted no tools"))
		return errors.New("not allowed: the call was granted no tools")
	}
	if d.asked++; d.asked > toolsInAll {
		d.reply(refusedTool(ask.ID, fmt.Sprintf("the call has used tools %d times, which is the most", toolsInAll)))
		return errors.New("the call uses no more tools")
	}
	select {
	case d.slots <- struct{}{}:
	default:
		d.reply(refusedTool(ask.ID, fmt.Sprintf("%d tools are in use already: wait for one of their answers", toolsAtOnce)))
		return nil
	}
	d.uses.enter()
	d.s.tidying.Go(func() {
		r := d.answer(&ask)
		d.uses.leave()
		d.spoken <- struct{}{}
		<-d.slots // before the cell can know of it, and ask again
		d.send(r)
		<-d.spoken
	})
	return nil
}

// answer uses a tool.
func (d *side) answer(ask *wall.Tool) (r *wall.ToolResult) {
	r = &wall.ToolResult{ID: ask.ID, Error: "internal error", Code: codeFailed} // of a tool that panics
	defer d.survive("tool")
	if said := d.grants.tools.Tool(d.ctx, ask); said != nil {
		said.ID = ask.ID
		r = said
	}
	return r
}

// refusedTool is the answer to a tool line that reaches no tool.
func refusedTool(id, why string) *wall.ToolResult {
	return &wall.ToolResult{Type: wall.TypeToolResult, ID: id, Error: why, Code: codeDenied}
}

// The protocol's words for what is not permitted and for what went wrong.
const (
	codeDenied = "permission_denied"
	codeFailed = "tool_execution_failure"
)

// reply sends an answer without waiting for the cell to read it. One that doesn't read loses answers.
func (d *side) reply(r *wall.ToolResult) {
	if d.replies == nil {
		d.replies = make(chan *wall.ToolResult, replyBacklog)
		replies := d.replies
		d.s.tidying.Go(func() {
			for {
				select {
				case r := <-replies:
					d.send(r)
				case <-d.ctx.Done():
					return
				}
			}
		})
	}
	select {
	case d.replies <- r:
	default:
	}
}

// send writes an answer. A cell that doesn't read holds it up until the cell is destroyed.
func (d *side) send(r *wall.ToolResult) {
	r.Type = wall.TypeToolResult
	line, err := json.Marshal(r)
	why := ""
	switch {
	case err != nil:
		why = "the tool's answer is no JSON"
	case len(line) > wall.MaxLine:
		why = fmt.Sprintf("the tool's answer is longer than %d bytes", wall.MaxLine)
	}
	if why != "" {
		line, _ = json.Marshal(&wall.ToolResult{Type: wall.TypeToolResult, ID: r.ID, Error: why, Code: codeFailed})
	}
	_ = d.lines.Line(line)
}
