package calculator

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Number is a value of the calculator: a fraction, exact unless something irrational went into it; then digits says how
// many of its digits count.
type Number struct {
	r      *big.Rat
	digits int // 0: exact
}

// How many digits count of what cannot be exact.
const (
	rootDigits  = 50 // of roots and constants
	floatDigits = 15 // of what is computed in floating point
	shownDigits = 34 // of an exact fraction that has no end as a decimal
	mostDecimal = 1000
)

// digits returns how many digits count of what is made of two numbers.
func digits(a, b Number) int {
	switch {
	case a.digits == 0:
		return b.digits
	case b.digits == 0:
		return a.digits
	}
	return min(a.digits, b.digits)
}

// parseNumber reads a literal.
func parseNumber(text string) (Number, error) {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(text), "e")
	plain := strings.ReplaceAll(mantissa, "_", "")
	if strings.Count(mantissa, ".") > 1 || plain == "." || strings.HasPrefix(mantissa, "_") || strings.HasSuffix(mantissa, "_") {
		return Number{}, fmt.Errorf("%q is no number", text)
	}
	if scientific {
		e, err := strconv.Atoi(exponent)
		if err != nil || e > maxBits/3 || e < -maxBits/3 {
			return Number{}, errTooBig
		}
		plain += "e" + exponent
	}
	r, ok := new(big.Rat).SetString(plain)
	if !ok {
		return Number{}, fmt.Errorf("%q is no number", text)
	}
	return Number{r: r}, nil
}

var errByZero = errors.New("division by zero")

func multiply(a, b Number) (Number, error) {
	return Number{new(big.Rat).Mul(a.r, b.r), digits(a, b)}, nil
}

func divide(a, b Number) (Number, error) {
	if b.r.Sign() == 0 {
		return Number{}, errByZero
	}
	return Number{new(big.Rat).Quo(a.r, b.r), digits(a, b)}, nil
}

// divideWhole rounds down.
func divideWhole(a, b Number) (Number, error) {
	q, err := divide(a, b)
	if err != nil {
		return q, err
	}
	return whole(floor(q.r)), nil
}

// modulo is what is left of a after whole times b, with b's sign.
func modulo(a, b Number) (Number, error) {
	q, err := divide(a, b)
	if err != nil {
		return q, err
	}
	taken := new(big.Rat).Mul(b.r, new(big.Rat).SetInt(floor(q.r)))
	return Number{taken.Sub(a.r, taken), digits(a, b)}, nil
}

// raise refuses what would be too large before it is computed.
func raise(a, b Number) (Number, error) {
	if !b.r.IsInt() {
		return Number{}, errors.New("an exponent must be a whole number; use sqrt for roots")
	}
	switch {
	case a.r.Sign() == 0 && b.r.Sign() < 0:
		return Number{}, errByZero
	case a.r.Sign() == 0 && b.r.Sign() > 0:
		return a, nil
	}
	odd := b.r.Num().Bit(0) == 1
	if one := new(big.Rat).Abs(a.r); one.Cmp(big.NewRat(1, 1)) == 0 {
		if a.r.Sign() < 0 && odd {
			return a, nil
		}
		return Number{one, a.digits}, nil
	}
	size := int64(max(a.r.Num().BitLen(), a.r.Denom().BitLen()) - 1)
	e := new(big.Int).Abs(b.r.Num())
	if !e.IsInt64() || e.Int64() > maxBits || size*e.Int64() > maxBits {
		return Number{}, errTooBig
	}
	num, den := new(big.Int).Exp(a.r.Num(), e, nil), new(big.Int).Exp(a.r.Denom(), e, nil)
	if b.r.Sign() < 0 {
		num, den = den, num
	}
	return Number{new(big.Rat).SetFrac(num, den), digits(a, b)}, nil
}

// floor returns the greatest whole number that is not above r.
func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) } // Euclid's division rounds down above 0

func whole(i *big.Int) Number { return Number{r: new(big.Rat).SetInt(i)} }

// float is a value that was computed in floating point.
func float(f float64) (Number, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Number{}, errors.New("no real number is the result")
	}
	return Number{new(big.Rat).SetFloat64(f), floatDigits}, nil
}

// root is the square root, exact where that is a fraction.
func root(a Number) (Number, error) {
	if a.r.Sign() < 0 {
		return Number{}, errors.New("no real number is the root of a negative one")
	}
	num, den := new(big.Int).Sqrt(a.r.Num()), new(big.Int).Sqrt(a.r.Denom())
	r := new(big.Rat).SetFrac(num, den)
	if new(big.Rat).Mul(r, r).Cmp(a.r) == 0 {
		return Number{r, a.digits}, nil
	}
	f := new(big.Float).SetPrec(192).SetRat(a.r)
	f.Sqrt(f)
	r, _ = f.Rat(nil)
	return Number{r, digits(a, Number{digits: rootDigits})}, nil
}

// String writes the number as a decimal: in full where it has an end, else as many digits as count.
func (n Number) String() string {
	switch {
	case n.digits > 0:
		return significant(n.r, n.digits)
	case n.r.IsInt():
		return n.r.Num().String()
	}
	if places, ends := decimals(n.r.Denom()); ends && places <= mostDecimal {
		return n.r.FloatString(places)
	}
	return significant(n.r, shownDigits)
}

// Exact reports whether String leaves nothing out.
func (n Number) Exact() bool {
	if n.digits > 0 {
		return false
	}
	places, ends := decimals(n.r.Denom())
	return ends && places <= mostDecimal
}

func significant(r *big.Rat, digits int) string {
	f := new(big.Float).SetPrec(uint(digits)*4 + 64).SetRat(r)
	return f.Text('g', digits)
}

// decimals returns how many places a fraction with this denominator has as a decimal; ends is false where it has no end.
func decimals(denom *big.Int) (places int, ends bool) {
	rest, zero := new(big.Int).Set(denom), new(big.Int)
	for _, prime := range []*big.Int{big.NewInt(2), big.NewInt(5)} {
		count := 0
		for {
			q, m := new(big.Int).QuoRem(rest, prime, new(big.Int))
			if m.Cmp(zero) != 0 {
				break
			}
			rest = q
			count++
		}
		places = max(places, count)
	}
	return places, rest.IsInt64() && rest.Int64() == 1
}

// Fraction writes the number as "n/d", or "" where it is a whole one, not exact, or too long to be read.
func (n Number) Fraction() string {
	if n.digits > 0 || n.r.IsInt() || n.r.Num().BitLen()+n.r.Denom().BitLen() > 512 {
		return ""
	}
	return n.r.String()
}
