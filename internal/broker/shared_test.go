package broker

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/policies"
)

// A call and all that are nested in it have one budget: a skill that uses others as tools gets no more than one that asks by
// itself.
func TestNestedCallsHaveNoBudgetOfTheirOwn(t *testing.T) {
	const body = `{"model":"small","max_tokens":300}`
	for name, tt := range map[string]struct {
		limits llm.Limits
		reason string
		says   string
	}{
		"requests": {llm.Limits{Requests: 3}, "requests", "the outermost call, with those within it, may ask main 3 times"},
		"tokens":   {llm.Limits{Tokens: 1000}, "tokens", "the outermost call, with those within it, has 100 of its 1000 tokens of main left"},
		"cost":     {llm.Limits{Cost: 1000}, "cost", "the outermost call, with those within it, has 0.0001 of 0.001 left for main"},
		"bytes":    {llm.Limits{Bytes: 3*int64(len(body)+len(`{"usage":{"prompt_tokens":100,"completion_tokens":200}}`)) + 8}, "bytes", "for main"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, llm.OpenAI, used(100, 200))
			r.provider.Prices, r.provider.Limits = []llm.Price{{Models: []string{"*"}, Input: 1_000_000, Output: 1_000_000}}, tt.limits
			around := askFor(policies.LLM{})
			around.Outer = &service.Outermost{}
			inner := around
			inner.Chain = []string{"sk"}
			_, first := r.grant(around)
			for i, nested := range []bool{false, true, true} {
				c := first
				if nested {
					_, c = r.grant(inner) // each in a call of its own
				}
				if got := r.do(c, post(t, "/v1/chat/completions", body)); got.status != http.StatusOK {
					t.Fatalf("request %d: %+v", i, got)
				}
			}
			_, last := r.grant(inner)
			got := r.do(last, post(t, "/v1/chat/completions", body))
			refusedFor(t, got, 403, tt.reason)
			if !strings.Contains(got.body, tt.says) {
				t.Errorf("got %s", got.body)
			}
			refusedFor(t, r.do(first, post(t, "/v1/chat/completions", body)), 403, tt.reason)
			if n := len(r.requests()); n != 3 {
				t.Errorf("the provider got %d requests", n)
			}
			around.Outer = &service.Outermost{}
			_, other := r.grant(around)
			if got := r.do(other, post(t, "/v1/chat/completions", body)); got.status != http.StatusOK {
				t.Errorf("another call: %+v", got)
			}
		})
	}
}

// A nested skill's own max_turns holds within what is left for all, and what it is refused by it costs the others nothing.
func TestANestedSkillKeepsItsMaxTurns(t *testing.T) {
	r := newRig(t, llm.OpenAI, used(1, 1))
	r.provider.Limits.Requests = 4
	ask := askFor(policies.LLM{})
	ask.Outer = &service.Outermost{}
	outer, first := r.grant(ask)
	modest := askFor(policies.LLM{})
	modest.Outer, modest.Skill.MaxTurns = ask.Outer, 1
	_, second := r.grant(modest)
	for i, c := range []*http.Client{second, second, first, first, first, first} {
		got := r.do(c, post(t, "/v1/chat/completions", chatBody))
		if refuse := i == 1 || i == 5; refuse != (got.status == http.StatusForbidden) {
			t.Errorf("request %d: %+v", i, got)
		}
	}
	own := outer.(*grant).budget
	if own.requests != 3 || own.tries != 3 || own.tokens != 6 || own.all.requests != 4 || own.all.tries != 4 || own.all.tokens != 8 {
		t.Errorf("%d requests, %d tries, %d tokens; all: %d, %d, %d", own.requests, own.tries, own.tokens, own.all.requests, own.all.tries, own.all.tokens)
	}
}

// Nested calls at once cannot overshoot together, nor have more requests under way.
func TestNestedCallsAtOnce(t *testing.T) {
	const most = 2
	arrived, let := make(chan struct{}, 16), make(chan struct{})
	answer := used(10, 10)
	r := newRig(t, llm.OpenAI, func(w http.ResponseWriter, q *http.Request) {
		arrived <- struct{}{}
		<-let
		answer(w, q)
	})
	r.provider.Limits = llm.Limits{Concurrency: most, Requests: 5}
	ask := askFor(policies.LLM{})
	ask.Outer = &service.Outermost{}
	var all sync.WaitGroup
	answers := make(chan string, 8)
	for range 8 {
		_, c := r.grant(ask)
		all.Go(func() {
			got, err := send(c, post(t, "/v1/chat/completions", chatBody))
			answers <- fmt.Sprint(got.status, err)
		})
	}
	for range most {
		<-arrived
	}
	if n := len(r.requests()); n != most {
		t.Errorf("%d requests at once", n)
	}
	close(let)
	all.Wait()
	close(answers)
	count := map[string]int{}
	for a := range answers {
		count[a]++
	}
	if count["200 <nil>"] != 5 || count["403 <nil>"] != 3 || len(r.requests()) != 5 {
		t.Errorf("%v, %d requests", count, len(r.requests()))
	}
}
