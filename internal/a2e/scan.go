package a2e

import "encoding/json"

// The bounds of one message. They keep what a line can cost in memory within some tens of times its length.
const (
	MaxDepth  = 64      // levels of objects and lists, the message itself included
	MaxValues = 1 << 20 // members and elements at all levels
)

// scan is one pass over valid JSON that finds what the decoder behind it would let through: too deep, too many, and keys
// that stand twice in one object, of which two readers may see different ones.
type scan struct {
	open   []map[string]struct{} // the keys of each open object, nil for a list
	values int
	isKey  bool // the next string is a key
}

// check returns what is wrong, or nil. src must be valid JSON.
func (s *scan) check(src []byte) *Error {
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '"':
			end := stringEnd(src, i)
			if s.isKey {
				if err := s.key(src[i:end]); err != nil {
					return err
				}
			}
			i = end - 1
		case '{', '[':
			if err := s.push(src[i] == '{'); err != nil {
				return err
			}
		case '}', ']':
			s.open, s.isKey = s.open[:len(s.open)-1], false
		case ',':
			s.values++
			s.isKey = s.open[len(s.open)-1] != nil
		case ':':
			s.isKey = false
		}
		if s.values > MaxValues {
			return Errorf(InvalidMessage, "message has more than %d values", MaxValues).With("limit", MaxValues)
		}
	}
	return nil
}

func (s *scan) push(object bool) *Error {
	if len(s.open) == MaxDepth {
		return Errorf(InvalidMessage, "message is nested deeper than %d levels", MaxDepth).With("limit", MaxDepth)
	}
	s.values++
	s.isKey = object
	var keys map[string]struct{}
	if object {
		keys = map[string]struct{}{}
	}
	s.open = append(s.open, keys)
	return nil
}

// key notes the key whose JSON text is raw and refuses it when it is not new.
func (s *scan) key(raw []byte) *Error {
	var k string
	if err := json.Unmarshal(raw, &k); err != nil {
		return Errorf(ParseError, "line is not JSON: %w", err)
	}
	keys := s.open[len(s.open)-1]
	if _, twice := keys[k]; twice {
		return Errorf(InvalidMessage, "key %s stands twice in one object", quote(k)).With("field", clip(k))
	}
	keys[k] = struct{}{}
	return nil
}

// stringEnd returns the index behind the string that starts at i.
func stringEnd(src []byte, i int) int {
	for i++; src[i] != '"'; i++ {
		if src[i] == '\\' {
			i++
		}
	}
	return i + 1
}
