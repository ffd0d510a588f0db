package executor

import (
	"encoding/json"

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
