package broker

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/policies"
)

// events answers with a stream and flushes after each.
func events(list ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, e := range list {
			_, _ = io.WriteString(w, e)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

const (
	chunk      = `data: {"choices":[{"index":0,"delta":{"content":"hi"}}],"usage":null}` + "\n\n"
	usageChunk = `data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":22}}` + "\n\n"
	done       = "data: [DONE]\n\n"
)

func TestStreamsCountTheirUsage(t *testing.T) {
	for name, tt := range map[string]struct {
		kind       llm.Kind
		path, body string
		stream     []string
		want, sent string
		in, out    int64
	}{
		"chat, unasked": {llm.OpenAI, "/v1/chat/completions", `{"model":"small","stream":true}`,
			[]string{chunk, usageChunk, done}, chunk + done, `{"model":"small","stream":true,"stream_options":{"include_usage":true}}`, 11, 22},
		"chat, asked": {llm.OpenAI, "/v1/chat/completions", `{"model":"small","stream":true,"stream_options":{"include_usage":true,"x":1}}`,
			[]string{chunk, usageChunk, done}, chunk + usageChunk + done, `{"model":"small","stream":true,"stream_options":{"include_usage":true,"x":1}}`, 11, 22},
		"chat, refused": {llm.Compatible, "/v1/chat/completions", `{"model":"small","stream":true,"stream_options":{"include_usage":false}}`,
			[]string{chunk, usageChunk, done}, chunk + done, `{"model":"small","stream":true,"stream_options":{"include_usage":true}}`, 11, 22},
		"chat, null": {llm.OpenAI, "/v1/chat/completions", `{"model":"small","stream":true,"stream_options":null}`,
			[]string{chunk, usageChunk, done}, chunk + done, `{"model":"small","stream":true,"stream_options":{"include_usage":true}}`, 11, 22},
		"chat, other line ends": {llm.OpenAI, "/v1/chat/completions", `{"model":"small","stream":true}`,
			[]string{"data: {\"choices\":[],\r\ndata: \"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\r\n\r\n", ": beat\n\n", done},
			": beat\n\n" + done, `{"model":"small","stream":true,"stream_options":{"include_usage":true}}`, 1, 2},
		"responses": {llm.OpenAI, "/v1/responses", `{"model":"small","stream":true}`,
			[]string{"event: response.created\ndata: {\"response\":{\"usage\":null}}\n\n", "event: response.completed\ndata: {\"response\":{\"usage\":{\"input_tokens\":5,\"output_tokens\":6}}}\n\n"},
			"", `{"model":"small","stream":true}`, 5, 6},
		"messages": {llm.Anthropic, "/v1/messages", `{"model":"small","stream":true}`,
			[]string{
				"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,\"cache_creation_input_tokens\":2,\"output_tokens\":1}}}\n\n",
				"event: content_block_delta\ndata: {\"type\":\"content_block_delta\"}\n\n",
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":9}}\n\n",
			}, "", `{"model":"small","stream":true}`, 7, 9},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tt.kind, events(tt.stream...))
			_, c := r.grant(askFor(policies.LLM{}))
			got := r.do(c, post(t, tt.path, tt.body))
			want := tt.want
			if want == "" {
				want = strings.Join(tt.stream, "")
			}
			if got.status != http.StatusOK || got.body != want || got.header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
				t.Errorf("got %d\n%s\nwant\n%s", got.status, got.body, want)
			}
			if sent := r.requests()[0].body; sent != tt.sent {
				t.Errorf("the provider got %s", sent)
			}
			if e := r.diary.last(t); e["tokens_in"] != tt.in || e["tokens_out"] != tt.out || e["estimated"] != nil {
				t.Errorf("audit %+v", e)
			}
		})
	}
}

// Each event is there before the provider goes on.
func TestEventsAreNotHeldBack(t *testing.T) {
	next := make(chan struct{})
	r := newRig(t, llm.OpenAI, func(w http.ResponseWriter, q *http.Request) {
		for range 3 {
			events(chunk)(w, q)
			<-next
		}
	})
	_, c := r.grant(askFor(policies.LLM{}))
	resp, err := c.Do(post(t, "/v1/chat/completions", `{"model":"small","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	for range 3 {
		if e, err := readEvent(in); err != nil || string(e) != chunk {
			t.Fatalf("%q, %v", e, err)
		}
		next <- struct{}{}
	}
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

// A cell that hangs up before the provider says what it cost pays all that was held back, and the provider is told to stop.
func TestAStreamThatTheCellBreaksOff(t *testing.T) {
	stopped := make(chan struct{})
	r := newRig(t, llm.OpenAI, func(w http.ResponseWriter, q *http.Request) {
		events(slices.Repeat([]string{chunk}, 10)...)(w, q)
		<-q.Context().Done()
		close(stopped)
	})
	g, c := r.grant(askFor(policies.LLM{}))
	resp, err := c.Do(post(t, "/v1/chat/completions", `{"model":"small","stream":true,"max_tokens":5000,"messages":"`+strings.Repeat("a", 400)+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 10*len(chunk))); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	<-stopped
	c.CloseIdleConnections()
	b := g.(*grant).budget
	g.(*grant).slots <- struct{}{} // all four are free: the exchange is over
	for range 3 {
		g.(*grant).slots <- struct{}{}
	}
	if b.tokens < 5000+400/4 || b.tokens > 5000+400/4+20 {
		t.Errorf("%d tokens count", b.tokens)
	}
}

// Libraries stop to read at the last word.
func TestAStreamThatTheCellLeavesAtItsEnd(t *testing.T) {
	r := newRig(t, llm.Compatible, func(w http.ResponseWriter, q *http.Request) {
		events(chunk, done)(w, q)
		<-q.Context().Done()
	})
	_, c := r.grant(askFor(policies.LLM{}))
	resp, err := c.Do(post(t, "/v1/chat/completions", `{"model":"small","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, len(chunk+done))); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if e := r.diary.wait(t, 1); e["tokens_out"].(int64) > 10 || e["estimated"] != true {
		t.Errorf("audit %+v", e)
	}
}

// What the provider breaks off must not look like an end.
func TestAStreamThatTheProviderBreaksOff(t *testing.T) {
	r := newRig(t, llm.OpenAI, func(w http.ResponseWriter, q *http.Request) {
		events(chunk)(w, q)
		panic(http.ErrAbortHandler)
	})
	_, c := r.grant(askFor(policies.LLM{}))
	if got, err := send(c, post(t, "/v1/chat/completions", `{"model":"small","stream":true}`)); err == nil || got.body != chunk {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAStreamBeyondTheBytes(t *testing.T) {
	for kind, tt := range map[llm.Kind]struct{ path, want string }{
		llm.OpenAI:    {"/v1/chat/completions", chunk + `data: {"error":{"code":"bytes","message":"hotcell: the call has used the 200 bytes`},
		llm.Anthropic: {"/v1/messages", chunk + chunk + "event: error\ndata: {\"error\":{\"code\":\"bytes\""},
	} {
		r := newRig(t, kind, events(chunk, chunk, chunk, chunk))
		r.provider.Limits.Bytes = 200
		_, c := r.grant(askFor(policies.LLM{}))
		got := r.do(c, post(t, tt.path, `{"model":"small","stream":true}`))
		if !strings.HasPrefix(got.body, tt.want) || !strings.HasSuffix(got.body, "\n\n") {
			t.Errorf("%s: got %s", kind, got.body)
		}
		if e := r.diary.last(t); e["reason"] != "bytes" || e["status"] != 200 || e["estimated"] != true {
			t.Errorf("audit %+v", e)
		}
		refusedFor(t, r.do(c, post(t, tt.path, `{"model":"small","stream":true,"a":"`+strings.Repeat("a", 100)+`"}`)), 403, "bytes")
	}
}

func FuzzReadEvent(f *testing.F) {
	for _, seed := range []string{chunk + done, "data: a\r\n\r\n", "\n\n\n", "data: x", ": c\n\ndata\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in, all := bufio.NewReaderSize(bytes.NewReader(data), 16), []byte{}
		for {
			e, err := readEvent(in)
			all = append(all, e...)
			if i := bytes.Index(e, []byte("\n\n")); i >= 0 && i < len(e)-2 {
				t.Errorf("two events in %q", e)
			}
			_ = payload(e)
			if err != nil {
				break
			}
		}
		if !bytes.Equal(all, data) {
			t.Errorf("got %q, want %q", all, data)
		}
	})
}
