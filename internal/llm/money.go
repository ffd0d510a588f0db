package llm

import (
	"errors"
	"strconv"
	"strings"
)

// Money is an amount in millionths of the unit in which the operator writes prices; which currency that is, the operator
// knows.
type Money int64

const (
	unitMoney = 1_000_000
	maxMoney  = 1_000_000_000 // units
	decimals  = 6
)

// ParseMoney reads an amount such as 2, 0.15 or 12.50, with at most six decimals.
func ParseMoney(s string) (Money, error) {
	expected := errors.New("expected an amount such as 2 or 0.15, with at most six decimals")
	whole, part, dot := strings.Cut(strings.TrimSpace(s), ".")
	if dot && part == "" || len(part) > decimals || strings.ContainsAny(whole+part, "+-_") {
		return 0, expected
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > maxMoney {
		return 0, expected
	}
	m, err := strconv.ParseInt((part + "000000")[:decimals], 10, 64)
	if err != nil {
		return 0, expected
	}
	return Money(n*unitMoney + m), nil
}

// String writes what [ParseMoney] reads.
func (m Money) String() string {
	s := strconv.FormatInt(int64(m)/unitMoney, 10)
	if part := int64(m) % unitMoney; part > 0 {
		s += "." + strings.TrimRight(strconv.FormatInt(unitMoney+part, 10)[1:], "0")
	}
	return s
}
