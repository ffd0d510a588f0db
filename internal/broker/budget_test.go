package broker

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/policies"
)

// used answers with a usage of so many tokens.
func used(in, out int) http.HandlerFunc {
	return answerWith(fmt.Sprintf(`{"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, in, out))
}

func TestMaxTurns(t *testing.T) {
	r := newRig(t, llm.OpenAI, answerWith(chatAnswer))
	ask := askFor(policies.LLM{})
	ask.Skill.MaxTurns = 3
	_, c := r.grant(ask)
	for range 3 {
		if got := r.do(c, post(t, "/v1/chat/completions", chatBody)); got.status != http.StatusOK {
			t.Fatalf("got %+v", got)
		}
	}
	got := r.do(c, post(t, "/v1/chat/completions", chatBody))
	refusedFor(t, got, 403, "requests")
	if !strings.Contains(got.body, "max_turns exceeded: the call may ask main 3 times") {
		t.Errorf("got %s", got.body)
	}
	if n := len(r.requests()); n != 3 {
		t.Errorf("the provider got %d requests", n)
	}
}

// What a provider refuses is no turn, so that a client can try again, but not for ever.
func TestRefusedRequestsAreTriesAlone(t *testing.T) {
	r := newRig(t, llm.OpenAI, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":{"message":"slow down"}}`)
	})
	ask := askFor(policies.LLM{})
	ask.Skill.MaxTurns = 2
	g, c := r.grant(ask)
	tries := 2*3 + extraTries
	for range tries {
		if got := r.do(c, post(t, "/v1/chat/completions", chatBody)); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "0" {
			t.Fatalf("got %+v", got)
		}
	}
	refusedFor(t, r.do(c, post(t, "/v1/chat/completions", chatBody)), 403, "requests")
	if n := len(r.requests()); n != tries {
		t.Errorf("the provider got %d requests", n)
	}
	if b := g.(*grant).budget; b.requests != 0 || b.tokens != 0 {
		t.Errorf("%d requests and %d tokens count", b.requests, b.tokens)
	}
}

func TestTokens(t *testing.T) {
	r := newRig(t, llm.OpenAI, used(400, 500))
	r.provider.Limits.Tokens = 1000
	_, c := r.grant(askFor(policies.LLM{}))
	if got := r.do(c, post(t, "/v1/chat/completions", chatBody)); got.status != http.StatusOK {
		t.Fatalf("got %+v", got)
	}
	got := r.do(c, post(t, "/v1/chat/completions", `{"model":"small","max_tokens":101}`))
	refusedFor(t, got, 403, "tokens")
	if !strings.Contains(got.body, "100 of its 1000 tokens of main left, and the request may use 109") {
		t.Errorf("got %s", got.body)
	}
	if got := r.do(c, post(t, "/v1/chat/completions", `{"model":"small","max_tokens":50}`)); got.status != http.StatusOK {
		t.Errorf("got %+v", got)
	}
	refusedFor(t, r.do(c, post(t, "/v1/chat/completions", chatBody)), 403, "tokens")
}

// Requests at once hold back what they may use: they cannot spend the same tokens twice.
func TestSeveralAtOnceCannotOvershoot(t *testing.T) {
	arrived, let := make(chan struct{}, 10), make(chan struct{})
	r := newRig(t, llm.OpenAI, func(w http.ResponseWriter, q *http.Request) {
		arrived <- struct{}{}
		<-let
		used(0, 300)(w, q)
	})
	r.provider.Limits = llm.Limits{Tokens: 1000, Concurrency: 8}
	g, c := r.grant(askFor(policies.LLM{}))
	var all sync.WaitGroup
	answers := make(chan int, 8)
	ask := func() {
		got, err := send(c, post(t, "/v1/chat/completions", `{"model":"small","max_completion_tokens":300}`))
		if err != nil {
			t.Error(err)
		}
		answers <- got.status
	}
	for range 3 {
		all.Go(ask)
		<-arrived
	}
	for range 5 {
		all.Go(ask)
		if got := <-answers; got != http.StatusForbidden {
			t.Errorf("got %d", got)
		}
	}
	close(let)
	all.Wait()
	if b := g.(*grant).budget; b.tokens != 900 || len(r.requests()) != 3 {
		t.Errorf("%d tokens in %d requests", b.tokens, len(r.requests()))
	}
}

func TestCosts(t *testing.T) {
	r := newRig(t, llm.OpenAI, used(1000, 2000))
	r.provider.Prices = []llm.Price{{Models: []string{"small"}, Input: 3_000_000, Output: 15_000_000}}
	r.provider.Limits.Cost = 100_000 // 0.1
	g, c := r.grant(askFor(policies.LLM{}))
	if got := r.do(c, post(t, "/v1/chat/completions", `{"model":"small","max_tokens":2000}`)); got.status != http.StatusOK {
		t.Fatalf("got %+v", got)
	}
	if b := g.(*grant).budget; b.cost != 3_000+30_000 {
		t.Errorf("it cost %s", b.cost)
	}
	if e := r.diary.last(t); e["cost"] != json.Number("0.033") {
		t.Errorf("the audit says %v", e)
	}
	got := r.do(c, post(t, "/v1/chat/completions", `{"model":"small","max_tokens":5000}`))
	refusedFor(t, got, 403, "cost")
	if !strings.Contains(got.body, "the call has 0.067 of 0.1 left for main, and the request may cost 0.075024") {
		t.Errorf("got %s", got.body)
	}
	refusedFor(t, r.do(c, post(t, "/v1/chat/completions", `{"model":"big-1","max_tokens":1}`)), 403, "cost")
}

func TestBytes(t *testing.T) {
	r := newRig(t, llm.OpenAI, answerWith(chatAnswer))
	r.provider.Limits.Bytes = int64(len(chatBody)+len(chatAnswer)) + 10
	_, c := r.grant(askFor(policies.LLM{}))
	if got := r.do(c, post(t, "/v1/chat/completions", chatBody)); got.status != http.StatusOK {
		t.Fatalf("got %+v", got)
	}
	refusedFor(t, r.do(c, post(t, "/v1/chat/completions", chatBody)), 403, "bytes")
}

// Whatever comes in whatever order, nothing is counted twice, nothing is lost, and no sum grows beyond its bound by more
// than what the provider overshot itself.
func TestBudgetAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &budget{limits: llm.Limits{Requests: 5, Tokens: 10_000, Cost: 50_000}, provider: "p"}
		b.all = &budget{limits: b.limits, provider: "p"} // of one call alone it is the same, always
		defer func() {
			if all := b.all; all.requests != b.requests || all.tries != b.tries || all.tokens != b.tokens || all.cost != b.cost {
				t.Errorf("%+v, all: %+v", b, all)
			}
		}()
		price := llm.Price{Input: 1_000_000, Output: 4_000_000}
		rt := &routes(llm.OpenAI)[0]
		var held []*hold
		var spent, over int64
		var paid llm.Money
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "ask") {
				q := &request{size: rapid.IntRange(0, 8000).Draw(t, "size"), output: rapid.Int64Range(0, 4000).Draw(t, "output")}
				if h, refused := b.reserve(q, rt, price, true); refused == nil {
					held = append(held, h)
				}
			} else if len(held) > 0 {
				h := held[0]
				held = held[1:]
				u := usage{in: rapid.Int64Range(0, 3000).Draw(t, "in"), out: rapid.Int64Range(0, 5000).Draw(t, "out")}
				refused := rapid.Bool().Draw(t, "refused")
				h.settle(u, refused)
				if !refused {
					spent += u.in + u.out
					over += max(0, u.in+u.out-h.in-h.out)
					paid += cost(price, u.in, u.out)
				}
			}
			pending := int64(0)
			for _, h := range held {
				pending += h.in + h.out
			}
			if b.tokens != spent+pending || b.tokens > 10_000+over || b.requests > 5 || b.requests < 0 || b.cost < paid {
				t.Fatalf("%+v: spent %d, pending %d, over %d, paid %s", b, spent, pending, over, paid)
			}
		}
	})
}
