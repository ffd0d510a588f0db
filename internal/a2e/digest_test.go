package a2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// The journal has digests of earlier versions, and other processes that use it may be of one: a request that is sent again is still the same.
func TestDigestIsThatOfEarlierVersions(t *testing.T) {
	for _, one := range []struct{ request, want string }{
		{`{"type":"skill/call/req","id":"r-1","name":"echo","arguments":{}}`,
			"039dbd64152704ed63401ed54fa53498d432d133bb262956577d97b23bd55ad6"},
		{`{"type":"skill/call/req","id":"r-2","ts":7,"name":"echo","arguments":{"html":"<b>&amp;</b>","line":"\u2028\u2029","n":1e400,"odd":"\u0001\ufffdé😀","<k>":[true,null,{"a":[]}]},
			"correlation_id":"a&b","timeout":5,"streaming":false,"metadata":{"traceparent":"00-1-2-01","note":"x>y"}}`,
			"f90c270fae2871fe7cbc89a015ecd5e3b527a179a2f334bf8753c8be7090f16c"},
		{`{"type":"skill/call/req","id":"r-3","name":"ask","arguments":{"q":"why?"},"llm_override":{"provider_name":"p<1>","provider_config":{"base":"http://h/?a=1&b=<2>","key":"s"}},"metadata":{}}`,
			"ba2143c5980b7f5910a70827084c5cb7a485eaacbeeb839fb7c1099d9fa9b0e6"},
	} {
		m, err := Parse([]byte(one.request))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.(*CallRequest).Digest(); got != one.want {
			t.Errorf("%s\ngot  %s\nwant %s", one.request, got, one.want)
		}
	}
}

// Whatever is in a request, its digest is that of what json.Marshal makes of it.
func TestDigestIsOfItsJSON(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("<>&\u2028\u2029\"\\\x00\x7f\ufffda"))))
	rapid.Check(t, func(t *rapid.T) {
		r := CallRequest{Name: text.Draw(t, "name"), Arguments: map[string]any{text.Draw(t, "key"): text.Draw(t, "value")}}
		if rapid.Bool().Draw(t, "model") {
			r.LLMOverride = &LLMConfig{ProviderName: text.Draw(t, "provider"), ProviderConfig: map[string]any{"model": text.Draw(t, "model"), "key": text.Draw(t, "secret")}}
		}
		body := struct {
			Request CallRequest
			Config  map[string]any
		}{Request: r}
		if r.LLMOverride != nil {
			body.Config = r.LLMOverride.ProviderConfig
		}
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if want := hex.EncodeToString(sum[:]); r.Digest() != want {
			t.Fatalf("%s has another digest", b)
		}
	})
}
