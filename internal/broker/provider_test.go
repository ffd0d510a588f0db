package broker

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/policies"
)

// What a provider may do wrong is its own failure and says so; nothing of it is followed, unpacked or believed.
func TestProvidersThatMisbehave(t *testing.T) {
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		reason string
	}{
		"redirects": {func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, "https://evil.example/v1/chat/completions", http.StatusTemporaryRedirect)
		}, "redirect"},
		"packs": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, realKey)
			_ = z.Close()
		}, "provider"},
		"breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}, "provider"},
		"says too much": {func(w http.ResponseWriter, _ *http.Request) {
			for range maxAnswer/len(chatBody) + 1 {
				_, _ = io.WriteString(w, chatBody)
			}
		}, "provider"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, llm.OpenAI, tt.answer)
			r.provider.Models = []string{"small", "big-*"}
			_, c := r.grant(askFor(policies.LLM{}))
			got := r.do(c, post(t, "/v1/chat/completions", chatBody))
			refusedFor(t, got, http.StatusBadGateway, tt.reason)
			if got.header.Get("Location") != "" || strings.Contains(got.body, "evil") || leaked(got.body) {
				t.Errorf("got %+v", got)
			}
			if e := r.diary.last(t); e["reason"] != tt.reason || e["status"] != http.StatusBadGateway {
				t.Errorf("audit %+v", e)
			}
			if n := len(r.requests()); n != 1 {
				t.Errorf("the provider got %d requests", n)
			}
		})
	}
}

func TestAProviderThatIsNotThere(t *testing.T) {
	r := newRig(t, llm.OpenAI, answerWith(chatAnswer))
	r.provider.BaseURL = "http://127.0.0.1:1/v1"
	g, c := r.grant(askFor(policies.LLM{}))
	got := r.do(c, post(t, "/v1/chat/completions", chatBody))
	if got.status != http.StatusBadGateway || got.header.Get("X-Should-Retry") != "" || !strings.Contains(got.body, "provider main cannot be reached") || strings.Contains(got.body, "127.0.0.1") {
		t.Errorf("got %+v", got)
	}
	if b := g.(*grant).budget; b.requests != 0 || b.tokens != 0 || b.tries != 1 {
		t.Errorf("%+v", b)
	}
	if why, _ := r.diary.last(t)["error"].(string); !strings.Contains(why, "connection refused") { // which is the operator's to know
		t.Errorf("the audit says %q", why)
	}
}

// A credential is looked up for each request: one that was renewed is used at once, and one that is gone is missed.
func TestARenewedCredential(t *testing.T) {
	r := newRig(t, llm.OpenAI, answerWith(chatAnswer))
	_, c := r.grant(askFor(policies.LLM{}))
	for _, key := range []string{realKey, "sk-renewed-0123456789"} {
		r.keys["env:KEY"] = key
		if got := r.do(c, post(t, "/v1/chat/completions", chatBody)); got.status != http.StatusOK {
			t.Fatalf("got %+v", got)
		}
		seen := r.requests()
		if got := seen[len(seen)-1].header.Get("Authorization"); got != "Bearer "+key {
			t.Errorf("the provider got %s", got)
		}
	}
	delete(r.keys, "env:KEY")
	got := r.do(c, post(t, "/v1/chat/completions", chatBody))
	refusedFor(t, got, http.StatusBadGateway, "credential")
	if strings.Contains(got.body, "env:KEY") {
		t.Errorf("a cell need not know where keys are: %s", got.body)
	}
}

// A provider without a credential gets none, whatever the cell sends.
func TestAProviderWithoutACredential(t *testing.T) {
	r := newRig(t, llm.Compatible, answerWith(chatAnswer))
	r.provider.Credential = ""
	_, c := r.grant(askFor(policies.LLM{}))
	if got := r.do(c, post(t, "/v1/chat/completions", chatBody)); got.status != http.StatusOK {
		t.Fatalf("got %+v", got)
	}
	if h := r.requests()[0].header; h.Get("Authorization") != "" || h.Get("X-Api-Key") != "" {
		t.Errorf("the provider got %v", h)
	}
}

// Usage that comes with content is counted and the content passed on; one that is known in part is filled in.
func TestUsageWithinAStream(t *testing.T) {
	const both = `data: {"choices":[{"delta":{"content":"hi"}}],"usage":{"prompt_tokens":1,"completion_tokens":4}}` + "\n\n"
	r := newRig(t, llm.Compatible, events(both, done))
	_, c := r.grant(askFor(policies.LLM{}))
	if got := r.do(c, post(t, "/v1/chat/completions", `{"model":"small","stream":true}`)); got.body != both+done {
		t.Errorf("got %s", got.body)
	}
	if e := r.diary.last(t); e["tokens_out"] != int64(4) {
		t.Errorf("audit %+v", e)
	}
	const start = "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":500,\"output_tokens\":1}}}\n\n"
	const delta = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"hi\"}}\n\n"
	r = newRig(t, llm.Anthropic, events(start, delta, delta, delta))
	_, c = r.grant(askFor(policies.LLM{}))
	r.do(c, post(t, "/v1/messages", `{"model":"small","stream":true}`))
	if e := r.diary.last(t); e["tokens_in"] != int64(500) || e["tokens_out"] != int64(4) || e["estimated"] != true {
		t.Errorf("audit %+v", e)
	}
}

// However many refusals a cell provokes, so many are kept and no more.
func TestRefusalsDoNotFillTheAudit(t *testing.T) {
	r := newRig(t, llm.OpenAI, answerWith(chatAnswer))
	_, c := r.grant(askFor(policies.LLM{}))
	for range maxNotes + 20 {
		r.do(c, post(t, "/v1/files", chatBody))
	}
	if n := len(r.diary.entries); n != maxNotes {
		t.Errorf("%d entries", n)
	}
	r.do(c, post(t, "/v1/chat/completions", chatBody))
	if e := r.diary.last(t); e["status"] != http.StatusOK {
		t.Errorf("a request that is granted is missing: %+v", e)
	}
}

func TestAForwardingRequestIsRefused(t *testing.T) {
	r := newRig(t, llm.OpenAI, answerWith(chatAnswer))
	g, _ := r.grant(askFor(policies.LLM{}))
	for _, line := range []string{
		"POST http://evil.example/v1/chat/completions HTTP/1.1", "POST //evil.example/v1/chat/completions HTTP/1.1", "CONNECT evil.example:443 HTTP/1.1",
		"OPTIONS * HTTP/1.1",
	} {
		if got := raw(t, g, line+"\r\nHost: x\r\nAuthorization: Bearer "+token+"\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"); !strings.Contains(got, " 403 ") {
			t.Errorf("%s: %s", line, got)
		}
	}
	if n := len(r.requests()); n > 0 {
		t.Errorf("the provider got %d requests", n)
	}
}
