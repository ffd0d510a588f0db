package egress

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/trace"
)

// visit is one connection of a cell to one destination.
type visit struct {
	*grant
	ctx   context.Context
	cell  net.Conn
	req   *request
	began time.Time
	span  trace.Span
}

// outcome is what the audit has to say beside the destination.
type outcome struct {
	verdict string
	reason  string
	addr    netip.Addr
	in, out int64
}

// The verdicts of an audit entry.
const (
	verdictConnected = "connected"
	verdictRefused   = "refused" // by policy
	verdictFailed    = "failed"  // nobody was there, or no longer
)

func (v *visit) serve() {
	v.span = trace.Of(v.ctx).Begin("egress", v.began)
	defer v.span.End()
	conn, addr, no := v.reach(v.ctx, v.req.host, v.req.port)
	if no != nil {
		v.refuse(no, addr)
		return
	}
	m := &meter{Conn: conn, grant: v.grant}
	m.watch(v.opts.Limits.Idle, v.cell) // before others can close it
	defer m.Close()
	if !v.hold(m) {
		v.refuse(forbidden("the call has ended"), addr)
		return
	}
	defer v.release(m)
	if v.req.Method == http.MethodConnect {
		v.tunnel(m)
	} else {
		v.forward(m)
	}
	m.Close()
	o := outcome{verdict: verdictConnected, reason: m.why(), addr: addr, in: m.in.Load(), out: m.out.Load()}
	if o.reason == "" && v.ctx.Err() != nil {
		o.reason = "the call has ended"
	}
	v.audit(o)
}

func (v *visit) refuse(no *refusal, addr netip.Addr) {
	o := outcome{verdict: verdictRefused, reason: no.reason, addr: addr}
	if no.status >= http.StatusInternalServerError {
		o.verdict = verdictFailed
	}
	v.audit(o)
	_ = v.cell.SetWriteDeadline(time.Now().Add(v.opts.Limits.Connect))
	answer(v.cell, no)
}

func (v *visit) audit(o outcome) {
	v.tell(o)
	data := map[string]any{
		"host": v.req.host.String(), "port": int(v.req.port), "verdict": o.verdict,
		"bytes_in": o.in, "bytes_out": o.out, "ms": time.Since(v.began).Milliseconds(),
	}
	if o.addr.IsValid() {
		data["address"] = o.addr.String()
	}
	if o.reason != "" {
		data["reason"] = o.reason
	}
	v.opts.Log.Write(audit.Entry{At: v.began, Call: v.call, Kind: "egress.connect", Data: data})
}

// tell says the same in the call's trace.
func (v *visit) tell(o outcome) {
	if !v.span.On() {
		return
	}
	v.span.Text("server.address", v.req.host.String())
	v.span.Number("server.port", int64(v.req.port))
	v.span.Text("hotcell.egress.verdict", o.verdict)
	v.span.Number("hotcell.bytes_in", o.in)
	v.span.Number("hotcell.bytes_out", o.out)
	if o.verdict != verdictConnected {
		v.span.Fail(o.verdict)
	}
}
