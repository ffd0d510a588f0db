package executor

import (
	"encoding/json"
	"math"

	"github.com/hotcell/hotcell/internal/a2e"
)

// What all requests in flight may take in memory together, half of it those of one principal. Small ones always find room:
// how many there are is bounded by the queue.
const (
	allRequests = 512 << 20
	ownRequest  = 64 << 10
)

// hold takes room for a request as long as its call is in flight, also while it waits. Decoded, a request takes tens of times
// as much as the line that it came in.
func (s *Supervisor) hold(who a2e.Caller, req *a2e.CallRequest) (release func(), refused *a2e.Error) {
	n := weigh(req.Arguments) + weigh(req.Metadata)
	if n <= ownRequest {
		return func() {}, nil
	}
	release, ok := s.load.Take(who.Principal, n)
	if !ok {
		return nil, a2e.Errorf(a2e.RuntimeError, "the requests in flight are too large together: try again later, or hand large data in as a file").
			Because(a2e.ReasonQueueFull).Transient()
	}
	return release, nil
}

// weigh is about how many bytes decoded JSON holds.
func weigh(v any) int64 {
	const value, list, object, member = 16, 24, 48, 40
	switch v := v.(type) {
	case string:
		return value + int64(len(v))
	case json.Number:
		return value + int64(len(v))
	case json.RawMessage:
		return list + int64(len(v))
	case []any:
		n := int64(list)
		for _, one := range v {
			n += value + weigh(one)
		}
		return n
	case map[string]any:
		n := int64(object)
		for key, one := range v {
			n += member + int64(len(key)) + weigh(one)
		}
		return n
	}
	return value
}

// atMost is what a request that has no credentials is not longer than, as JSON. It is not known where a value is none of those that
// JSON is decoded to, or has no JSON form.
func atMost(req *a2e.CallRequest) (n int64, known bool) {
	const names = 1 << 10 // of its members, and what is of a fixed length
	n = names
	for _, s := range []string{req.Type, req.ID, req.Version, req.Name, req.CorrelationID} {
		n += longestText(s)
	}
	for _, members := range []map[string]any{req.Arguments, req.Metadata} {
		m, ok := longestValue(members)
		if !ok {
			return 0, false
		}
		n += m
	}
	return n, req.LLMOverride == nil
}

// longestText: a byte becomes at most six, as \u003c.
func longestText(s string) int64 { return 6*int64(len(s)) + int64(len(`""`)) }

// longestValue is atMost for a decoded value. Lists and objects have a separator for each of their values.
func longestValue(v any) (n int64, known bool) {
	const number = 32 // bytes of a boolean, of nothing, or of a number that is no text
	switch v := v.(type) {
	case nil, bool, int, int64:
		return number, true
	case float64:
		return number, !math.IsNaN(v) && !math.IsInf(v, 0)
	case string:
		return longestText(v), true
	case json.Number:
		return number + int64(len(v)), true
	case []any:
		n = number
		for _, one := range v {
			m, ok := longestValue(one)
			if !ok {
				return 0, false
			}
			n += m + int64(len(","))
		}
		return n, true
	case map[string]any:
		n = number
		for key, one := range v {
			m, ok := longestValue(one)
			if !ok {
				return 0, false
			}
			n += m + longestText(key) + int64(len(":,"))
		}
		return n, true
	}
	return 0, false
}
