package policies

import (
	"fmt"
	"strconv"
	"strings"
)

// Core is one processor.
const Core MilliCPU = 1000

// ParseMilliCPU reads processor time: cores as a decimal number ("1", "0.5") or thousandths of a core ("500m"). What is
// finer than a thousandth is rounded up. The amount must be positive; the error says what was expected.
func ParseMilliCPU(s string) (MilliCPU, error) {
	number, unit := strings.TrimSpace(s), int64(Core)
	if rest, ok := strings.CutSuffix(number, "m"); ok {
		number, unit = rest, 1
	}
	n, err := scale(number, unit)
	if err != nil {
		return 0, fmt.Errorf("%q is %w: expected processor cores like 1, 0.5 or 500m", shorten(s), err)
	}
	return MilliCPU(n), nil
}

// String returns whole cores as "2" and anything else as "1500m".
func (c MilliCPU) String() string {
	if c%Core == 0 {
		return strconv.FormatInt(int64(c/Core), 10)
	}
	return strconv.FormatInt(int64(c), 10) + "m"
}

// MarshalText writes what [ParseMilliCPU] reads; an unset amount is empty.
func (c MilliCPU) MarshalText() ([]byte, error) {
	if c == 0 {
		return nil, nil
	}
	return []byte(c.String()), nil
}

// UnmarshalText is [ParseMilliCPU]; an empty text leaves the amount unset.
func (c *MilliCPU) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = 0
		return nil
	}
	n, err := ParseMilliCPU(string(text))
	if err == nil {
		*c = n
	}
	return err
}

// UnmarshalJSON reads a string or a number of cores.
func (c *MilliCPU) UnmarshalJSON(data []byte) error {
	s, err := jsonText(data)
	if err != nil {
		return err
	}
	return c.UnmarshalText([]byte(s))
}

// UnmarshalYAML reads a string or a number of cores. It has the shape that YAML decoders look for.
func (c *MilliCPU) UnmarshalYAML(decode func(any) error) error {
	var s string
	if err := decode(&s); err != nil {
		return err
	}
	return c.UnmarshalText([]byte(s))
}
