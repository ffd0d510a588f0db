package broker

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hotcell/hotcell/internal/llm"
)

// exchange is one request of a cell and its answer.
type exchange struct {
	g         *grant
	w         http.ResponseWriter
	r         *http.Request
	ctx       context.Context // ends with the request, the connection and the call
	route     *route
	q         *request
	body      []byte // what goes to the provider
	key       string
	forms     [][]byte
	used      usage
	looksLike int64 // tokens of the answer, by its size
	rec       record
	cut       bool // the answer is not there to its end, so that nobody knows what it cost
	abort     bool // the answer broke off: so must what the cell sees
}

// ServeHTTP implements http.Handler.
func (g *grant) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{g: g, w: w, r: r, ctx: r.Context(), rec: record{began: time.Now()}}
	if refused := x.run(); refused != nil {
		x.rec.status, x.rec.reason = refused.status, refused.reason
		x.rec.bytes += refused.send(w, g.plan.to.Kind)
	}
	x.rec.used = x.used
	g.keep(&x.rec)
	if x.abort {
		panic(http.ErrAbortHandler)
	}
}

// run is the whole of it, in order: who asks, for what, with what, may they still, and then the provider's answer.
func (x *exchange) run() *refusal {
	if refused := x.g.entitled(x.r.Header); refused != nil {
		return refused
	}
	rt, refused := x.g.find(x.r)
	if refused != nil {
		return refused
	}
	x.route, x.rec.endpoint = rt, rt.path
	if refused := x.g.wait(x.ctx); refused != nil { // before the body: what is held at once is bounded so
		return refused
	}
	defer x.g.leave()
	if rt.method == http.MethodGet {
		return x.models()
	}
	if refused := x.read(); refused != nil {
		return refused
	}
	price, priced := x.g.plan.to.Price(x.q.model)
	x.rec.price, x.rec.priced = price, priced
	held, refused := x.g.budget.reserve(x.q, rt, price, priced)
	if refused != nil {
		return refused
	}
	return x.ask(held)
}

// read reads and checks the body.
func (x *exchange) read() *refusal {
	if refused := checkContent(x.r); refused != nil {
		return refused
	}
	data, refused := readBody(x.r.Body)
	if refused != nil {
		return refused
	}
	if refused := x.parse(data); refused != nil {
		return refused
	}
	if !x.g.plan.allows(x.q.model) {
		return forbid("model", "model %q is not granted: the call may use %s", clip(x.q.model), x.g.plan.models())
	}
	x.rec.model = x.q.model
	return nil
}

// parse checks a body and makes of it what goes to the provider. Large ones wait for each other, whichever call they are of:
// parsed they take many times their size.
func (x *exchange) parse(data []byte) (refused *refusal) {
	if len(data) > largeBody {
		select {
		case x.g.broker.large <- struct{}{}:
			defer func() { <-x.g.broker.large }()
		case <-x.ctx.Done():
			return forbid("ended", "the call or the connection has ended")
		}
	}
	if x.q, refused = parseRequest(data, x.route); refused != nil {
		return refused
	}
	x.body, refused = x.q.bytes(x.route)
	x.q.fields = nil
	return refused
}

// ask sends the request and passes the answer on. What was held back for it is settled in any case.
func (x *exchange) ask(held *hold) *refusal {
	refused := x.count(int64(len(x.body)))
	if refused == nil {
		refused = x.unlock()
	}
	if refused != nil {
		held.settle(usage{}, true)
		return refused
	}
	resp, refused := x.send(x.body)
	if refused != nil {
		x.settle(held, refused.reason == "ended", refused.reason != "ended")
		return refused
	}
	defer resp.Body.Close()
	refused = x.answer(resp)
	x.settle(held, (refused != nil || x.cut) && !x.used.known(), resp.StatusCode >= http.StatusMultipleChoices)
	return refused
}

// settle replaces what was held back. A request that was broken off before the provider said what it used has cost what
// nobody knows, thoughts above all that no stream shows: all that was held back counts, and more where more came.
func (x *exchange) settle(held *hold, lost, refused bool) {
	if !x.route.generates || refused {
		held.settle(usage{}, refused)
		return
	}
	if lost {
		x.used = usage{in: max(x.used.in, held.in), out: max(x.used.out, held.out), guessed: true, partial: true}
	}
	x.used.guess(held, x.looksLike)
	held.settle(x.used, false)
}

// count takes bytes of the budget.
func (x *exchange) count(n int64) *refusal {
	if x.g.budget.spend(n) < n {
		return x.g.budget.overBytes()
	}
	x.rec.bytes += n
	return nil
}

// unlock gets the credential, as it is now.
func (x *exchange) unlock() *refusal {
	key, err := x.g.plan.key()
	if err != nil {
		return broken("credential", "provider %s is not available: its credential is gone; the operator must look at it", x.g.plan.to.Name)
	}
	x.key, x.forms = key, keyForms(key)
	return nil
}

// send sends a request to the provider. Redirects are not followed: the transport follows none.
func (x *exchange) send(body []byte) (*http.Response, *refusal) {
	name := x.g.plan.to.Name
	req, err := x.outgoing(body)
	if err != nil {
		return nil, broken("provider", "the request to provider %s could not be made", name)
	}
	resp, err := x.g.broker.transport.RoundTrip(req)
	switch {
	case err != nil && (x.ctx.Err() != nil || errors.Is(err, context.Canceled)):
		return nil, forbid("ended", "the call or the connection has ended")
	case err != nil:
		x.rec.cause = cause(err, x.forms)
		r := broken("provider", "provider %s cannot be reached", name)
		r.retry = true
		return nil, r
	}
	return resp, nil
}

// models are those that the call may use.
func (p *plan) models() string {
	if p.only != "" {
		return p.only
	}
	return join(p.to.Models)
}

func (p *plan) anthropic() bool { return p.to.Kind == llm.Anthropic }
