package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/hotcell/hotcell/internal/engine"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
)

// The codes of what goes wrong on the way to a model.
const (
	codeUnauthorized = "model_unauthorized" // 401: the operator's key, or this cell's token, was refused
	codeForbidden    = "model_forbidden"    // 403 without a code of its own: the broker's no, a budget that is used up
	codeNotFound     = "model_not_found"    // 404
	codeRejected     = "model_rejected"     // 400 and the like: the request does not please the provider
	codeRateLimited  = "rate_limited"       // 429
	codeProvider     = "provider_error"     // 5xx, or an error within a stream
	codeUnreachable  = "model_unreachable"  // no answer, or one that broke off
)

// garbled is an answer that arrived and can't be used.
func garbled(why string) *engine.Failure {
	return engine.Failf(codeUnreachable, "the model's answer: %s", why)
}

// upstream says what a model's SDK reports, in words of ours and a clipped message of the provider's.
func upstream(ctx context.Context, err error) error {
	if f := engine.Cancelled(ctx); f != nil {
		return f
	}
	var (
		oa     *openai.Error
		an     *anthropic.Error
		broken *ssestream.StreamError
		u      *url.Error
	)
	switch {
	case errors.As(err, &oa):
		return refusal(oa.StatusCode, oa.RawJSON())
	case errors.As(err, &an):
		return refusal(an.StatusCode, an.RawJSON())
	case errors.As(err, &broken):
		return refusal(http.StatusOK, string(broken.Event.Data))
	case errors.As(err, &u):
		return engine.Failf(codeUnreachable, "the model can't be reached: %s", engine.OneLine(u.Err.Error(), 300))
	}
	return engine.Failf(codeUnreachable, "the model's answer broke off: %s", engine.OneLine(err.Error(), 300))
}

var word = regexp.MustCompile(`^[a-z][a-z_]{2,39}$`)

// refusal makes a failure of an HTTP status and the body that came with it. Within a stream the status was 200.
func refusal(status int, body string) *engine.Failure {
	message, code := complaint(body)
	what := "the model's provider answered " + http.StatusText(status)
	switch status {
	case http.StatusOK:
		what = "the model's provider broke the answer off"
	case 0:
		what = "the model's provider refused"
	}
	own, ours := strings.CutPrefix(message, "hotcell: ") // the broker's word: no provider said it
	switch {
	case ours && status >= http.StatusInternalServerError:
		what, message = "the request to the model failed", own
	case ours:
		what, message = "the request to the model was refused by hotcell", own
	}
	f := &engine.Failure{Message: what}
	if message != "" {
		f.Message += ": " + message
	}
	switch {
	case status == http.StatusUnauthorized:
		f.Code, f.Final = codeUnauthorized, true
	case status == http.StatusForbidden:
		f.Code, f.Final = codeForbidden, true
		if word.MatchString(code) {
			f.Code = code
		}
	case status == http.StatusNotFound:
		f.Code, f.Final = codeNotFound, true
	case status == http.StatusTooManyRequests, strings.Contains(code, "rate_limit"):
		f.Code = codeRateLimited
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= 500, status == http.StatusOK:
		f.Code = codeProvider
	default:
		f.Code, f.Final = codeRejected, true
	}
	return f
}

// complaint finds message and code in the error bodies that providers and the broker send.
func complaint(body string) (message, code string) {
	type fields struct {
		Message string `json:"message"`
		Code    any    `json:"code"`
		Type    string `json:"type"`
	}
	var outer struct {
		fields
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal([]byte(body), &outer) != nil {
		return engine.OneLine(body, 300), ""
	}
	f := outer.fields
	var inner fields
	switch {
	case json.Unmarshal(outer.Error, &inner) == nil:
		f = inner
	case len(outer.Error) > 0 && f.Message == "":
		_ = json.Unmarshal(outer.Error, &f.Message)
	}
	if s, ok := f.Code.(string); ok && s != "" {
		return engine.OneLine(f.Message, 300), s
	}
	return engine.OneLine(f.Message, 300), f.Type
}
