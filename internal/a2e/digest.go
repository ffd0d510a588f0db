package a2e

import (
	"bytes"
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
	b, err := c.MarshalJSON()
	if err == nil {
		b, err = withConfig(b, r.LLMOverride)
	}
	if err != nil { // a value with no JSON form: such a request never came over a wire, and equals no other
		return NewID()
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// withConfig is a request with its model's configuration in full, of which the request's own form holds only the public part: what
// [json.Marshal] makes of both, which escapes what HTML would take for its own.
func withConfig(request []byte, llm *LLMConfig) ([]byte, error) {
	config := []byte("null")
	if llm != nil {
		var err error
		if config, err = json.Marshal(llm.ProviderConfig); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	b.Grow(len(request) + len(config) + 32)
	b.WriteString(`{"Request":`)
	json.HTMLEscape(&b, request)
	b.WriteString(`,"Config":`)
	b.Write(config)
	b.WriteString("}")
	return b.Bytes(), nil
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
