package broker

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// maxAnswer bounds an answer that is no stream: it is held whole, so that its usage is known before the cell has it.
const maxAnswer = 16 << 20

// answer passes a provider's answer on.
func (x *exchange) answer(resp *http.Response) *refusal {
	x.rec.status = resp.StatusCode
	if refused := x.unfit(resp); refused != nil {
		return refused
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // what is none is no stream
	if media == "text/event-stream" && resp.StatusCode == http.StatusOK {
		x.stream(resp)
		return nil
	}
	data, refused := x.whole(resp)
	if refused != nil {
		return refused
	}
	if resp.StatusCode < http.StatusBadRequest {
		x.used.add(readReport(data), x.g.plan.to.Kind)
		data = redact(data, x.forms)
	} else {
		data = redactError(data, x.forms)
	}
	return x.reply(resp, data)
}

// unfit says why an answer cannot be passed on at all.
func (x *exchange) unfit(resp *http.Response) *refusal {
	name := x.g.plan.to.Name
	switch enc := resp.Header.Get("Content-Encoding"); {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return broken("redirect", "provider %s answered with a redirect, which is not followed", name)
	case resp.StatusCode == http.StatusUnauthorized:
		return broken("credential", "provider %s refused the credential of this call: %s", name, x.g.plan.whose())
	case resp.StatusCode < 200:
		return broken("provider", "provider %s answered with status %d", name, resp.StatusCode)
	case enc != "" && enc != "identity":
		return broken("provider", "provider %s packed its answer, which was not asked for", name)
	}
	return nil
}

// whole reads an answer within the budget.
func (x *exchange) whole(resp *http.Response) ([]byte, *refusal) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case len(data) > maxAnswer:
		return nil, broken("provider", "the answer of provider %s is larger than %d MiB", x.g.plan.to.Name, maxAnswer>>20)
	case err != nil && x.ctx.Err() != nil:
		return nil, forbid("ended", "the call or the connection has ended")
	case err != nil:
		return nil, broken("provider", "the answer of provider %s broke off", x.g.plan.to.Name)
	}
	x.looksLike = int64(len(data)) / bytesAToken
	return data, x.count(int64(len(data)))
}

// reply sends an answer that is there as a whole.
func (x *exchange) reply(resp *http.Response, data []byte) *refusal {
	x.head(resp)
	x.w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	x.w.WriteHeader(resp.StatusCode)
	_, _ = x.w.Write(data) // a cell that doesn't read it has its way
	return nil
}

// head takes over the few headers of a provider that clients act upon.
func (x *exchange) head(resp *http.Response) {
	for name, values := range resp.Header {
		if !returned(name) {
			continue
		}
		for _, v := range values {
			if len(v) <= maxHeaderValue && bytes.Equal(redact([]byte(v), x.forms), []byte(v)) {
				x.w.Header().Add(name, v)
			}
		}
	}
}

func returned(name string) bool {
	switch name {
	case "Content-Type", "Retry-After", "Retry-After-Ms", "X-Should-Retry", "X-Request-Id", "Request-Id":
		return true
	}
	return strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "Anthropic-Ratelimit-")
}

// whose says who can mend a credential that was refused.
func (p *plan) whose() string {
	if p.callers {
		return "it came with the call's llm_override"
	}
	return fmt.Sprintf("the operator must renew the one of llm.providers, %s", p.to.Name)
}

func join(list []string) string { return strings.Join(list, ", ") }
