package broker

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/policies"
)

// spellings are how a provider might echo a key.
func spellings() map[string]string {
	quoted, _ := json.Marshal(realKey) // a text always marshals
	return map[string]string{
		"plain": realKey, "json": string(quoted), "query": url.QueryEscape(realKey), "path": url.PathEscape(realKey),
		"base64": base64.StdEncoding.EncodeToString([]byte(realKey)), "header": base64.StdEncoding.EncodeToString([]byte("Bearer " + realKey)),
		"slashes": strings.ReplaceAll(realKey, "/", `\/`), "plus": strings.ReplaceAll(realKey, "+", `\u002B`),
		"basic": base64.StdEncoding.EncodeToString([]byte("u:" + realKey + "\n")), "url64": base64.RawURLEncoding.EncodeToString([]byte("k=" + realKey)),
	}
}

// leaked finds a key in any of its spellings.
func leaked(s string) bool {
	return !bytes.Equal(redact([]byte(s), keyForms(realKey)), []byte(s)) || strings.Contains(s, "canary")
}

func TestEchoedKeysAreTakenOut(t *testing.T) {
	for name, echo := range spellings() {
		for _, status := range []int{200, 400, 429, 500} {
			r := newRig(t, llm.OpenAI, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Request-Id", echo)
				w.Header().Set("X-Ratelimit-Remaining", "7")
				w.Header().Set("Openai-Organization", "org")
				w.Header().Set("Set-Cookie", "a=b")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, `{"error":{"message":"your key is `+echo+`."}}`)
			})
			_, c := r.grant(askFor(policies.LLM{}))
			got := r.do(c, post(t, "/v1/chat/completions", chatBody))
			if got.status != status || leaked(got.body) || !strings.Contains(got.body, redacted) {
				t.Errorf("%s, %d: %+v", name, status, got)
			}
			h := got.header
			if h.Get("X-Request-Id") != "" || h.Get("X-Ratelimit-Remaining") != "7" || h.Get("Openai-Organization") != "" || h.Get("Set-Cookie") != "" {
				t.Errorf("%s, %d: headers %v", name, status, h)
			}
		}
	}
}

// Also where the provider sends it in pieces, within one event or over two.
func TestEchoedKeysInStreams(t *testing.T) {
	for name, echo := range spellings() {
		for cut := 1; cut < len(echo); cut += 5 {
			r := newRig(t, llm.OpenAI, events("data: x"+echo[:cut], echo[cut:]+"y\n\ndata: z\n\n"))
			_, c := r.grant(askFor(policies.LLM{}))
			got := r.do(c, post(t, "/v1/chat/completions", `{"model":"small","stream":true}`))
			if leaked(got.body) || !strings.Contains(got.body, redacted) || !strings.HasSuffix(got.body, "y\n\ndata: z\n\n") {
				t.Errorf("%s at %d: %s", name, cut, got.body)
			}
		}
	}
}

// Providers like to quote a part of a key that they refuse.
func TestARefusedCredentialIsNobodysBusiness(t *testing.T) {
	r := newRig(t, llm.OpenAI, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"Incorrect API key provided: sk-real***y-77."}}`)
	})
	_, c := r.grant(askFor(policies.LLM{}))
	got := r.do(c, post(t, "/v1/chat/completions", chatBody))
	refusedFor(t, got, http.StatusBadGateway, "credential")
	if strings.Contains(got.body, "sk-") || !strings.Contains(got.body, "the operator must renew the one of llm.providers, main") {
		t.Errorf("got %s", got.body)
	}
	if got := string(redactError([]byte("key sk-ab…7 and sk-real***77, task-force"), nil)); got != "key [redacted] and [redacted], task-force" {
		t.Errorf("got %s", got)
	}
}

// However it is cut, what comes out is what redacting the whole would give.
func TestRedactingPieceByPiece(t *testing.T) {
	const key = "abcabcabd-abcabc"
	forms := keyForms(key)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{key, "abc", "abcabcabd-", "a", "b", "-", "x", key[:15], key[1:]})).Draw(t, "parts")
		var out bytes.Buffer
		w := &redactor{w: &out, forms: forms}
		for _, p := range parts {
			if n, err := w.Write([]byte(p)); err != nil || n != len(p) {
				t.Fatal(n, err)
			}
		}
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		whole := strings.Join(parts, "")
		if got, want := out.String(), strings.ReplaceAll(whole, key, redacted); got != want {
			t.Fatalf("%q became %q, want %q", whole, got, want)
		}
	})
}
