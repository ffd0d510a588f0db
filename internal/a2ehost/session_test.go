package a2ehost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

func TestWireExamples(t *testing.T) {
	in := `{"type":"skill/discover/req","id":"sd1","version":"1.0","ts":1716123456.789,"filter_tags":["coding"],"filter_categories":[]}
{"type":"skill/call/req","id":"sc1","version":"1.0","ts":1716123457.100,"name":"code_review","arguments":{"code":"def add(a, b): return a + b"},"correlation_id":"","timeout":60,"streaming":true,"llm_override":null,"metadata":{}}
`
	var out bytes.Buffer
	h := newHost(t, Options{Handler: newFake()})
	if err := h.Serve(context.Background(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range bytes.Lines(out.Bytes()) {
		m, err := a2e.Parse(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch m := m.(type) {
		case *a2e.DiscoverResponse:
			got = append(got, fmt.Sprint("discover ", m.ReqID, " ", len(m.Skills)))
		case *a2e.Event:
			got = append(got, fmt.Sprint("event ", m.ReqID, " ", m.Seq, " ", m.Kind))
		case *a2e.CallResponse:
			got = append(got, fmt.Sprint("answer ", m.ReqID, " ", m.Name, " ", m.Data.Success))
		}
	}
	want := []string{"event sc1 0 progress", "event sc1 1 progress", "event sc1 2 progress", "answer sc1 code_review true", "discover sd1 1"}
	if i := slices.Index(got, "discover sd1 1"); i >= 0 { // it runs beside the call
		got = append(slices.Delete(got, i, i+1), "discover sd1 1")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHandshake(t *testing.T) {
	skill := func(on bool) a2e.Capability {
		meta := map[string]any{"name": "hotcell", "type": "skill", "priority": 0, "exclusive": false, "version": "v1"}
		return a2e.Capability{Capability: "skill", Enabled: on, Metadata: meta}
	}
	env := a2e.Capability{Capability: "env", Metadata: map[string]any{"reason": "no plugin loaded"}}
	h := newHost(t, Options{Handler: newFake(), Version: "v1", MaxParallel: 7})
	for name, tt := range map[string]struct {
		caps   []string
		want   []a2e.Capability
		reason string
	}{
		"none":   {nil, []a2e.Capability{skill(true)}, ""},
		"skill":  {[]string{"skill"}, []a2e.Capability{skill(true)}, ""},
		"plural": {[]string{"env", "skills", "skill"}, []a2e.Capability{env, skill(true)}, ""},
		"others": {[]string{"env"}, []a2e.Capability{env}, "no_caps"},
		"words":  {[]string{"streaming", "artifacts"}, []a2e.Capability{skill(true)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := h.welcome(&a2e.HandshakeRequest{Header: a2e.Header{ID: "h1"}, AgentCaps: tt.caps}, "s1")
			want := &a2e.HandshakeResponse{
				ReqID: "h1", SessionID: "s1", MaxParallel: 7, AcceptedCaps: tt.want, OK: tt.reason == "", Reason: tt.reason,
			}
			if diff := cmp.Diff(a2e.Message(want), a2e.Message(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	many := h.welcome(&a2e.HandshakeRequest{AgentCaps: strings.Split(strings.Repeat("x,", 100)+"skill", ",")}, "s")
	if !many.OK || len(many.AcceptedCaps) != 1 {
		t.Errorf("a long list is answered with %d capabilities, ok %v", len(many.AcceptedCaps), many.OK)
	}
}

func TestAgentIsTold(t *testing.T) {
	f := newFake()
	p, _ := startSession(t, context.Background(), newHost(t, Options{Handler: f, Door: "stdio"}))
	p.send(`{"type":"handshake/req","id":"h1","agent_id":"me","agent_caps":["skill"]}`)
	if got := recv[*a2e.HandshakeResponse](p); !got.OK || got.ReqID != "h1" || len(got.SessionID) != 32 {
		t.Errorf("handshake = %+v", got)
	}
	p.send(callLine("c1", "echo"))
	recv[*a2e.CallResponse](p)
	if diff := cmp.Diff([]a2e.Caller{{Agent: "me", Door: "stdio", Admin: true}}, f.saw); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStreamingFalseSendsNoEvents(t *testing.T) {
	f := newFake()
	p, _ := startSession(t, context.Background(), newHost(t, Options{Handler: f}))
	p.send(`{"type":"skill/call/req","id":"c1","name":"events","streaming":false}`)
	if got := recv[*a2e.CallResponse](p); got.ReqID != "c1" || got.Name != "events" {
		t.Errorf("answer = %+v", got)
	}
	if err := f.writer.WriteEvent(context.Background(), &a2e.Event{}); err == nil {
		t.Error("an event is taken after the answer")
	}
}

func TestPingDuringALongCall(t *testing.T) {
	f := newFake()
	p, _ := startSession(t, context.Background(), newHost(t, Options{Handler: f}))
	p.send(callLine("c1", "wait"), ping("p1"))
	if got := recv[*a2e.Pong](p); got.ReqID != "p1" || got.UptimeSeconds < 0 {
		t.Errorf("pong = %+v", got)
	}
	close(f.release)
	if got := recv[*a2e.CallResponse](p); got.ReqID != "c1" || !got.Data.Success {
		t.Errorf("answer = %+v", got)
	}
}

func TestBadLines(t *testing.T) {
	p, _ := startSession(t, context.Background(), newHost(t, Options{Handler: newFake(), MaxLine: 1 << 10}))
	for name, tt := range map[string]struct {
		line string
		code a2e.Code
		call bool
		id   string
	}{
		"text":         {"hello", a2e.ParseError, false, ""},
		"long":         {strings.Repeat("x", 2<<10), a2e.ParseError, false, ""},
		"unknown":      {`{"type":"skill/frob","id":"u1"}`, a2e.InvalidMessage, false, "u1"},
		"ours":         {`{"type":"pong","id":"u2"}`, a2e.InvalidMessage, false, "u2"},
		"version":      {`{"type":"ping","id":"u3","version":"2.0"}`, a2e.VersionMismatch, false, "u3"},
		"discover":     {`{"type":"skill/discover/req","id":"u4","filter_tags":"x"}`, a2e.SchemaViolation, false, "u4"},
		"timeout":      {`{"type":"skill/call/req","id":"c1","name":"echo","timeout":1.5}`, a2e.SchemaViolation, true, "c1"},
		"list":         {`{"type":"skill/call/req","id":"c2","name":"echo","arguments":[]}`, a2e.SchemaViolation, true, "c2"},
		"call version": {`{"type":"skill/call/req","id":"c3","name":"echo","version":"9"}`, a2e.VersionMismatch, true, "c3"},
	} {
		p.send(tt.line)
		if tt.call {
			got := recv[*a2e.CallResponse](p)
			if got.ReqID != tt.id || got.Name != "echo" || got.Error == nil || got.Error.Code != tt.code || got.Data == nil || *got.Data.ErrorCode != string(tt.code) {
				t.Errorf("%s: answer = %+v", name, got)
			}
			continue
		}
		if got := recv[*a2e.ErrorMessage](p); got.ReqID != tt.id || got.Code != tt.code || got.CapabilityName != "skill" {
			t.Errorf("%s: error = %+v", name, got)
		}
	}
	p.send(ping("p1"))
	recv[*a2e.Pong](p)
}

func TestTooManyBadLinesEndTheSession(t *testing.T) {
	p, wait := startSession(t, context.Background(), newHost(t, Options{Handler: newFake()}))
	p.send(strings.Repeat("junk\n", maxFaults-1) + ping("p1"))
	for range maxFaults - 1 {
		recv[*a2e.ErrorMessage](p)
	}
	recv[*a2e.Pong](p) // a good line starts the count again
	p.send(strings.TrimSuffix(strings.Repeat("junk\n", maxFaults), "\n"))
	for range maxFaults {
		recv[*a2e.ErrorMessage](p)
	}
	if got := recv[*a2e.ErrorMessage](p); !strings.Contains(got.Message, "closing") {
		t.Errorf("last error = %+v", got)
	}
	p.end()
	if err := wait(); !errors.Is(err, ErrTooManyFaults) {
		t.Errorf("Serve = %v", err)
	}
}

func TestHandlerFaults(t *testing.T) {
	var log bytes.Buffer
	p, _ := startSession(t, context.Background(), newHost(t, Options{Handler: newFake(), Log: testLog(&log)}))
	for _, name := range []string{"panic", "nil", "nan"} {
		p.send(callLine("c", name))
		got := recv[*a2e.CallResponse](p)
		if got.Name != name || got.ReqID != "c" || got.Error == nil || got.Error.Code != a2e.RuntimeError ||
			got.Error.Reason() != a2e.ReasonInternal || got.Data == nil || got.Data.Success {
			t.Errorf("%s: answer = %+v", name, got)
		}
	}
	for tag, code := range map[string]a2e.Code{"panic": a2e.RuntimeError, "fail": a2e.RuntimeError, "refuse": a2e.Unauthorized} {
		p.send(`{"type":"skill/discover/req","id":"d","filter_tags":["` + tag + `"]}`)
		if got := recv[*a2e.ErrorMessage](p); got.ReqID != "d" || got.Code != code || strings.Contains(got.Message, "secret") {
			t.Errorf("%s: error = %+v", tag, got)
		}
	}
	for _, want := range []string{"boom", "secret detail", "call.go", "no answer", "no JSON form"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
}

func TestErrorsAsMessage(t *testing.T) {
	p, _ := startSession(t, context.Background(), newHost(t, Options{Handler: newFake(), ErrorsAs: ErrorsAsMessage}))
	p.send(callLine("c1", "fail"))
	got := recv[*a2e.ErrorMessage](p)
	if got.ReqID != "c1" || got.Code != a2e.SkillError || got.Message != "it broke" || !got.Retryable || len(got.Detail) != 1 {
		t.Errorf("error = %+v", got)
	}
	p.send(`{"type":"skill/call/req","id":"c2","name":"x","timeout":0}`)
	if got := recv[*a2e.ErrorMessage](p); got.ReqID != "c2" || got.Code != a2e.SchemaViolation {
		t.Errorf("error = %+v", got)
	}
	p.send(callLine("c3", "echo"))
	recv[*a2e.CallResponse](p)
}

func TestParallelCallsOnOneSession(t *testing.T) {
	f := newFake()
	p, wait := startSession(t, context.Background(), newHost(t, Options{Handler: f, MaxParallel: 4, MaxWaiting: 8}))
	const n = 50
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			p.send(callLine(fmt.Sprint(i), "events"))
		}
		p.closeWrite()
	})
	seq, answered := map[string]int{}, map[string]bool{}
	for len(answered) < n {
		switch m := p.recv().(type) {
		case *a2e.Event:
			if m.Seq != seq[m.ReqID] || answered[m.ReqID] {
				t.Errorf("event %s/%d is out of order", m.ReqID, m.Seq)
			}
			seq[m.ReqID]++
		case *a2e.CallResponse:
			if answered[m.ReqID] || seq[m.ReqID] != 3 {
				t.Errorf("answer %s: twice, or after %d events", m.ReqID, seq[m.ReqID])
			}
			answered[m.ReqID] = true
		}
	}
	wg.Wait()
	p.end()
	if err := wait(); err != nil {
		t.Errorf("Serve = %v", err)
	}
	if most := f.most.Load(); most > 4 {
		t.Errorf("%d calls ran at once, want at most 4", most)
	}
}

func TestFloodIsNotRead(t *testing.T) {
	f := newFake()
	p, _ := startSession(t, context.Background(), newHost(t, Options{Handler: f, MaxParallel: 2, MaxWaiting: 3}))
	// Two run, three wait, one is held: what comes behind stays unread, a ping too.
	for i := range 6 {
		p.send(callLine(fmt.Sprint(i), "wait"))
	}
	p.send(ping("p1"))
	testutil.Poll(t, patience, func() bool { return f.running.Load() == 2 })
	_ = p.conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if line, err := p.r.ReadBytes('\n'); err == nil {
		t.Errorf("received %s while there was no room", line)
	}
	close(f.release)
	var pongs, answers int
	for range 7 {
		switch p.recv().(type) {
		case *a2e.Pong:
			pongs++
		case *a2e.CallResponse:
			answers++
		}
	}
	if pongs != 1 || answers != 6 {
		t.Errorf("%d pongs, %d answers", pongs, answers)
	}
}

func TestLongMessagesTakeMoreRoom(t *testing.T) {
	h := newHost(t, Options{Handler: newFake(), MaxLine: 1 << 20, MaxParallel: 4, MaxWaiting: 60})
	long := `{"type":"ping","id":"` + strings.Repeat("x", 200) + `"` + strings.Repeat(" ", 1<<19) + `}`
	for line, want := range map[string]int{ping("a"): 1, long: 9} {
		s := h.newSession(newActivity(), a2e.NewDecoder(strings.NewReader(line+"\n"), 1<<20), a2e.NewEncoder(io.Discard), func(error) {})
		if _, err := s.in.Decode(); err != nil {
			t.Fatal(err)
		}
		if got := s.weight(); got != want {
			t.Errorf("weight of %d bytes = %d, want %d", len(line), got, want)
		}
	}
}

func TestNewChecksItsOptions(t *testing.T) {
	for name, opt := range map[string]Options{
		"no handler": {}, "errors": {Handler: newFake(), ErrorsAs: "both"}, "negative": {Handler: newFake(), MaxParallel: -1},
	} {
		if _, err := New(opt); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
