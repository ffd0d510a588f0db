package a2e

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

const parentOne = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestParseTrace(t *testing.T) {
	for _, tt := range []struct{ parent, state, want, wantState string }{
		{parentOne, "a=1,b@c=2", parentOne, "a=1,b@c=2"},
		{" " + parentOne + "\t", " a=1 , b=2 ", parentOne, "a=1 , b=2"},
		{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-fe", "", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", ""},
		{"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-more", "", parentOne, ""},
		{parentOne, strings.Repeat("a=1,", 33), parentOne, ""},
		{parentOne, "a=" + strings.Repeat("x", 600), parentOne, ""},
		{parentOne, "a=1\r\nX-Evil: 1", parentOne, ""},
		{parentOne, "no member", parentOne, ""},
		{parentOne, ",,", parentOne, ""},
		{parentOne + "-more", "", "", ""},
		{"cc" + parentOne[2:] + "more", "", "", ""},
		{"ff" + parentOne[2:], "", "", ""},
		{strings.ToUpper(parentOne), "a=1", "", ""},
		{"00-00000000000000000000000000000000-b7ad6b7169203331-01", "", "", ""},
		{"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "", "", ""},
		{"", "a=1", "", ""},
		{strings.Repeat("-", 55), "", "", ""},
		{strings.Repeat("0", 1<<20), "", "", ""},
		{"00-0af7651916cd43dd8448eb211c8031\x00c-b7ad6b7169203331-01", "", "", ""},
	} {
		if got := ParseTrace(tt.parent, tt.state); got.Parent != tt.want || got.State != tt.wantState {
			t.Errorf("%.80q, %.80q: got %+v", tt.parent, tt.state, got)
		}
	}
}

func TestHeaderTrace(t *testing.T) {
	h := http.Header{}
	h.Set("traceparent", parentOne)
	h.Add("tracestate", "a=1")
	h.Add("tracestate", "b=2")
	if got := HeaderTrace(h); got.Parent != parentOne || got.State != "a=1,b=2" {
		t.Errorf("got %+v", got)
	}
	h.Add("traceparent", parentOne)
	if got := HeaderTrace(h); got != (Trace{}) {
		t.Errorf("of two parents: %+v", got)
	}
}

// What a request came with goes into its metadata, unless that says it already. Neither makes it another request.
func TestTracedRequests(t *testing.T) {
	came := ParseTrace(parentOne, "a=1")
	plain := func() *CallRequest {
		return &CallRequest{Header: Header{ID: "1"}, Name: "x", Metadata: map[string]any{"k": "v", KeyTraceState: "stale=1"}}
	}
	r, before := plain(), plain()
	r.Traced(came)
	if r.Metadata[KeyTraceParent] != parentOne || r.Metadata[KeyTraceState] != "a=1" || r.Metadata["k"] != "v" {
		t.Errorf("got %v", r.Metadata)
	}
	if r.Digest() != before.Digest() {
		t.Error("it is another request")
	}
	own := "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	r.Metadata[KeyTraceParent] = own
	r.Traced(came)
	if r.Metadata[KeyTraceParent] != own || r.Digest() != before.Digest() {
		t.Errorf("got %v", r.Metadata)
	}
	empty := &CallRequest{Name: "x"}
	empty.Traced(Trace{})
	if empty.Metadata != nil {
		t.Errorf("got %v", empty.Metadata)
	}
	other := plain()
	other.Metadata["k"] = "w"
	if other.Digest() == before.Digest() {
		t.Error("other metadata is the same request")
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add(parentOne, "a=1")
	f.Add("cc"+parentOne[2:]+"-x", "a@b=c, d=e")
	form := regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$`)
	f.Fuzz(func(t *testing.T, parent, state string) {
		got := ParseTrace(parent, state)
		if got.Parent == "" && got.State == "" {
			return
		}
		if !form.MatchString(got.Parent) || len(got.State) > maxTraceState || strings.ContainsFunc(got.State, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') }) {
			t.Errorf("%q, %q: got %+v", parent, state, got)
		}
		if again := ParseTrace(got.Parent, got.State); again != got {
			t.Errorf("read again: %+v", again)
		}
	})
}
