package broker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/hotcell/hotcell/internal/llm"
)

// refusal is an answer of the broker's own. Its sentence goes to the cell and holds nothing that a cell may not know.
type refusal struct {
	status int
	reason string // for programs: the error's code, and the audit's word
	why    string
	retry  bool // whether the same request may succeed later
}

// forbid refuses what the call has no right to, now or ever.
func forbid(reason, format string, args ...any) *refusal {
	return &refusal{status: http.StatusForbidden, reason: reason, why: fmt.Sprintf(format, args...)}
}

// reject refuses what cannot be read.
func reject(reason, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, reason: reason, why: fmt.Sprintf(format, args...)}
}

// broken reports a provider that cannot be used.
func broken(reason, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadGateway, reason: reason, why: fmt.Sprintf(format, args...)}
}

// words is the class of an error in the providers' vocabularies.
func (r *refusal) words() string {
	switch {
	case r.status == http.StatusForbidden:
		return "permission_error"
	case r.status < http.StatusInternalServerError:
		return "invalid_request_error"
	}
	return "api_error"
}

// body writes the error as a client of the provider's kind expects it.
func (r *refusal) body(kind llm.Kind) []byte {
	message := "hotcell: " + r.why
	var v any = map[string]any{"error": map[string]any{"message": message, "type": r.words(), "param": nil, "code": r.reason}}
	if kind == llm.Anthropic {
		v = map[string]any{"type": "error", "error": map[string]any{"type": r.words(), "message": message, "code": r.reason}}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return []byte("{}") // texts alone always marshal
	}
	return data
}

// send answers with the refusal.
func (r *refusal) send(w http.ResponseWriter, kind llm.Kind) int64 {
	data := r.body(kind)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(data)))
	h.Set("X-Hotcell-Reason", r.reason)
	if !r.retry {
		h.Set("X-Should-Retry", "false")
	}
	w.WriteHeader(r.status)
	n, _ := w.Write(data) // a cell that doesn't read it has its way
	return int64(n)
}

// event is the refusal within a stream that has begun.
func (r *refusal) event(kind llm.Kind) []byte {
	data := r.body(kind)
	if kind == llm.Anthropic {
		return fmt.Appendf(nil, "event: error\ndata: %s\n\n", data)
	}
	return fmt.Appendf(nil, "data: %s\n\n", data)
}
