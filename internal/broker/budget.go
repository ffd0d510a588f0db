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
	all      *budget // of the call and all that are nested in the same outermost one; nil: it is that

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
	all     *hold // in the budget of all
	price   llm.Price
	counts  bool
	in, out int64 // tokens
	cost    llm.Money
}

// reserve holds back what a request may use, or says which part of the budget does not suffice: the call's own, or that of all.
func (b *budget) reserve(q *request, rt *route, price llm.Price, priced bool) (*hold, *refusal) {
	h, refused := b.take(q, rt, defaultOutput, price, priced)
	if refused != nil || b.all == nil {
		return h, refused
	}
	if h.all, refused = b.all.take(q, rt, h.out, price, priced); refused != nil {
		h.giveBack()
		return nil, refused
	}
	return h, nil
}

// giveBack undoes take: nothing was sent.
func (h *hold) giveBack() {
	h.settle(usage{}, true)
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	h.budget.tries--
}

// take is reserve in one budget. guess is the most that is held back for an answer that nobody bounded.
func (b *budget) take(q *request, rt *route, guess int64, price llm.Price, priced bool) (*hold, *refusal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tries >= 3*b.limits.Requests+extraTries {
		return nil, forbid("requests", "%s has sent %d requests to %s, and no more are granted", b.who(), b.tries, b.provider)
	}
	h := &hold{budget: b, price: price, counts: rt.generates}
	if !rt.generates {
		b.tries++
		return h, nil
	}
	if b.requests >= b.limits.Requests {
		return nil, forbid("requests", "max_turns exceeded: %s may ask %s %d times", b.who(), b.provider, b.limits.Requests)
	}
	h.in = min(int64(q.size)/bytesAToken, maxGuess)
	left := b.limits.Tokens - b.tokens
	h.out = q.output
	if h.out == 0 && len(rt.outputs) > 0 {
		h.out = max(0, min(guess, left-h.in))
	}
	if left <= 0 || h.in+h.out > left {
		return nil, forbid("tokens", "%s has %d of its %d tokens of %s left, and the request may use %d", b.who(), max(left, 0), b.limits.Tokens, b.provider, h.in+h.out)
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

// who is the one whose budget it is: also that of all is called the call's, for it is the outermost one's.
func (b *budget) who() string {
	if b.all == nil {
		return "the outermost call, with those within it,"
	}
	return "the call"
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
		return forbid("cost", "%s has %s of %s left for %s, and the request may cost %s", b.who(), max(left, 0), b.limits.Cost, b.provider, h.cost)
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
	if h.all != nil {
		h.all.settle(u, refused)
	}
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
	if b.all != nil {
		n = b.all.spend(n)
	}
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
