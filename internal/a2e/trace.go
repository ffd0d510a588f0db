package a2e

import (
	"context"
	"maps"
	"strings"
)

// The keys under which a request's metadata, a header or MCP's _meta say which trace it belongs to (W3C Trace Context).
const (
	KeyTraceParent = "traceparent"
	KeyTraceState  = "tracestate"
)

// The most that is read of either, in bytes. A traceparent of version 00 has traceParentLen.
const (
	traceParentLen = 55
	maxTraceParent = 128
	maxTraceState  = 512
	maxTraceStates = 32 // members
)

// Trace is the place of a request in a trace. The zero value is none.
type Trace struct {
	Parent string // a valid traceparent of version 00
	State  string // the tracestate that came with it, or ""
}

// ParseTrace reads what a caller says. What is not valid is as good as not said: a trace is never a reason to refuse a call.
// A state that is not valid costs the state alone.
func ParseTrace(parent, state string) Trace {
	parent, ok := traceParent(parent)
	if !ok {
		return Trace{}
	}
	t := Trace{Parent: parent}
	if state = strings.TrimSpace(state); traceState(state) {
		t.State = state
	}
	return t
}

// HeaderTrace reads the headers of an HTTP request. Several parents are none.
func HeaderTrace(header map[string][]string) Trace {
	parents := header["Traceparent"]
	if len(parents) != 1 {
		return Trace{}
	}
	states := header["Tracestate"]
	if len(states) > maxTraceStates {
		states = nil
	}
	return ParseTrace(parents[0], strings.Join(states, ","))
}

// MetadataTrace reads metadata of JSON.
func MetadataTrace(metadata map[string]any) Trace {
	parent, ok := metadata[KeyTraceParent].(string)
	if !ok {
		return Trace{}
	}
	state, _ := metadata[KeyTraceState].(string)
	return ParseTrace(parent, state)
}

// Traced puts into a request's metadata what it came with, unless its own metadata says where it is. Its digest stays the same.
func (r *CallRequest) Traced(t Trace) {
	if t.Parent == "" || MetadataTrace(r.Metadata).Parent != "" {
		return
	}
	own := maps.Clone(r.Metadata)
	if own == nil {
		own = map[string]any{}
	}
	own[KeyTraceParent] = t.Parent
	delete(own, KeyTraceState)
	if t.State != "" {
		own[KeyTraceState] = t.State
	}
	r.Metadata = own
}

// traceParent brings a parent into the form of version 00; those of later versions begin like it.
func traceParent(s string) (string, bool) {
	if len(s) > maxTraceParent {
		return "", false
	}
	s = strings.TrimSpace(s)
	if len(s) < traceParentLen || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return "", false
	}
	version, id, span, flags := s[:2], s[3:35], s[36:52], s[53:55]
	longer := len(s) > traceParentLen
	switch {
	case !hexDigits(version) || !hexDigits(id) || !hexDigits(span) || !hexDigits(flags):
	case version == "ff" || strings.Trim(id, "0") == "" || strings.Trim(span, "0") == "":
	case longer && (version == "00" || s[traceParentLen] != '-'):
	default:
		sampled := "00"
		if strings.IndexByte("13579bdf", flags[1]) >= 0 {
			sampled = "01"
		}
		return "00-" + id + "-" + span + "-" + sampled, true
	}
	return "", false
}

func hexDigits(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// traceState reports whether s is a list of key=value as the recommendation has it.
func traceState(s string) bool {
	if s == "" || len(s) > maxTraceState {
		return false
	}
	members := 0
	for member := range strings.SplitSeq(s, ",") {
		member = strings.Trim(member, " \t")
		if member == "" {
			continue
		}
		key, value, _ := strings.Cut(member, "=")
		if members++; members > maxTraceStates || key == "" || value == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_-*/@") != "" {
			return false
		}
		for _, c := range []byte(value) {
			if c < ' ' || c > '~' || c == '=' {
				return false
			}
		}
	}
	return members > 0
}

type traceKey struct{}

// WithTrace returns a context that says where in a trace the request is that came with it.
func WithTrace(ctx context.Context, t Trace) context.Context {
	if t.Parent == "" {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceOf returns what [WithTrace] said.
func TraceOf(ctx context.Context) Trace {
	t, _ := ctx.Value(traceKey{}).(Trace)
	return t
}
