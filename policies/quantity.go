package policies

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
)

// maxQuantity is the longest text that is looked at; no amount needs more.
const maxQuantity = 40

var (
	errNotNumber   = errors.New("not a number with a known unit")
	errNotDuration = errors.New("not a duration")
	errNegative    = errors.New("negative")
	errZero        = errors.New("zero")
	errTooLarge    = errors.New("too large")
)

// scale reads a decimal number without sign or exponent and multiplies it with unit. A fraction that is left is rounded
// up, so that no amount becomes nothing.
func scale(number string, unit int64) (int64, error) {
	if strings.HasPrefix(number, "-") {
		return 0, errNegative
	}
	whole, frac, dot := strings.Cut(number, ".")
	if !digits(whole) || dot && !digits(frac) || len(number) > maxQuantity {
		return 0, errNotNumber
	}
	n, ok := new(big.Int).SetString(whole+frac, 10)
	if !ok {
		return 0, errNotNumber
	}
	n.Mul(n, big.NewInt(unit))
	shift := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(frac))), nil)
	rest := new(big.Int)
	if n.QuoRem(n, shift, rest); rest.Sign() > 0 {
		n.Add(n, big.NewInt(1))
	}
	switch {
	case !n.IsInt64():
		return 0, errTooLarge
	case n.Sign() == 0:
		return 0, errZero
	}
	return n.Int64(), nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// shorten keeps a message readable when what was given is long.
func shorten(s string) string {
	if len(s) > maxQuantity {
		return s[:maxQuantity] + "..."
	}
	return s
}

// jsonText returns the text of a JSON string, number or null (which is "").
func jsonText(data []byte) (string, error) {
	if len(data) > 0 && data[0] == '"' {
		var s string
		err := json.Unmarshal(data, &s)
		return s, err
	}
	if s := string(data); s != "null" {
		return s, nil
	}
	return "", nil
}
