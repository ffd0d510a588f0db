package a2e

import "encoding/json"

// The documents' required lists and objects are never null on the wire: nil is written as [] or {}. The plain types
// below have the fields and tags of their namesakes and not their methods.

// MarshalJSON writes nil filters as [].
func (m DiscoverRequest) MarshalJSON() ([]byte, error) {
	type plain DiscoverRequest
	m.FilterTags, m.FilterCategories = list(m.FilterTags), list(m.FilterCategories)
	return marshal(plain(m))
}

// MarshalJSON writes no skills as [].
func (m DiscoverResponse) MarshalJSON() ([]byte, error) {
	type plain DiscoverResponse
	m.Skills = list(m.Skills)
	return marshal(plain(m))
}

// MarshalJSON writes nil arguments and metadata as {}.
func (m CallRequest) MarshalJSON() ([]byte, error) {
	if b, ok := m.quick(make([]byte, 0, 512)); ok {
		return b, nil
	}
	return m.encode()
}

// encode writes any request.
func (m CallRequest) encode() ([]byte, error) {
	type plain CallRequest
	m.Arguments, m.Metadata = dict(m.Arguments), dict(m.Metadata)
	return marshal(plain(m))
}

// MarshalJSON writes nil data as {}.
func (m Event) MarshalJSON() ([]byte, error) {
	type plain Event
	m.Data = dict(m.Data)
	return marshal(plain(m))
}

// MarshalJSON writes no capabilities as [].
func (m HandshakeRequest) MarshalJSON() ([]byte, error) {
	type plain HandshakeRequest
	m.AgentCaps = list(m.AgentCaps)
	return marshal(plain(m))
}

// MarshalJSON writes no capabilities as [].
func (m HandshakeResponse) MarshalJSON() ([]byte, error) {
	type plain HandshakeResponse
	m.AcceptedCaps = list(m.AcceptedCaps)
	return marshal(plain(m))
}

// MarshalJSON writes nil metadata as {}.
func (c Capability) MarshalJSON() ([]byte, error) {
	type plain Capability
	c.Metadata = dict(c.Metadata)
	return marshal(plain(c))
}

// MarshalJSON writes nil detail as {}.
func (m ErrorMessage) MarshalJSON() ([]byte, error) {
	type plain ErrorMessage
	m.Detail = dict(m.Detail)
	return marshal(plain(m))
}

// MarshalJSON writes no triggers as [] and no schema as {}. Arguments is a list or null, as clients reject an object.
func (d Definition) MarshalJSON() ([]byte, error) {
	type plain Definition
	d.Triggers = list(d.Triggers)
	d.InputSchema, d.OutputSchema = schema(d.InputSchema), schema(d.OutputSchema)
	return marshal(plain(d))
}

// UnmarshalJSON accepts what other hosts write: an object in place of the list of arguments, of which the names are
// kept in no particular order, and null schemas.
func (d *Definition) UnmarshalJSON(b []byte) error {
	type plain Definition
	aux := struct {
		*plain
		Arguments arguments `json:"arguments"`
	}{plain: (*plain)(d)}
	if err := json.Unmarshal(b, &aux); err != nil {
		return err
	}
	d.Arguments = aux.Arguments
	return nil
}

// arguments is a list of names that may also come as an object.
type arguments []string

func (a *arguments) UnmarshalJSON(b []byte) error {
	var byName map[string]json.RawMessage
	if json.Unmarshal(b, &byName) != nil {
		return json.Unmarshal(b, (*[]string)(a))
	}
	*a = nil
	for name := range byName {
		*a = append(*a, name)
	}
	return nil
}

func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

func dict(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func schema(s json.RawMessage) json.RawMessage {
	if len(s) == 0 || string(s) == "null" {
		return json.RawMessage("{}")
	}
	return s
}
