package a2e

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The quick way gives what the encoder gives, byte for byte, and leaves to it what it can't do.
func TestQuickIsTheEncodersJSON(t *testing.T) {
	plain := rapid.StringMatching(`[ !#-[\]-~]{0,20}`)
	odd := rapid.OneOf(plain, rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("<>&\u2028\u2029\"\\\x00\x1f\x7f\ufffda"))))
	quick, slow := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text, values := odd, []any{nil, true, false, 1, 1.5, []any{"x"}, map[string]any{"a": nil}}
		if rapid.Bool().Draw(t, "plain") {
			text, values = plain, values[:3]
		}
		value := rapid.OneOf(rapid.Map(text, func(s string) any { return s }), rapid.SampledFrom(values))
		object := rapid.OneOf(rapid.Just[map[string]any](nil), rapid.MapOf(text, value))
		r := CallRequest{
			Header: Header{Type: TypeCallRequest, ID: text.Draw(t, "id"), Version: Version, TS: rapid.SampledFrom([]float64{0, 0, 0, 1.5, math.Copysign(0, -1)}).Draw(t, "ts")},
			Name:   text.Draw(t, "name"), Arguments: object.Draw(t, "arguments"), Metadata: object.Draw(t, "metadata"), CorrelationID: text.Draw(t, "correlation"),
		}
		if rapid.Bool().Draw(t, "timed") {
			n := rapid.Int().Draw(t, "timeout")
			r.Timeout = &n
		}
		if rapid.Bool().Draw(t, "says how it streams") {
			yes := rapid.Bool().Draw(t, "streams")
			r.Streaming = &yes
		}
		if rapid.IntRange(0, 4).Draw(t, "model") == 0 {
			r.LLMOverride = &LLMConfig{ProviderName: "p"}
		}
		want, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, ok := r.quick(nil)
		if ok {
			quick++
		} else {
			slow++
		}
		if ok && string(got) != string(want) {
			t.Fatalf("quick  %s\nencoder %s", got, want)
		}
		if b, err := r.MarshalJSON(); err != nil || string(b) != string(want) {
			t.Fatalf("%s, %v\nencoder %s", b, err, want)
		}
	})
	if quick < 10 || slow < 10 {
		t.Errorf("%d were quick and %d were not", quick, slow)
	}
}

func BenchmarkMarshalCallRequest(b *testing.B) {
	left := 60
	r := CallRequest{Header: Header{Type: TypeCallRequest, ID: NewID(), Version: Version}, Name: "word-count", CorrelationID: "c-1", Timeout: &left,
		Arguments: map[string]any{"text": "the quick brown fox"}, Metadata: map[string]any{"session": "s"}}
	for b.Loop() {
		if _, err := r.MarshalJSON(); err != nil {
			b.Fatal(err)
		}
	}
}
