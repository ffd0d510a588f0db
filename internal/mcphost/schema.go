package mcphost

import (
	"bytes"
	"encoding/json"
	"slices"
)

// objectSchema takes any object.
var objectSchema = json.RawMessage(`{"type":"object"}`)

// inputSchema is the schema of a skill's arguments as a tool has it: always one of an object. What clients could not read is
// put into other words, so that no skill hides itself or the others; the arguments are validated by the skill's own schema
// in any case.
func inputSchema(raw json.RawMessage) json.RawMessage {
	m, ok := readSchema(raw)
	if !ok {
		return objectSchema
	}
	changed := wellFormed(m)
	switch t := m["type"].(type) {
	case string:
		if t != "object" { // nothing satisfies it, as the skill has it
			m, changed = map[string]any{"type": "object", "allOf": []any{m}}, true
		}
	default:
		m["type"], changed = "object", true
	}
	return written(m, raw, changed)
}

// outputSchema is the schema of a skill's result where it is one of an object, else nil: older clients take no other.
func outputSchema(raw json.RawMessage) json.RawMessage {
	m, ok := readSchema(raw)
	if !ok || m["type"] != "object" {
		return nil
	}
	return written(m, raw, wellFormed(m))
}

func readSchema(raw json.RawMessage) (m map[string]any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return m, dec.Decode(&m) == nil && m != nil && json.Valid(raw)
}

// written returns the schema as its author wrote it, unless it had to be changed: properties keep their order.
func written(m map[string]any, raw json.RawMessage, changed bool) json.RawMessage {
	if !changed {
		return raw
	}
	b, err := json.Marshal(m)
	if err != nil {
		return objectSchema
	}
	return b
}

// wellFormed brings the two keys that clients look into at once into the form that they expect: properties are objects, and
// required is a list of names.
func wellFormed(m map[string]any) (changed bool) {
	if properties, there := m["properties"]; there {
		fields, ok := properties.(map[string]any)
		if !ok {
			delete(m, "properties")
			changed = true
		}
		for name, schema := range fields {
			switch s := schema.(type) {
			case map[string]any:
				continue
			case bool:
				fields[name] = map[string]any{}
				if !s {
					fields[name] = map[string]any{"not": map[string]any{}}
				}
			default:
				fields[name] = map[string]any{}
			}
			changed = true
		}
	}
	if required, there := m["required"]; there {
		names, ok := required.([]any)
		if !ok || slices.ContainsFunc(names, func(n any) bool { _, text := n.(string); return !text }) {
			delete(m, "required")
			changed = true
		}
	}
	return changed
}
