package control

import "encoding/json"

// Record is a call as a journal keeps it: what can be told of it, who answers for it and, at its end, the answer.
type Record struct {
	Call
	Digest   string          // of the request's body
	Instance string          // the supervisor that took the call
	Again    bool            // the answer says nothing about the request, so the same one may be made again
	Answer   json.RawMessage // the whole CallResponse; nil while the call is in flight
}
