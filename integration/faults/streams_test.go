package faults

import (
	"context"
	"encoding/binary"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/testutil/engineproxy"
	"github.com/hotcell/hotcell/sandbox/docker"
)

func frame(stream byte, payload string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{stream, 0, 0, 0}, uint32(len(payload)))
	return append(b, payload...)
}

// attachRule does something to the stream of the next cell.
func attachRule(f engineproxy.Fault) engineproxy.Rule {
	return engineproxy.Rule{Method: "POST", Path: "/containers/*/attach", Nth: 1, Fault: f}
}

// An attach that is accepted and never answered costs the call its time, and no more.
func TestTrap03AttachNeverAnswered(t *testing.T) {
	b := newBench(t, common(), nil)
	expect(t, b.call(t, "quick", 60), "ok") // the engine's facts are known and the volumes filled
	b.proxy.Inject(attachRule(engineproxy.Fault{Silent: true}))
	expect(t, b.call(t, "quick", 3), "timeout")
	expect(t, b.call(t, "quick", 60), "ok")
}

// An answer to the wait that comes at once, as for a wrong condition, ends no call.
func TestTrap05WaitAnsweredEarly(t *testing.T) {
	b := newBench(t, rig.Merge(shell("sleeps", "", "sleep 1; echo 42")), nil)
	early := b.proxy.Inject(engineproxy.Rule{Method: "POST", Path: "/containers/*/wait", Nth: 1,
		Fault: engineproxy.Fault{Answer: &engineproxy.Answer{Status: 200, Body: `{"StatusCode":0}`}}})
	expect(t, b.call(t, "sleeps", 60), "ok")
	if early.Hits() != 1 || b.proxy.Requests("POST", "/containers/*/wait") < 2 {
		t.Errorf("%d early answers, %d waits", early.Hits(), b.proxy.Requests("POST", "/containers/*/wait"))
	}
}

// A stream that breaks within a frame, or between two, is a crash, whatever the exit code.
func TestTrap06TruncatedFrame(t *testing.T) {
	b := newBench(t, common(), nil)
	for name, after := range map[string]int64{"in a header": 3, "in a payload": 20} {
		t.Run(name, func(t *testing.T) {
			rule := b.proxy.Inject(attachRule(engineproxy.Fault{Stream: &engineproxy.Stream{After: after, Cut: true}}))
			expect(t, b.call(t, "waits", 60), "sandbox_crash/truncated")
			if rule.Hits() != 1 {
				t.Error("no stream was cut")
			}
		})
	}
}

// Headers that no engine sends end the call, and cost no memory.
func TestTrap07HostileFrames(t *testing.T) {
	b := newBench(t, common(), nil)
	for name, header := range map[string]string{
		"4 GiB":          "\x01\x00\x00\x00\xff\xff\xff\xff",
		"stream 9":       "\x09\x00\x00\x00\x00\x00\x00\x01x",
		"bytes in the 0": "\x01\x01\x00\x00\x00\x00\x00\x01x",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			rule := b.proxy.Inject(attachRule(engineproxy.Fault{Stream: &engineproxy.Stream{Insert: []byte(header)}}))
			expect(t, b.call(t, "waits", 60), "sandbox_crash/truncated")
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
				t.Errorf("%d bytes were allocated", grown)
			}
			if rule.Hits() != 1 {
				t.Error("no header was forged")
			}
			b.awaitNoCells(t)
		})
	}
}

// What an engine writes into a cell's output is neither a result nor an event of the skill's.
func TestTrap08DaemonNoise(t *testing.T) {
	b := newBench(t, common(), nil)
	noise := "Error attaching: container is not running\n"
	b.proxy.Inject(attachRule(engineproxy.Fault{Stream: &engineproxy.Stream{Insert: frame(1, noise)}}))
	var heard []*a2e.Event
	answer := b.Call(t.Context(), a2e.Caller{}, request("quick", 60), a2e.EventWriterFunc(func(_ context.Context, ev *a2e.Event) error {
		if text, _ := ev.Data["message"].(string); strings.Contains(text, "Error attaching") {
			heard = append(heard, ev)
		}
		return nil
	}))
	expect(t, answer, "ok")
	if s, _ := answer.Data.Data.(interface{ String() string }); s != nil && strings.Contains(s.String(), "attaching") {
		t.Errorf("data = %v", answer.Data.Data)
	}
	for _, ev := range heard {
		if ev.Kind != a2e.KindLog {
			t.Errorf("the engine's noise is a %s event", ev.Kind)
		}
	}
	if len(heard) != 1 {
		t.Errorf("the noise was logged %d times", len(heard))
	}
}

// A listener that does not read stalls neither the skill nor its cell, and gets everything when it reads at last.
func TestTrap09SlowConsumer(t *testing.T) {
	const lines = 5000
	b := newBench(t, shell("talks", "limits: {output: 8Mi}\n", `i=0; x=$(printf '%01000d' 0); while [ $i -lt 5000 ]; do echo $x; i=$((i+1)); done; echo '{"type":"skill/result","success":true,"data":1}'`), nil)
	heard := 0
	answer := b.listen(t.Context(), "talks", 120, func(string) {
		if heard++; heard > 1 {
			return
		}
		// The first event is not taken before the cell has come and gone.
		onEngine(func(ctx context.Context, d *docker.Driver) {
			testutil.Poll(t, hang, func() bool {
				return len(own(ctx, t, d, b.instance)) == 0
			})
		})
	})
	expect(t, answer, "ok")
	if heard < lines {
		t.Errorf("%d events were heard, want at least %d", heard, lines)
	}
}

// With one place, a cell that cannot be killed keeps it: the answer comes though the kill is blocked, the next call has no
// place, and there is one again once the kill is through.
func TestTrap22KillBlocks(t *testing.T) {
	b := newBench(t, common(), func(c *executor.Config) { c.MaxCells, c.QueueTimeout = 1, time.Second/2 })
	expect(t, b.call(t, "quick", 60), "ok")
	b.awaitNoCells(t)
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	for _, rule := range []engineproxy.Rule{{Method: "DELETE", Path: "/containers/*"}, {Method: "POST", Path: "/containers/*/kill"}} {
		rule.Fault = engineproxy.Fault{Before: engineproxy.Pause{Until: release}}
		defer b.proxy.Inject(rule).Remove()
	}
	expect(t, b.call(t, "waits", 2), "timeout")
	expect(t, b.call(t, "quick", 60), "runtime_error/queue_timeout")
	free()
	b.awaitNoCells(t)
	testutil.Poll(t, hang, func() bool { return verdict(b.call(t, "quick", 60)) == "ok" })
}
