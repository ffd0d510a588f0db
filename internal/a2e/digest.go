package a2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
)

// Digest returns the lower-case hex sha-256 of everything in the request but its ts, its credentials and its
// place in a trace, which is another one when a client tries again. Two requests with one id and one digest are one request
// sent twice. Keys count in any order, numbers as they are written.
func (r *CallRequest) Digest() string {
	c := *r
	c.TS, c.Metadata = 0, untraced(r.Metadata)
	body := struct {
		Request CallRequest
		Config  map[string]any // in full, while the request's own form holds only its public part
	}{Request: c}
	if r.LLMOverride != nil {
		body.Config = r.LLMOverride.ProviderConfig
	}
	b, err := json.Marshal(body)
	if err != nil { // a value with no JSON form: such a request never came over a wire, and equals no other
		return NewID()
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// untraced is metadata without what says which trace a request belongs to.
func untraced(metadata map[string]any) map[string]any {
	_, parent := metadata[KeyTraceParent]
	_, state := metadata[KeyTraceState]
	if !parent && !state {
		return metadata
	}
	own := maps.Clone(metadata)
	delete(own, KeyTraceParent)
	delete(own, KeyTraceState)
	return own
}

// Public returns a copy that may be stored and handed into a cell: its LLM override has no credentials and no settings
// that could hold one. Arguments and metadata are shared with r.
func (r *CallRequest) Public() *CallRequest {
	c := *r
	c.LLMOverride = r.LLMOverride.Public()
	return &c
}
