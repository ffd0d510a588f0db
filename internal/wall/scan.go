package wall

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// maxNesting is how deep encoding/json reads.
const maxNesting = 10_000

// scan takes one JSON object apart, and checks all of it on the way, in one pass: what it accepts is what encoding/json
// accepts, but for keys that are there twice. deepest is how deep the object nests, 1 where nothing is nested in it.
func scan(text []byte) (o object, deepest int, err error) {
	s := scanner{b: text, deepest: 1}
	if s.next() != '{' {
		return nil, 0, errors.New("expected a JSON object")
	}
	s.i++
	o = make(object, 0, 6)
	for more := s.next() != '}'; more; {
		from := s.i
		if !s.key() {
			return nil, 0, errInvalid
		}
		key := known(s.quoted(from))
		s.next()
		from = s.i
		if !s.value() {
			return nil, 0, errInvalid
		}
		switch {
		case err != nil:
		case o.has(key):
			err = fmt.Errorf("key %q is there twice", key)
		case len(o) == maxMembers:
			err = fmt.Errorf("more than %d keys", maxMembers)
		default:
			o = append(o, member{key, text[from:s.i:s.i]})
		}
		if more = s.next() == ','; more {
			s.i++
		}
	}
	if s.next() != '}' {
		return nil, 0, errInvalid
	}
	s.i++
	if s.next(); s.i < len(text) {
		return nil, 0, errInvalid
	}
	if err != nil {
		return nil, 0, err
	}
	return o, s.deepest, nil
}

var errInvalid = errors.New("not valid JSON")

// scanner steps over the parts of a JSON text. It doesn't recurse.
type scanner struct {
	b       []byte
	i       int
	end     int // behind the last key, its colon not counted
	deepest int
}

// next skips white space and returns the byte behind it, 0 at the end.
func (s *scanner) next() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// key steps over a key and its colon.
func (s *scanner) key() bool {
	if s.next() != '"' || !s.text() {
		return false
	}
	s.end = s.i
	if s.next() != ':' {
		return false
	}
	s.i++
	return true
}

// quoted is the last key, which begins somewhere behind from.
func (s *scanner) quoted(from int) []byte {
	for s.b[from] != '"' {
		from++
	}
	return s.b[from:s.end]
}

// value steps over one value with all that it holds.
func (s *scanner) value() bool {
	var room [64]byte
	open := room[:0] // what is to be closed
	for {
		switch c := s.next(); c {
		case '{', '[':
			s.i++
			if open = append(open, c+2); !s.deep(len(open) + 1) { // '{'+2 is '}', '['+2 is ']'
				return false
			}
			if s.next() != c+2 {
				if c == '{' && !s.key() {
					return false
				}
				continue
			}
		case '"':
			if !s.text() {
				return false
			}
		default:
			if !s.plain(c) {
				return false
			}
		}
		for {
			if len(open) == 0 {
				return true
			}
			c, closing := s.next(), open[len(open)-1]
			s.i++
			if c == closing {
				open = open[:len(open)-1]
				continue
			}
			if c != ',' || closing == '}' && !s.key() {
				return false
			}
			break
		}
	}
}

// deep notes how deep the text nests here, and reports whether encoding/json would go as deep.
func (s *scanner) deep(depth int) bool {
	s.deepest = max(s.deepest, depth)
	return depth <= maxNesting
}

// plain steps over a number, true, false or null, which begins with c.
func (s *scanner) plain(c byte) bool {
	switch c {
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

func (s *scanner) word(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

func (s *scanner) number() bool {
	if s.at() == '-' {
		s.i++
	}
	if s.at() == '0' {
		s.i++
	} else if !s.digits() {
		return false
	}
	if s.at() == '.' {
		s.i++
		if !s.digits() {
			return false
		}
	}
	if c := s.at(); c == 'e' || c == 'E' {
		s.i++
		if c := s.at(); c == '+' || c == '-' {
			s.i++
		}
		return s.digits()
	}
	return true
}

// at returns the byte here, 0 at the end.
func (s *scanner) at() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// digits steps over digits, one at least.
func (s *scanner) digits() bool {
	from := s.i
	for c := s.at(); c >= '0' && c <= '9'; c = s.at() {
		s.i++
	}
	return s.i > from
}

// text steps over the string that begins here.
func (s *scanner) text() bool {
	b, i := s.b, s.i+1
	for {
		for i+8 <= len(b) {
			special := endsText(binary.LittleEndian.Uint64(b[i:]))
			if special != 0 {
				i += bits.TrailingZeros64(special) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return false
		}
		switch c := b[i]; {
		case c == '"':
			s.i = i + 1
			return true
		case c == '\\':
			n := escape(b[i:])
			if n == 0 {
				return false
			}
			i += n
		case c < ' ':
			return false
		default:
			i++
		}
	}
}

// endsText marks the bytes of w that are quotes, backslashes or control characters. The lowest mark is right, those above
// it need not be.
func endsText(w uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quotes, slashes := w^('"'*ones), w^('\\'*ones)
	return ((quotes-ones)&^quotes | (slashes-ones)&^slashes | (w-' '*ones)&^w) & tops
}

// escape returns how long the escape is that b begins with, 0 for none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return 0
			}
		}
		return 6
	}
	return 0
}
