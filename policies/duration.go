package policies

import (
	"fmt"
	"strings"
	"time"
)

// ParseDuration reads a positive length of time: "30s", "1m30s", or a whole number of seconds. The error says what was
// expected.
func ParseDuration(s string) (time.Duration, error) {
	text := strings.TrimSpace(s)
	d, err := duration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is %w: expected a length of time like 30s, 2m or a number of seconds", shorten(s), err)
	}
	return d, nil
}

func duration(text string) (time.Duration, error) {
	if digits(text) {
		n, err := scale(text, int64(time.Second))
		return time.Duration(n), err
	}
	if len(text) > maxQuantity {
		return 0, errNotDuration
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, errNotDuration
	case d < 0:
		return 0, errNegative
	case d == 0:
		return 0, errZero
	}
	return d, nil
}
