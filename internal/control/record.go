package control

import (
	"encoding/json"
	"fmt"
	"time"
)

// Record is a call as a journal keeps it: what can be told of it, who answers for it and, at its end, the answer.
type Record struct {
	Call
	Digest   string          // of the request's body
	Instance string          // the supervisor that took the call
	Again    bool            // the answer says nothing about the request, so the same one may be made again
	Answer   json.RawMessage // the whole CallResponse; nil while the call is in flight
	Share    *Share          // at its acceptance: the call counts among its principal's, of which there may be so many
}

// Share is what a principal may have of calls in all supervisors of a journal together. A zero field bounds nothing.
type Share struct {
	InFlight  int // at once
	PerMinute int // within any minute
}

// OverError is what a journal says of a call that it has taken in although the call's principal has its [Share] already: the
// call counts nowhere, and is to end at once.
type OverError struct {
	PerMinute bool          // of the two bounds, that one
	After     time.Duration // when there is room again, as far as that is known
}

// Error says which bound was met.
func (e *OverError) Error() string {
	if e.PerMinute {
		return fmt.Sprintf("the principal has all the calls that it may have within a minute: there is room after %s", e.After)
	}
	return "the principal has all the calls that it may have at once"
}
