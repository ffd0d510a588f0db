package wall

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Parsed is a line that was taken apart once. It aliases the line.
type Parsed struct {
	members object
	deepest int
	err     error
}

// Parse takes a line apart.
func Parse(line []byte) Parsed {
	o, deepest, err := scan(line)
	return Parsed{o, deepest, err}
}

// Type returns the top-level "type", and "" for what is not a JSON object, has a key twice, or has no type.
func (p Parsed) Type() string { return p.members.typ() }

// as returns the members of a line of a type.
func (p Parsed) as(want string) (object, error) {
	if p.err != nil {
		return nil, p.err
	}
	if t := p.members.typ(); t != want {
		return nil, fmt.Errorf("type: expected %q, not %.80q", want, t)
	}
	if p.deepest > MaxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", MaxDepth)
	}
	return p.members, nil
}

// Event reads an event line, and takes its data apart too: [Parsed.Members] of what it returns are those of the data.
func (p Parsed) Event() (Event, Parsed, error) {
	o, err := p.as(TypeEvent)
	if err != nil {
		return Event{}, Parsed{}, err
	}
	e := Event{Type: TypeEvent, Data: json.RawMessage("{}")}
	if err := need(o, "kind", "a string", &e.Kind); err != nil {
		return Event{}, Parsed{}, err
	}
	if e.Kind == "" || len(e.Kind) > maxKind {
		return Event{}, Parsed{}, fmt.Errorf("kind: expected 1 to %d bytes", maxKind)
	}
	if !o.has("data") {
		return e, Parsed{}, nil
	}
	raw := o.get("data")
	if len(raw) == 0 || raw[0] != '{' {
		return Event{}, Parsed{}, errors.New("data: expected an object")
	}
	data := Parse(raw) // a reader decodes its members, so they are few and named once
	if data.err != nil {
		return Event{}, Parsed{}, fmt.Errorf("data: %w", data.err)
	}
	e.Data = raw
	return e, data, nil
}

// Members calls f with each key of the top level, unquoted, and its value as it stands in the line.
func (p Parsed) Members(f func(key string, value []byte)) {
	for _, m := range p.members {
		f(m.key, m.raw)
	}
}
