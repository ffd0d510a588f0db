package a2ehost

import (
	"context"
	"slices"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// handle takes one good message. What may take long is done beside the reading.
func (s *session) handle(ctx context.Context, m a2e.Message) {
	switch m := m.(type) {
	case *a2e.CallRequest:
		before, end := s.turns.join(m.ID)
		ahead, passed := s.line, make(chan struct{})
		s.line = passed
		s.begin(ctx, func(c claim) {
			defer end()
			defer s.slot(ctx, ahead, passed, before)()
			s.call(ctx, c, m)
		})
	case *a2e.DiscoverRequest:
		s.begin(ctx, func(c claim) { s.discover(ctx, c, m) })
	case *a2e.HandshakeRequest:
		s.handshake(ctx, m)
	case *a2e.Ping:
		_ = s.send(&a2e.Pong{ReqID: m.ID, UptimeSeconds: time.Since(s.host.started).Seconds()})
	default:
		h := a2e.HeaderOf(m)
		_ = s.send(a2e.ErrorReport(h.ID, a2e.Errorf(a2e.InvalidMessage, "%s is what a host sends, not what it takes", h.Type)))
	}
}

// begin runs work on its own as soon as there is room. It returns once there is: that is what holds up a flood. After
// ctx's end there is no waiting: work goes ahead and answers "cancelled".
func (s *session) begin(ctx context.Context, work func(c claim)) {
	taken := 0
	for n := s.weight(); taken < n && ctx.Err() == nil; {
		select {
		case s.room <- struct{}{}:
			taken++
		case <-ctx.Done():
		}
	}
	c := s.claim
	s.act.inFlight.Add(1)
	select {
	case s.busy <- struct{}{}:
	default:
	}
	s.calls.Go(func() {
		defer s.act.inFlight.Add(-1)
		defer s.act.touch()
		defer release(s.room, taken)
		work(c)
	})
}

// slot waits until the call that arrived ahead has its slot, so that calls start in the order of arrival, then until one
// more call may run, and returns what frees the slot. A call whose id an earlier one has waits for that one's end, and
// lets the others pass meanwhile. These waits need no ctx: its end ends the earlier calls too.
func (s *session) slot(ctx context.Context, ahead <-chan struct{}, passed chan<- struct{}, before <-chan struct{}) (free func()) {
	if ahead != nil {
		<-ahead
	}
	if before != nil {
		close(passed)
		<-before
	} else {
		defer close(passed)
	}
	select {
	case s.slots <- struct{}{}:
		return func() { release(s.slots, 1) }
	case <-ctx.Done():
		return func() {}
	}
}

// weight is how much of the room the last message takes: one place, and as many again as its length demands, so that
// about four of the longest fill the room.
func (s *session) weight() int {
	return 1 + cap(s.room)*s.in.Size()/(4*s.host.opt.MaxLine)
}

func release(c <-chan struct{}, n int) {
	for range n {
		<-c
	}
}

// refuse answers a line that is no good message: a call with a call's answer, a handshake of another version with its own
// reason, all else with an error.
func (s *session) refuse(bad *a2e.DecodeError) {
	s.log.Debug("bad line", "code", bad.Err.Code, "type", bad.Type, "req_id", bad.ReqID)
	if bad.Type == a2e.TypeCallRequest && bad.ReqID != "" {
		s.answer(bad.ReqID, bad.Name, a2e.Failure(bad.ReqID, bad.Name, bad.Err, 0))
		return
	}
	if bad.Type == a2e.TypeHandshakeRequest && bad.Err.Code == a2e.VersionMismatch {
		_ = s.send(&a2e.HandshakeResponse{ReqID: bad.ReqID, SessionID: s.id, MaxParallel: s.host.opt.MaxParallel, Reason: reasonVersion})
		return
	}
	_ = s.send(a2e.ErrorReport(bad.ReqID, bad.Err))
}

// welcome answers a handshake. The capability is called skill; skills is accepted too, as upstream's samples have it. What is
// no capability of the protocol is passed over: upstream's client sends such words unless it is told others, and cannot read an
// answer that has them.
func (h *Host) welcome(m *a2e.HandshakeRequest, session string) *a2e.HandshakeResponse {
	resp := &a2e.HandshakeResponse{ReqID: m.ID, SessionID: session, MaxParallel: h.opt.MaxParallel, OK: true}
	seen := map[string]bool{}
	for _, name := range m.AgentCaps {
		if name == "skills" {
			name = capSkill
		}
		if !seen[name] && slices.Contains(capabilities(), name) {
			seen[name] = true
			resp.AcceptedCaps = append(resp.AcceptedCaps, h.capability(name))
		}
	}
	switch {
	case len(seen) == 0:
		resp.AcceptedCaps = []a2e.Capability{h.capability(capSkill)}
	case !seen[capSkill]:
		resp.OK, resp.Reason = false, reasonNoCaps
	}
	return resp
}

// The reasons for which a handshake is refused.
const (
	reasonAuth    = "auth_failed"
	reasonVersion = "version_mismatch"
	reasonNoCaps  = "no_caps"
	reasonServer  = "server_error"
)

const capSkill = "skill"

// capabilities are those that the protocol has.
func capabilities() []string {
	return []string{
		capSkill, "tools", "toolkits", "env", "proc", "memory", "learning", "chains", "multi_agent", "planning", "mcp", "test",
	}
}

func (h *Host) capability(name string) a2e.Capability {
	if name != capSkill {
		return a2e.Capability{Capability: name, Metadata: map[string]any{"reason": "no plugin loaded"}}
	}
	meta := map[string]any{"name": "hotcell", "type": capSkill, "priority": 0, "exclusive": false}
	if h.opt.Version != "" {
		meta["version"] = h.opt.Version
	}
	return a2e.Capability{Capability: capSkill, Enabled: true, Metadata: meta}
}
