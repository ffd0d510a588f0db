package policies

import (
	"fmt"
	"strconv"
	"strings"
)

// The binary units of [Bytes].
const (
	Ki Bytes = 1 << 10
	Mi Bytes = 1 << 20
	Gi Bytes = 1 << 30
)

type byteUnit struct {
	suffix string
	size   int64
}

// byteUnits are looked through in order, so a suffix stands before the ones it ends with.
func byteUnits() []byteUnit {
	return []byteUnit{
		{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"Pi", 1 << 50},
		{"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15},
	}
}

// ParseBytes reads an amount of bytes as Kubernetes writes it: a decimal number with an optional binary unit (Ki, Mi, Gi,
// Ti, Pi) or decimal unit (k or K, M, G, T, P). A "B" behind the unit is allowed. A fraction of a byte is rounded up. The
// amount must be positive and fit into 63 bits; the error says what was expected.
func ParseBytes(s string) (Bytes, error) {
	number, unit := strings.TrimSpace(s), int64(1)
	number = strings.TrimSuffix(number, "B")
	for _, u := range byteUnits() {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = rest, u.size
			break
		}
	}
	n, err := scale(number, unit)
	if err != nil {
		return 0, fmt.Errorf("%q is %w: expected an amount of bytes like 256Mi, 1.5Gi or 8192 (units Ki, Mi, Gi, or K, M, G)", shorten(s), err)
	}
	return Bytes(n), nil
}

// String returns the amount with the largest binary unit that divides it: "256Mi", "1000".
func (b Bytes) String() string {
	n, unit := int64(b), ""
	for _, u := range byteUnits()[:5] {
		if n == 0 || int64(b)%u.size != 0 {
			break
		}
		n, unit = int64(b)/u.size, u.suffix
	}
	return strconv.FormatInt(n, 10) + unit
}

// MarshalText writes what [ParseBytes] reads; an unset amount is empty.
func (b Bytes) MarshalText() ([]byte, error) {
	if b == 0 {
		return nil, nil
	}
	return []byte(b.String()), nil
}

// UnmarshalText is [ParseBytes]; an empty text leaves the amount unset.
func (b *Bytes) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*b = 0
		return nil
	}
	n, err := ParseBytes(string(text))
	if err == nil {
		*b = n
	}
	return err
}

// UnmarshalJSON reads a string or a number of bytes.
func (b *Bytes) UnmarshalJSON(data []byte) error {
	s, err := jsonText(data)
	if err != nil {
		return err
	}
	return b.UnmarshalText([]byte(s))
}

// UnmarshalYAML reads a string or a number of bytes. It has the shape that YAML decoders look for.
func (b *Bytes) UnmarshalYAML(decode func(any) error) error {
	var s string
	if err := decode(&s); err != nil {
		return err
	}
	return b.UnmarshalText([]byte(s))
}
