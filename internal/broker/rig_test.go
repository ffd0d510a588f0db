package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/policies"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	realKey = "sk-real-Zq8/w+31=Vx_canary-77"
	token   = "hc-0123456789abcdef"
)

// keys is a place for credentials.
type keys map[string]string

func (k keys) Resolve(ref string) ([]byte, error) {
	if v, ok := k[ref]; ok {
		return []byte(v), nil
	}
	return nil, fmt.Errorf("%s: there is no such variable in hotcell's environment", ref)
}

// diary keeps what the audit is told.
type diary struct {
	mu      sync.Mutex
	entries []audit.Entry
}

func (d *diary) Write(e audit.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, e)
}

// wait returns the last entry once there are so many: a client that has read enough may be ahead of the broker.
func (d *diary) wait(t *testing.T, n int) map[string]any {
	t.Helper()
	testutil.Poll(t, 10*time.Second, func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.entries) >= n
	})
	return d.last(t)
}

func (d *diary) last(t *testing.T) map[string]any {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.entries) == 0 {
		t.Fatal("nothing is in the audit")
	}
	e := d.entries[len(d.entries)-1]
	if e.Call != "call-1" || e.Kind != "llm.request" || e.At.IsZero() {
		t.Errorf("entry %+v", e)
	}
	return e.Data
}

// rig is a broker in front of a made-up provider.
type rig struct {
	t        *testing.T
	provider llm.Provider
	keys     keys
	baseURLs []string
	diary    *diary
	handler  http.HandlerFunc

	mu   sync.Mutex
	seen []*seen
}

// seen is a request as the provider got it.
type seen struct {
	method, path, query, host string
	header                    http.Header
	body                      string
}

func newRig(t *testing.T, kind llm.Kind, answer http.HandlerFunc) *rig {
	r := &rig{t: t, diary: &diary{}, handler: answer, keys: keys{"env:KEY": realKey}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body) // what is cut short shows in the test
		r.mu.Lock()
		r.seen = append(r.seen, &seen{q.Method, q.URL.Path, q.URL.RawQuery, q.Host, q.Header, string(body)})
		r.mu.Unlock()
		q.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, q)
	}))
	t.Cleanup(srv.Close)
	base := srv.URL
	if kind != llm.Anthropic {
		base += "/v1"
	}
	r.provider = llm.Provider{Name: "main", Kind: kind, BaseURL: base, Credential: "env:KEY", Model: "small", Models: []string{"small", "big-*"}}
	return r
}

func (r *rig) requests() []*seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*seen(nil), r.seen...)
}

func (r *rig) broker() *Broker {
	r.t.Helper()
	b, err := New(Options{Providers: []llm.Provider{r.provider}, BaseURLs: r.baseURLs, Credentials: r.keys, Log: r.diary})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(b.Close)
	return b
}

func askFor(wish policies.LLM) service.Ask {
	skill := &skills.Skill{Name: "sk", Policy: policies.Policy{LLM: &wish}}
	granted := wish
	if granted.Inject == "" {
		granted.Inject = policies.InjectBroker
	}
	return service.Ask{Call: "call-1", Skill: skill, Policy: policies.Effective{LLM: &granted}}
}

// grant makes an active grant and a client that speaks through it.
func (r *rig) grant(ask service.Ask) (service.Grant, *http.Client) {
	r.t.Helper()
	g, err := r.broker().Grant(ask)
	if err != nil {
		r.t.Fatal(err)
	}
	g.Activate(r.t.Context(), token)
	r.t.Cleanup(g.Revoke)
	return g, clientOf(r.t, g)
}

// clientOf speaks HTTP with a grant over pipes, as a cell does over its tunnel.
func clientOf(t *testing.T, g service.Grant) *http.Client {
	var serving sync.WaitGroup
	transport := &http.Transport{DisableCompression: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		serving.Go(func() { g.Serve("llm.main", ours) })
		return theirs, nil
	}}
	t.Cleanup(func() {
		g.Revoke()
		transport.CloseIdleConnections()
		serving.Wait()
	})
	return &http.Client{Transport: transport}
}

// reply is what a cell gets.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r *rig) do(c *http.Client, q *http.Request) reply {
	r.t.Helper()
	got, err := send(c, q)
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

func send(c *http.Client, q *http.Request) (reply, error) {
	resp, err := c.Do(q)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(body)}, err
}

func post(t *testing.T, path, body string) *http.Request {
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://cell"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+token)
	return q
}

// refusedFor checks that an answer is a refusal for that reason, which tells clients not to try again.
func refusedFor(t *testing.T, got reply, status int, reason string) {
	t.Helper()
	var e struct {
		Error struct{ Message, Type, Code string }
	}
	err := json.Unmarshal([]byte(got.body), &e)
	if err != nil || got.status != status || e.Error.Code != reason || got.header.Get("X-Should-Retry") != "false" ||
		!strings.HasPrefix(e.Error.Message, "hotcell: ") || e.Error.Type == "" {
		t.Errorf("got %d %s %v, want %d %s", got.status, got.body, got.header, status, reason)
	}
}

const (
	chatBody   = `{"model":"small","messages":[{"role":"user","content":"hi"}]}`
	chatAnswer = `{"id":"c1","object":"chat.completion","created":1,"model":"small","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hello"}}],"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}}`
)

func answerWith(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}
