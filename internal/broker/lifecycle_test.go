package broker

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/policies"
)

func TestBeforeAndAfterTheCall(t *testing.T) {
	r := newRig(t, llm.OpenAI, answerWith(chatAnswer))
	g, err := r.broker().Grant(askFor(policies.LLM{}))
	if err != nil {
		t.Fatal(err)
	}
	early := clientOf(t, g)
	refusedFor(t, r.do(early, post(t, "/v1/chat/completions", chatBody)), 403, "not_active")
	g.Activate(t.Context(), token)
	g.Activate(t.Context(), "hc-another") // a cell is one call's
	if got := r.do(early, post(t, "/v1/chat/completions", chatBody)); got.status != http.StatusOK {
		t.Errorf("got %+v", got)
	}
	g.Revoke()
	g.Revoke()
	early.CloseIdleConnections() // the broker closes it too, perhaps in the middle of the next request
	for _, c := range []*http.Client{early, clientOf(t, g)} {
		refusedFor(t, r.do(c, post(t, "/v1/chat/completions", chatBody)), 403, "ended")
	}
	g.Activate(t.Context(), token)
	refusedFor(t, r.do(clientOf(t, g), post(t, "/v1/chat/completions", chatBody)), 403, "ended")
	if n := len(r.requests()); n != 1 {
		t.Errorf("the provider got %d requests", n)
	}
}

// An end revokes what is under way: the provider is told to stop, and the cell why.
func TestTheEndStopsWhatIsUnderWay(t *testing.T) {
	for name, stop := range map[string]func(end context.CancelFunc, revoke func()){
		"revoked": func(_ context.CancelFunc, revoke func()) { revoke() }, "its context": func(end context.CancelFunc, _ func()) { end() },
	} {
		t.Run(name, func(t *testing.T) {
			begun, stopped := make(chan struct{}), make(chan struct{})
			r := newRig(t, llm.OpenAI, func(_ http.ResponseWriter, q *http.Request) {
				close(begun)
				<-q.Context().Done()
				close(stopped)
			})
			g, err := r.broker().Grant(askFor(policies.LLM{}))
			if err != nil {
				t.Fatal(err)
			}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			g.Activate(ctx, token)
			c := clientOf(t, g)
			go func() {
				<-begun
				stop(end, g.Revoke)
			}()
			refusedFor(t, r.do(c, post(t, "/v1/chat/completions", chatBody)), 403, "ended")
			<-stopped
			if e := r.diary.last(t); e["reason"] != "ended" || e["estimated"] != true || e["tokens_out"].(int64) < 1 {
				t.Errorf("audit %+v", e)
			}
		})
	}
}

func TestAnotherPortIsNotServed(t *testing.T) {
	r := newRig(t, llm.OpenAI, answerWith(chatAnswer))
	g, _ := r.grant(askFor(policies.LLM{}))
	file, err := r.broker().Grant(askFor(policies.LLM{Inject: "file"}))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Revoke()
	for port, serve := range map[string]func(string, net.Conn){"llm.other": g.Serve, "egress": g.Serve, "llm.main": file.Serve} {
		ours, theirs := net.Pipe()
		serve(port, ours)
		if _, err := theirs.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%s: %v", port, err)
		}
		theirs.Close()
	}
}

// slow is a provider whose answers take a time on a clock of their own.
type slow time.Duration

func (s slow) RoundTrip(q *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, q.Body) // it is in memory
	select {
	case <-time.After(time.Duration(s)):
	case <-q.Context().Done():
		return nil, q.Context().Err()
	}
	h := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(strings.NewReader(chatAnswer)), Request: q}, nil
}

// timed makes an active grant in front of a slow provider.
func timed(t *testing.T, takes time.Duration, limits llm.Limits, life time.Duration) *grant {
	t.Helper()
	b, err := New(Options{
		Providers:   []llm.Provider{{Name: "main", Kind: llm.OpenAI, Credential: "env:KEY", Model: "small", Limits: limits}},
		Credentials: keys{"env:KEY": realKey}, Transport: slow(takes),
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Grant(askFor(policies.LLM{}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(context.Background(), life)
	t.Cleanup(end)
	g.Activate(ctx, token)
	return g.(*grant)
}

// at sends a request over a connection of its own and returns the status.
func at(t *testing.T, g *grant) int {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	go g.Serve("llm.main", ours)
	q := post(t, "/v1/chat/completions", chatBody)
	if err := q.Write(theirs); err != nil {
		t.Error(err)
		return 0
	}
	resp, err := http.ReadResponse(bufio.NewReader(theirs), q)
	if err != nil {
		t.Error(err)
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestTheDeadlineEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := timed(t, time.Hour, llm.Limits{}, time.Minute)
		start := time.Now()
		if got := at(t, g); got != http.StatusForbidden || time.Since(start) != time.Minute {
			t.Errorf("%d after %s", got, time.Since(start))
		}
		if got := at(t, g); got != http.StatusForbidden {
			t.Errorf("afterwards %d", got)
		}
	})
}

// Requests beyond the concurrency wait for their turn; they are not refused.
func TestOnlySoManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := timed(t, 10*time.Second, llm.Limits{Concurrency: 2}, time.Hour)
		start := time.Now()
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				if got := at(t, g); got != http.StatusOK {
					t.Errorf("got %d", got)
				}
			})
		}
		all.Wait()
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("six requests of 10 s, two at once, took %s", took)
		}
	})
}

// A cell that opens connections and says nothing, or never ends its headers, doesn't keep them.
func TestSilentConnectionsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := timed(t, 0, llm.Limits{}, time.Hour)
		for said, want := range map[string]time.Duration{"": headerTime, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n": headerTime} {
			ours, theirs := net.Pipe()
			go g.Serve("llm.main", ours)
			start := time.Now()
			if _, err := io.WriteString(theirs, said); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadAll(theirs); err != nil || time.Since(start) != want {
				t.Errorf("%q: %v after %s", said, err, time.Since(start))
			}
			theirs.Close()
		}
	})
}

// Whoever doesn't read what it is told is left behind a second after the end.
func TestAnEndDoesNotWaitForTheCell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := timed(t, time.Second, llm.Limits{}, time.Minute)
		ours, theirs := net.Pipe()
		defer theirs.Close()
		start, over := time.Now(), make(chan struct{})
		go func() {
			g.Serve("llm.main", ours)
			close(over)
		}()
		if err := post(t, "/v1/chat/completions", chatBody).Write(theirs); err != nil {
			t.Fatal(err)
		}
		<-over
		if took := time.Since(start); took != time.Minute+lastWordsTime {
			t.Errorf("it took %s", took)
		}
	})
}

func TestHeadersAreBounded(t *testing.T) {
	r := newRig(t, llm.OpenAI, answerWith(chatAnswer))
	_, c := r.grant(askFor(policies.LLM{}))
	q := post(t, "/v1/chat/completions", chatBody)
	q.Header.Set("X-Large", strings.Repeat("a", 2*maxHeader))
	if got, err := send(c, q); err == nil && got.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %+v", got)
	}
	if len(r.requests()) > 0 {
		t.Error("the provider got it")
	}
}

// raw sends bytes over a connection of their own and returns all that comes back.
func raw(t *testing.T, g interface{ Serve(string, net.Conn) }, text string) string {
	t.Helper()
	ours, theirs := net.Pipe()
	var serving sync.WaitGroup
	serving.Go(func() { g.Serve("llm.main", ours) })
	defer serving.Wait()
	defer theirs.Close()
	go func() { _, _ = io.WriteString(theirs, text) }() // what isn't read is closed
	got, err := io.ReadAll(theirs)
	if err != nil {
		t.Error(err)
	}
	return string(got)
}
