package a2ehost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
)

// link is a session on some transport. Neither end fails the test by itself.
type link interface {
	write(line string) error
	read() ([]byte, error)
	// cut leaves a request unfinished. The session is not used after it where that ends it: then cut returns false.
	cut(line string) (usable bool)
	close()
}

// transports returns, by name, how to open sessions with one host.
func transports(t *testing.T, f a2e.Handler) map[string]func() link {
	t.Helper()
	opt := Options{Handler: f, WriteTimeout: patience}
	opt.Door = "stdio"
	onStdio := newHost(t, opt)
	opt.Door = "socket"
	path, _ := serveSocket(t, newHost(t, opt))
	opt.Door = "http"
	door := serveWeb(t, newHost(t, opt), WebOptions{})
	return map[string]func() link{
		"stdio": func() link {
			in, out, _ := stdio(t, context.Background(), onStdio)
			return &lines{w: in, r: bufio.NewReader(out), end: func() { _ = in.Close(); _ = out.Close() }}
		},
		"socket": func() link {
			p := dial(t, path)
			_ = p.conn.SetDeadline(time.Now().Add(3 * patience))
			return &lines{w: p.conn.(*net.UnixConn), r: p.r, end: func() { _ = p.conn.Close() }}
		},
		"http": func() link { return &posts{webPeer: door.session("")} },
	}
}

// lines is a link of two streams.
type lines struct {
	w interface{ Write([]byte) (int, error) }
	r *bufio.Reader

	end func()
}

func (l *lines) write(line string) error { _, err := l.w.Write([]byte(line + "\n")); return err }
func (l *lines) read() ([]byte, error)   { return l.r.ReadBytes('\n') }
func (l *lines) close()                  { l.end() }
func (l *lines) cut(line string) bool {
	_, _ = l.w.Write([]byte(line[:len(line)/2]))
	l.end()
	return false
}

// posts is a link over HTTP whose stream is dropped now and then, with what is on its way.
type posts struct {
	*webPeer
	written int
}

func (p *posts) write(line string) error {
	if p.written++; p.written%7 == 0 && p.written < 60 {
		p.drop()
		p.strm, _ = p.tryConnect()
	}
	code, body := p.post(line)
	if code != 200 {
		return fmt.Errorf("%d %s", code, body)
	}
	return nil
}

func (p *posts) read() ([]byte, error) {
	for p.strm == nil {
		var code int
		if p.strm, code = p.tryConnect(); code != 0 && code != 200 {
			return nil, fmt.Errorf("GET /stream = %d", code)
		}
	}
	return p.strm.line()
}

func (p *posts) cut(line string) bool {
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.d.base, "http://"))
	if err != nil {
		return true
	}
	_, _ = fmt.Fprintf(conn, "POST /send HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s",
		sessionHeader, p.id, len(line), line[:len(line)/2])
	_ = conn.Close()
	return true
}

func (p *posts) close() { p.drop() }

// The examples of the protocol's document, verbatim.
const (
	exampleDiscover   = `{"type":"skill/discover/req","id":"sd1","version":"1.0","ts":1716123456.789,"filter_tags":["coding"],"filter_categories":[]}`
	exampleDiscovered = `{"type":"skill/discover/resp","id":"sd2","version":"1.0","ts":1716123456.900,"req_id":"sd1","skills":[{"name":"code_review","version":"1.0.0","description":"Review code for quality and security","triggers":["review code","code review"],"tools":null,"toolkits":null,"status":"Published","input_schema":{"type":"object","properties":{"code":{"type":"string"}},"required":["code"]},"output_schema":{},"instructions":"Review the provided code...","when_to_use":"Use when code needs quality review","argument_hint":"Provide the code to review","source":"system","category":"development","tags":["coding","review"],"max_turns":10,"timeout_seconds":120}]}`
	exampleCall       = `{"type":"skill/call/req","id":"sc1","version":"1.0","ts":1716123457.100,"name":"code_review","arguments":{"code":"def add(a, b): return a + b"},"correlation_id":"","timeout":60,"streaming":true,"llm_override":null,"metadata":{}}`
	exampleEvent      = `{"type":"skill/event","id":"se1","version":"1.0","ts":1716123457.200,"kind":"progress","req_id":"sc1","data":{"pct":30,"message":"Analyzing code structure..."},"seq":0}`
	exampleAnswer     = `{"type":"skill/call/resp","id":"sc2","version":"1.0","ts":1716123458.500,"req_id":"sc1","name":"code_review","data":{"success":true,"data":{"issues":[]},"summary":"No issues found","duration_ms":1400},"created_at":1716123458.500}`
)

// document is a handler that gives the document's answers.
type document struct{ t *testing.T }

func (d document) Discover(_ context.Context, _ a2e.Caller, req *a2e.DiscoverRequest) ([]a2e.Definition, error) {
	if fmt.Sprint(req.FilterTags, req.FilterCategories) != "[coding] []" {
		d.t.Errorf("filters = %q %q", req.FilterTags, req.FilterCategories)
	}
	return example[a2e.DiscoverResponse](d.t, exampleDiscovered).Skills, nil
}

func (d document) Call(ctx context.Context, _ a2e.Caller, req *a2e.CallRequest, w a2e.EventWriter) *a2e.CallResponse {
	want := example[a2e.CallRequest](d.t, exampleCall)
	if diff := cmp.Diff(want, *req); diff != "" {
		d.t.Errorf("the handler got (-want +got):\n%s", diff)
	}
	ev, answer := example[a2e.Event](d.t, exampleEvent), example[a2e.CallResponse](d.t, exampleAnswer)
	ev.Header, answer.Header, answer.CreatedAt = a2e.Header{}, a2e.Header{}, 0
	if err := w.WriteEvent(ctx, &ev); err != nil {
		d.t.Error(err)
	}
	return &answer
}

func example[T any](t *testing.T, line string) T {
	m, err := a2e.Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return *any(m).(*T)
}

func TestWireExamplesOnEveryTransport(t *testing.T) {
	for name, open := range transports(t, document{t}) {
		t.Run(name, func(t *testing.T) {
			l := open()
			defer l.close()
			for ask, answers := range map[string][]string{exampleDiscover: {exampleDiscovered}, exampleCall: {exampleEvent, exampleAnswer}} {
				if err := l.write(ask); err != nil {
					t.Fatal(err)
				}
				for _, want := range answers {
					got, err := l.read()
					if err != nil {
						t.Fatal(err)
					}
					// The example leaves out the optional arguments; ours are null.
					got = bytes.Replace(got, []byte(`"arguments":null,`), nil, 1)
					if diff := cmp.Diff(keys(t, want), keys(t, string(got))); diff != "" {
						t.Errorf("fields differ (-example +got):\n%s", diff)
					}
					if diff := cmp.Diff(unstamped(t, want), unstamped(t, string(got))); diff != "" {
						t.Errorf("values differ (-example +got):\n%s", diff)
					}
				}
			}
		})
	}
}

// keys lists a message's own fields in the order in which they stand.
func keys(t *testing.T, line string) (list []string) {
	dec := json.NewDecoder(strings.NewReader(line))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		list = append(list, key.(string))
	}
	return list
}

// unstamped is a message without what is its own: id and times.
func unstamped(t *testing.T, line string) map[string]any {
	var m map[string]any
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{"id", "ts", "created_at"} {
		delete(m, own)
	}
	return m
}

// Requests that are mixed up, sent twice, out of order or cut off: every good one is answered with what is its own, and
// nothing of one session gets into another.
func TestFaultsOnEveryTransport(t *testing.T) {
	for name, open := range transports(t, newFake()) {
		t.Run(name, func(t *testing.T) {
			var sessions sync.WaitGroup
			for n := range 4 {
				sessions.Go(func() { mischief(t, open(), fmt.Sprintf("session-%d", n), uint64(n)) })
			}
			sessions.Wait()
		})
	}
}

// mischief is one client that makes every mistake.
func mischief(t *testing.T, l link, own string, seed uint64) {
	defer l.close()
	r := rand.New(rand.NewPCG(seed, 1))
	var sent []string
	var owed = map[string]string{} // by id the line that wants an answer
	for i := range 60 {
		id := fmt.Sprintf("%s/%d", own, i)
		line := fmt.Sprintf(`{"type":"skill/call/req","id":%q,"name":%q,"arguments":{"of":%q}}`, id, []string{"echo", "events"}[r.IntN(2)], own)
		switch r.IntN(8) {
		case 0:
			line = line[:r.IntN(len(line))] + "}"
		case 1:
			line = `{"type":"skill/event","id":"` + id + `"}`
		case 2:
			line = `{"version":"3.0","type":"ping","id":"` + id + `"}`
		case 3:
			if len(sent) > 0 {
				line = sent[r.IntN(len(sent))]
			}
		default:
			sent, owed[id] = append(sent, line), line
		}
		if err := l.write(line); err != nil {
			t.Errorf("%s: %v", own, err)
			return
		}
	}
	for tries := 0; len(owed) > 0 && tries < 1000; tries++ {
		end := fmt.Sprintf("%s/end-%d", own, tries)
		if err := l.write(ping(end)); err != nil {
			t.Errorf("%s: %v", own, err)
			return
		}
		for ended := false; len(owed) > 0 && !ended; {
			line, err := l.read()
			if err != nil {
				t.Errorf("%s: %v", own, err)
				return
			}
			hearken(t, line, own, owed)
			ended = bytes.Contains(line, []byte(end))
		}
		for _, line := range owed { // what was on its way when a stream was dropped is asked for again
			if err := l.write(line); err != nil {
				t.Errorf("%s: %v", own, err)
			}
		}
	}
	if len(owed) > 0 {
		t.Errorf("%s: no answer to %d calls", own, len(owed))
	}
	if l.cut(callLine(own+"/cut", "echo")) {
		if err := l.write(ping(own + "/last")); err != nil {
			t.Errorf("%s: after a request that was cut off: %v", own, err)
		}
	}
}

func hearken(t *testing.T, line []byte, own string, owed map[string]string) {
	m, err := a2e.Parse(line)
	if err != nil {
		t.Errorf("%s: host said %s: %v", own, line, err)
		return
	}
	var reqID string
	switch m := m.(type) {
	case *a2e.CallResponse:
		reqID = m.ReqID
		args, _ := m.Data.Data.(map[string]any)
		if m.Data.Success && args["of"] != own {
			t.Errorf("%s: answer %s", own, line)
		}
		if m.Data.Success {
			delete(owed, m.ReqID)
		}
	case *a2e.Event:
		reqID = m.ReqID
	case *a2e.ErrorMessage:
		reqID = m.ReqID
	case *a2e.Pong:
		reqID = m.ReqID
	}
	if reqID != "" && !strings.HasPrefix(reqID, own+"/") {
		t.Errorf("%s: heard %s", own, line)
	}
}

// A line that some clients would break is one event all the same.
func TestEventsAreOneLineForEveryClient(t *testing.T) {
	p, err := pack(&a2e.Event{Data: map[string]any{"message": "a\u0085b\u2028c\u2029d\re\x1cf"}})
	if err != nil || bytes.ContainsAny(p.line, "\u0085\u2028\u2029\r\x1c") || p.answer {
		t.Errorf("line = %q, %v", p.line, err)
	}
	if got := example[a2e.Event](t, string(p.line)); got.Data["message"] != "a\u0085b\u2028c\u2029d\re\x1cf" {
		t.Errorf("message = %q", got.Data["message"])
	}
	var bad *a2e.EncodeError
	if _, err := pack(&a2e.Event{Data: map[string]any{"x": func() {}}}); !errors.As(err, &bad) {
		t.Errorf("what has no JSON form: %v", err)
	}
}
