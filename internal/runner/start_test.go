package runner

import (
	"slices"
	"strings"
	"testing"
)

// The process finds in its environment what its request alone can say, and nothing that is not well-formed.
func TestWhatARequestAddsToTheEnvironment(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for request, want := range map[string][]string{
		`{}`:                      nil,
		`{"correlation_id":"c1"}`: {"SKILL_CORRELATION_ID=c1"},
		`{"correlation_id":"c1","metadata":{"traceparent":"` + parent + `","tracestate":"a=1"}}`:         {"SKILL_CORRELATION_ID=c1", "TRACEPARENT=" + parent, "TRACESTATE=a=1"},
		`{"metadata":{"traceparent":"` + parent + `","tracestate":7}}`:                                   {"TRACEPARENT=" + parent},
		`{"metadata":{"traceparent":"` + parent + `","tracestate":"a\u0000b"}}`:                          {"TRACEPARENT=" + parent},
		`{"metadata":{"traceparent":"` + parent[:54] + `;","tracestate":"a=1"}}`:                         nil,
		`{"metadata":{"traceparent":7,"tracestate":"a=1"}}`:                                              nil,
		`{"metadata":{"tracestate":"a=1"}}`:                                                              nil,
		`{"metadata":[]}`:                                                                                nil,
		`{"metadata":{"traceparent":"` + parent + `","tracestate":"` + strings.Repeat("a", 2000) + `"}}`: {"TRACEPARENT=" + parent},
	} {
		base := []string{"A=b"}
		if got := environment(base, []byte(request)); !slices.Equal(got[1:], want) || got[0] != "A=b" {
			t.Errorf("%.100s: got %q, want %q", request, got, want)
		}
	}
}
