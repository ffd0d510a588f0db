package broker

import (
	"fmt"
	"sync"

	"github.com/hotcell/hotcell/internal/llm"
)

// What is held back for a request of which less is known.
const (
	maxGuess      = 32 << 10 // tokens of a request's input, at a quarter of its bytes
	defaultOutput = 8 << 10  // tokens of an answer that nobody bounded
	bytesAToken   = 4
	extraTries    = 20 // requests that count for nothing else, beside thrice the call's requests
)

// budget is what a call may still use of a provider.
type budget struct {
	limits   llm.Limits
	provider string

	mu       sync.Mutex
	requests int   // that generated something, or are about to
	tries    int   // of any kind that went to the provider
	tokens   int64 // used and held back
	cost     llm.Money
	bytes    int64
}

// hold is what is kept back for one request until it is known what it used.
type hold struct {
	budget  *budget
	price   llm.Price
	counts  bool
	in, out int64 // tokens
	cost    llm.Money
}

// reserve holds back what a request may use, or says which part of the budget does not suffice.
func (b *budget) reserve(q *request, rt *route, price llm.Price, priced bool) (*hold, *refusal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tries >= 3*b.limits.Requests+extraTries {
		return nil, forbid("requests", "the call has sent %d requests to %s, and no more are granted", b.tries, b.provider)
	}
	h := &hold{budget: b, price: price, counts: rt.generates}
	if !rt.generates {
		b.tries++
		return h, nil
	}
	if b.requests >= b.limits.Requests {
		return nil, forbid("requests", "max_turns exceeded: the call may ask %s %d times", b.provider, b.limits.Requests)
	}
	h.in = min(int64(q.size)/bytesAToken, maxGuess)
	left := b.limits.Tokens - b.tokens
	h.out = q.output
	if h.out == 0 && len(rt.outputs) > 0 {
		h.out = max(0, min(defaultOutput, left-h.in))
	}
	if left <= 0 || h.in+h.out > left {
		return nil, forbid("tokens", "the call has %d of its %d tokens of %s left, and the request may use %d", max(left, 0), b.limits.Tokens, b.provider, h.in+h.out)
	}
	if refused := b.afford(h, priced); refused != nil {
		return nil, refused
	}
	b.tries++
	b.requests++
	b.tokens += h.in + h.out
	b.cost += h.cost
	return h, nil
}

// afford holds back the money.
func (b *budget) afford(h *hold, priced bool) *refusal {
	if b.limits.Cost == 0 {
		return nil
	}
	if !priced {
		return forbid("cost", "the call's costs are bounded, and provider %s has no price for this model", b.provider)
	}
	h.cost = cost(h.price, h.in, h.out)
	if left := b.limits.Cost - b.cost; h.cost > left || left == 0 {
		return forbid("cost", "the call has %s of %s left for %s, and the request may cost %s", max(left, 0), b.limits.Cost, b.provider, h.cost)
	}
	return nil
}

const million = 1_000_000

// cost rounds up. Both factors are bounded, so that nothing overflows: prices by their reader, counts by [clampTokens].
func cost(p llm.Price, in, out int64) llm.Money {
	of := func(price llm.Money, n int64) llm.Money {
		whole, rest := int64(price)/million, int64(price)%million
		return llm.Money(whole*n + (rest*n+million-1)/million)
	}
	return of(p.Input, in) + of(p.Output, out)
}

// settle replaces what was held back by what was used. A request that the provider refused counts as a try alone.
func (h *hold) settle(u usage, refused bool) {
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if !h.counts {
		return
	}
	b.tokens -= h.in + h.out
	b.cost -= h.cost
	if refused {
		b.requests--
		return
	}
	b.tokens += u.in + u.out
	if b.limits.Cost > 0 {
		b.cost += cost(h.price, u.in, u.out)
	}
}

// spend counts bytes of requests and answers, as far as there are any left, and returns how many that are.
func (b *budget) spend(n int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n = max(0, min(n, b.limits.Bytes-b.bytes))
	b.bytes += n
	return n
}

func (b *budget) overBytes() *refusal {
	return forbid("bytes", "the call has used the %s of requests and answers that are granted for %s", size(b.limits.Bytes), b.provider)
}

func size(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
