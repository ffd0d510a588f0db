package mcphost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// pipe is a client on stdio that can say anything.
type pipe struct {
	t     *testing.T
	w     *io.PipeWriter
	r     *bufio.Reader
	out   *io.PipeReader
	stop  context.CancelFunc
	ended chan error
}

func newPipe(t *testing.T, r *rig) *pipe {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	p := &pipe{t: t, w: toServer, r: bufio.NewReaderSize(fromServer, 1<<20), out: fromServer, ended: make(chan error, 1)}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		err := r.ServeStdio(ctx, fromClient, toClient, alice)
		_ = toClient.Close()
		p.ended <- err
	})
	late := time.AfterFunc(2*time.Minute, func() { _ = fromServer.Close(); _ = toServer.Close() }) // no test waits for ever
	t.Cleanup(func() { late.Stop() })
	t.Cleanup(func() { _ = fromServer.Close(); _ = toServer.Close(); serving.Wait(); p.stop() })
	return p
}

// hello opens the session.
func (p *pipe) hello() *pipe {
	p.t.Helper()
	p.send(hello)
	p.answer(1)
	p.send(ready)
	return p
}

func (p *pipe) send(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(p.w, line+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

type reply struct {
	ID     any
	Method string
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// next reads one message, which must be a whole line.
func (p *pipe) next() (m reply) {
	p.t.Helper()
	line, err := p.r.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &m) != nil {
		p.t.Fatalf("%q, %v", line, err)
	}
	return m
}

// answer reads up to the answer of a request.
func (p *pipe) answer(id any) reply {
	p.t.Helper()
	for {
		if m := p.next(); fmt.Sprint(m.ID) == fmt.Sprint(id) && m.Method == "" {
			return m
		}
	}
}

func TestLinesThatAreNoMessages(t *testing.T) {
	p := newPipe(t, newRig(t, skill("a"))).hello()
	for _, c := range []struct {
		line string
		code int
	}{
		{"{", -32700}, {"hello", -32700}, {"\xff", -32700}, {strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), -32700}, {`{"a":1} {"b":2}`, -32700},
		{"{}", -32600}, {"7", -32600}, {"null", -32600}, {"[]", -32600}, {"[" + ask + "]", -32600}, {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600}, {`{"jsonrpc":"2.0","id":1}`, -32600},
	} {
		p.send("", " \r", c.line)
		if m := p.next(); m.Error == nil || m.Error.Code != c.code || m.ID != nil {
			t.Errorf("%.40s: %+v", c.line, m)
		}
	}
	p.send(`{"jsonrpc":"2.0","id":"x","result":{}}`, `{"jsonrpc":"2.0","method":"notifications/nonsense"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, ask)
	if m := p.answer(2); !strings.Contains(string(m.Result), `"name":"a"`) {
		t.Errorf("afterwards: %+v", m)
	}
}

func TestLinesThatAreTooLong(t *testing.T) {
	r := answering(t, func(_ context.Context, req *a2e.CallRequest, _ say) *a2e.CallResponse {
		return done(map[string]any{"n": len(req.Arguments["x"].(string))})
	})
	p := newPipe(t, r).hello()
	args := func(n int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"x":%q}}}`, strings.Repeat("x", n))
	}
	p.send(args(MaxBody))
	if m := p.next(); m.Error == nil || m.Error.Code != -32600 || !strings.Contains(m.Error.Message, "longer than") {
		t.Errorf("%+v", m)
	}
	p.send(args(4 << 20))
	if m := p.answer(7); !strings.Contains(string(m.Result), `"n":4194304`) {
		t.Errorf("%+v", m)
	}
}

func TestManyFaultsInARow(t *testing.T) {
	p := newPipe(t, newRig(t, skill("a"))).hello()
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(io.Discard, p.r) })
	for range mostFaults - 1 {
		p.send("{")
	}
	p.send(ask, "{", ask)
	for range mostFaults {
		p.send("}")
	}
	if err := <-p.ended; !errors.Is(err, ErrFaults) {
		t.Errorf("ended with %v", err)
	}
	reading.Wait()
}

// A list of messages is taken where the revision has them, and its answers are a list.
func TestBatches(t *testing.T) {
	p := newPipe(t, newRig(t, skill("a")))
	p.send(strings.Replace(hello, "2025-11-25", "2025-03-26", 1))
	p.answer(1)
	p.send(ready, `[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":6,"method":"tools/list"}]`)
	line, err := p.r.ReadBytes('\n')
	var list []reply
	if err != nil || json.Unmarshal(line, &list) != nil || len(list) != 2 || list[0].Error != nil || list[1].Error != nil {
		t.Errorf("%s, %v", line, err)
	}
	for _, bad := range []string{`[1]`, `[]`, "[" + ask + "," + ask + "]", "[" + ready + "," + ready + "]", "[" + strings.TrimSuffix(strings.Repeat(ask+",", 65), ",") + "]"} {
		p.send(bad)
		if m := p.next(); m.Error == nil || m.Error.Code != -32600 {
			t.Errorf("%.40s: %+v", bad, m)
		}
	}
	p.send(ask)
	p.answer(2)
}

// An id that is in use is refused, and the request that has it is answered all the same.
func TestIdsInUse(t *testing.T) {
	release := make(chan struct{})
	r := answering(t, func(context.Context, *a2e.CallRequest, say) *a2e.CallResponse { <-release; return done("x") })
	p := newPipe(t, r).hello()
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}`
	p.send(call, call)
	if m := p.next(); m.ID != nil || m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("%+v", m)
	}
	close(release)
	if m := p.next(); fmt.Sprint(m.ID) != "7" || m.Error != nil {
		t.Errorf("%+v", m)
	}
	p.send(call)
	p.answer(7)
	if len(r.exec.reqs) != 2 {
		t.Errorf("%d calls", len(r.exec.reqs))
	}
}

// More requests than there is room for wait, and are all answered.
func TestMoreRequestsThanRoom(t *testing.T) {
	p := newPipe(t, newRig(t, skill("a"))).hello()
	const many = 4 * maxUnanswered
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range many {
			_, _ = fmt.Fprintf(p.w, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i+10)
		}
	})
	seen := map[string]bool{}
	for range many {
		seen[fmt.Sprint(p.next().ID)] = true
	}
	sending.Wait()
	if len(seen) != many {
		t.Errorf("%d answers", len(seen))
	}
}

// The end of what the client says ends its calls, and those that have not begun.
func TestAClientThatHangsUp(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	r := answering(t, func(ctx context.Context, _ *a2e.CallRequest, _ say) *a2e.CallResponse {
		close(started)
		<-ctx.Done()
		close(ended)
		return failed(a2e.Errorf(a2e.RuntimeError, "cancelled"))
	})
	p := newPipe(t, r).hello()
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`)
	<-started
	_ = p.w.Close()
	<-ended
	if err := <-p.ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

// The end of the server's own context closes the session; a last line without an end counts.
func TestTheServerStops(t *testing.T) {
	ended := make(chan struct{})
	r := answering(t, func(ctx context.Context, _ *a2e.CallRequest, say say) *a2e.CallResponse {
		<-ctx.Done()
		close(ended)
		return done("late")
	})
	p := newPipe(t, r).hello()
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`)
	testutil.Poll(t, time.Minute, func() bool { r.exec.mu.Lock(); defer r.exec.mu.Unlock(); return len(r.exec.reqs) == 1 })
	p.stop()
	<-ended
	p.answer(2) // it still gets out
	if err := <-p.ended; err != nil {
		t.Errorf("ended with %v", err)
	}

	var out bytes.Buffer
	if err := r.ServeStdio(t.Context(), strings.NewReader(hello), &out, alice); err != nil || !strings.Contains(out.String(), "serverInfo") && out.Len() > 0 {
		t.Errorf("%v %s", err, out.String())
	}
}

// A client that takes nothing any more is given up, in its time.
func TestAClientThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, skill("a"))
		p := newPipe(t, r)
		p.send(hello)
		start := time.Now()
		if err := <-p.ended; !errors.Is(err, ErrStalled) || time.Since(start) != stallsAfter {
			t.Errorf("ended with %v after %v", err, time.Since(start))
		}
		_ = p.out.Close()
		_ = p.w.Close()
		r.Close()
	})
}

// stdout carries nothing but whole lines of the protocol, whatever goes on at once.
func TestNothingButTheProtocol(t *testing.T) {
	r := answering(t, func(_ context.Context, _ *a2e.CallRequest, say say) *a2e.CallResponse {
		for i := range 20 {
			say(a2e.KindProgress, map[string]any{"pct": i, "message": "a\nb\u2028c"})
			say(a2e.KindLog, map[string]any{"level": "error", "message": "x\r\n"})
		}
		return done("multi\nline")
	})
	p := newPipe(t, r).hello()
	p.send(`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"debug"}}`)
	p.answer(3)
	const calls = 20
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() {
		for i := range calls {
			_, _ = fmt.Fprintf(p.w, `{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"echo","_meta":{"progressToken":%d}}}`+"\n{\n", i, i)
		}
	})
	counts := map[string]int{}
	for counts["result"] < calls || counts["null"] < calls {
		m := p.next()
		switch {
		case m.Method != "":
			counts[m.Method]++
		case m.ID == nil:
			counts["null"]++
		default:
			counts["result"]++
		}
	}
	want := map[string]int{"result": calls, "null": calls, "notifications/progress": 20 * calls, "notifications/message": 20 * calls}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{hello, ask, "{\n[]\n", "[" + ask + "]", "\r\n\xff\n7", strings.Repeat("{", 50)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		var out bytes.Buffer
		l := newLines(bytes.NewReader(stream), &out)
		l.batch = true
		passed, err := io.ReadAll(l)
		if err != nil && !errors.Is(err, ErrFaults) {
			t.Fatal(err)
		}
		for line := range bytes.Lines(passed) {
			if !json.Valid(line) {
				t.Errorf("%q went through", line)
			}
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("answered %q", line)
			}
		}
	})
}
