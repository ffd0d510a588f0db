package clever

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ValueError is an error about a value, such as the name of a skill that cannot be resolved.
type ValueError struct{ Err error }

// Error returns the cause's text.
func (e *ValueError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ValueError) Unwrap() error { return e.Err }

// PermissionError is an error about something that is not permitted.
type PermissionError struct{ Err error }

// Error returns the cause's text.
func (e *PermissionError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *PermissionError) Unwrap() error { return e.Err }

// ValidationError is an error about data that does not match its schema, or a type's rules. It counts as neither of the
// others.
type ValidationError struct{ Err error }

// Error returns the cause's text.
func (e *ValidationError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ValidationError) Unwrap() error { return e.Err }

// checks collects what is wrong with a value of a type.
type checks struct {
	of       string
	problems []string
}

func (c *checks) add(bad bool, format string, args ...any) {
	if bad {
		c.problems = append(c.problems, fmt.Sprintf(format, args...))
	}
}

func (c *checks) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	return &ValidationError{fmt.Errorf("%s: %s", c.of, strings.Join(c.problems, "; "))}
}

// errFrozen is the answer to whoever decodes into a value that is there already.
var errFrozen = errors.New("it is frozen: decode into a new value")

// decode reads a JSON object whose required keys must be there and not null. Keys that it does not know are ignored.
func decode(of string, data []byte, required []string, fields any) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return &ValidationError{fmt.Errorf("%s: expected a JSON object", of)}
	}
	c := checks{of: of}
	for _, name := range required {
		raw, ok := keys[name]
		c.add(!ok || string(raw) == "null", "%s: required", name)
	}
	if err := c.err(); err != nil {
		return err
	}
	if err := json.Unmarshal(data, fields); err != nil {
		var inner *ValidationError
		if errors.As(err, &inner) {
			return &ValidationError{fmt.Errorf("%s: %w", of, inner.Err)}
		}
		return &ValidationError{fmt.Errorf("%s: %w", of, err)}
	}
	return nil
}

// freeze returns a copy of a JSON value that shares nothing with it, and an error for what is no JSON value.
func freeze(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, float64, int, int64, json.Number:
		return v, nil
	case map[string]any:
		return freezeMap(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = freeze(v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	return out, json.Unmarshal(raw, &out)
}

func freezeMap(m map[string]any) (map[string]any, error) {
	if m == nil {
		return nil, nil
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		var err error
		if out[k], err = freeze(v); err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
	}
	return out, nil
}

// thaw is freeze of what was frozen before.
func thaw(m map[string]any) map[string]any {
	out, _ := freezeMap(m)
	return out
}

func pointer(s *string) *string {
	if s == nil {
		return nil
	}
	own := *s
	return &own
}
