package relay

import (
	"encoding/binary"
	"encoding/json"
	"math"
)

// The kinds of values in a record.
const (
	valueText   = 's'
	valueNumber = 'n' // as it was written
	valueRaw    = 'r' // a list or an object in JSON
	valueInt    = 'i'
	valueTrue   = 't'
	valueFalse  = 'f'
	valueNull   = '0'
)

// pack appends the event to b as one record. It is not JSON: large values pass through it with one copy.
func (e event) pack(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(e.seq))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e.at))
	b = packText(packText(b, e.id), e.kind)
	b = binary.AppendUvarint(b, uint64(len(e.data)))
	for key, value := range e.data {
		b = packText(b, key)
		switch v := value.(type) {
		case string:
			b = packText(append(b, valueText), v)
		case json.Number:
			b = packText(append(b, valueNumber), v)
		case json.RawMessage:
			b = packText(append(b, valueRaw), v)
		case int:
			b = binary.AppendVarint(append(b, valueInt), int64(v))
		case bool:
			if v {
				b = append(b, valueTrue)
			} else {
				b = append(b, valueFalse)
			}
		default: // nil: [Shallow] makes nothing else
			b = append(b, valueNull)
		}
	}
	return b
}

func packText[T ~string | ~[]byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// unpack reads the record that b begins with. Lists and objects alias b.
func unpack(b []byte) (e event, rest []byte) {
	u := unpacker{b}
	e.seq = int(u.number())
	e.at = math.Float64frombits(binary.LittleEndian.Uint64(u.take(8)))
	e.id, e.kind = string(u.text()), string(u.text())
	n := u.number()
	e.data = make(map[string]any, n)
	for range n {
		key := string(u.text())
		switch u.take(1)[0] {
		case valueText:
			e.data[key] = string(u.text())
		case valueNumber:
			e.data[key] = json.Number(u.text())
		case valueRaw:
			e.data[key] = json.RawMessage(u.text())
		case valueInt:
			v, size := binary.Varint(u.b)
			u.take(uint64(size))
			e.data[key] = int(v)
		case valueTrue:
			e.data[key] = true
		case valueFalse:
			e.data[key] = false
		default:
			e.data[key] = nil
		}
	}
	return e, u.b
}

// unpacker walks through a record.
type unpacker struct{ b []byte }

func (u *unpacker) take(n uint64) []byte {
	head := u.b[:n:n]
	u.b = u.b[n:]
	return head
}

func (u *unpacker) number() uint64 {
	n, size := binary.Uvarint(u.b)
	u.take(uint64(size))
	return n
}

func (u *unpacker) text() []byte { return u.take(u.number()) }
