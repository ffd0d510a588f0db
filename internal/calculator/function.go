package calculator

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
)

// function is one that the calculator knows.
type function struct {
	least, most int // arguments
	apply       func(args []Number) (Number, error)
}

func (f function) count() string {
	switch {
	case f.most == maxArguments && f.least == 1:
		return "at least 1 argument"
	case f.least == f.most && f.least == 1:
		return "1 argument"
	case f.least == f.most:
		return fmt.Sprintf("%d arguments", f.least)
	}
	return fmt.Sprintf("%d to %d arguments", f.least, f.most)
}

// constants are written out to as many digits as count.
var constants = map[string]Number{
	"pi": constant("3.14159265358979323846264338327950288419716939937510582097494459"),
	"e":  constant("2.71828182845904523536028747135266249775724709369995957496696763"),
}

func constant(text string) Number {
	r, _ := new(big.Rat).SetString(text)
	return Number{r, rootDigits}
}

var functions = map[string]function{
	"abs":       one(func(n Number) (Number, error) { return Number{new(big.Rat).Abs(n.r), n.digits}, nil }),
	"floor":     one(func(n Number) (Number, error) { return whole(floor(n.r)), nil }),
	"ceil":      one(func(n Number) (Number, error) { return whole(ceil(n.r)), nil }),
	"trunc":     one(func(n Number) (Number, error) { return whole(new(big.Int).Quo(n.r.Num(), n.r.Denom())), nil }),
	"round":     {1, 2, round},
	"sqrt":      one(root),
	"factorial": one(factorial),
	"min":       {1, maxArguments, func(args []Number) (Number, error) { return extreme(args, -1), nil }},
	"max":       {1, maxArguments, func(args []Number) (Number, error) { return extreme(args, 1), nil }},
	"sum":       {1, maxArguments, add},
	"avg":       {1, maxArguments, average},
	"gcd":       {1, maxArguments, func(args []Number) (Number, error) { return overWholes(args, gcd) }},
	"lcm":       {1, maxArguments, func(args []Number) (Number, error) { return overWholes(args, lcm) }},
	"exp":       floats(math.Exp),
	"ln":        floats(math.Log),
	"log2":      floats(math.Log2),
	"log10":     floats(math.Log10),
	"sin":       floats(math.Sin),
	"cos":       floats(math.Cos),
	"tan":       floats(math.Tan),
	"asin":      floats(math.Asin),
	"acos":      floats(math.Acos),
	"atan":      floats(math.Atan),
}

// Names returns the functions and constants that expressions may use.
func Names() string {
	names := slices.Sorted(maps.Keys(functions))
	return strings.Join(append(names, slices.Sorted(maps.Keys(constants))...), ", ")
}

func one(f func(Number) (Number, error)) function {
	return function{1, 1, func(args []Number) (Number, error) { return f(args[0]) }}
}

func floats(f func(float64) float64) function {
	return one(func(n Number) (Number, error) {
		x, _ := n.r.Float64()
		return float(f(x))
	})
}

func ceil(r *big.Rat) *big.Int {
	f := floor(new(big.Rat).Neg(r))
	return f.Neg(f)
}

// round rounds halves away from zero, to a number of decimals that may be negative.
func round(args []Number) (Number, error) {
	places := int64(0)
	if len(args) == 2 {
		n := args[1].r
		if !n.IsInt() || !n.Num().IsInt64() || n.Num().Int64() > mostDecimal || n.Num().Int64() < -mostDecimal {
			return Number{}, fmt.Errorf("round: expected a whole number of decimals from -%d to %d", mostDecimal, mostDecimal)
		}
		places = n.Num().Int64()
	}
	scale, err := raise(whole(big.NewInt(10)), whole(big.NewInt(places)))
	if err != nil {
		return Number{}, err
	}
	scaled := new(big.Rat).Mul(new(big.Rat).Abs(args[0].r), scale.r)
	r := new(big.Rat).SetInt(floor(scaled.Add(scaled, big.NewRat(1, 2))))
	r.Quo(r, scale.r)
	if args[0].r.Sign() < 0 {
		r.Neg(r)
	}
	return Number{r: r}, nil
}

// extreme returns the number that compares to all others in one way.
func extreme(args []Number, way int) Number {
	best := args[0]
	for _, n := range args[1:] {
		if n.r.Cmp(best.r) == way {
			best = n
		}
	}
	return best
}

func add(args []Number) (Number, error) {
	total := Number{r: new(big.Rat)}
	for _, n := range args {
		total = Number{new(big.Rat).Add(total.r, n.r), digits(total, n)}
		if total.r.Denom().BitLen() > maxBits {
			return Number{}, errTooBig
		}
	}
	return total, nil
}

func average(args []Number) (Number, error) {
	total, err := add(args)
	if err != nil {
		return total, err
	}
	return divide(total, whole(big.NewInt(int64(len(args)))))
}

func overWholes(args []Number, f func(a, b *big.Int) *big.Int) (Number, error) {
	var out *big.Int
	for _, n := range args {
		if !n.r.IsInt() {
			return Number{}, errors.New("expected whole numbers")
		}
		next := new(big.Int).Abs(n.r.Num())
		if out != nil {
			next = f(out, next)
		}
		if out = next; out.BitLen() > maxBits {
			return Number{}, errTooBig
		}
	}
	return whole(out), nil
}

func gcd(a, b *big.Int) *big.Int { return new(big.Int).GCD(nil, nil, a, b) }

func lcm(a, b *big.Int) *big.Int {
	if a.Sign() == 0 || b.Sign() == 0 {
		return new(big.Int)
	}
	out := new(big.Int).Div(a, gcd(a, b))
	return out.Mul(out, b)
}

func factorial(n Number) (Number, error) {
	if !n.r.IsInt() || n.r.Sign() < 0 {
		return Number{}, errors.New("factorial: expected a whole number that is not negative")
	}
	if !n.r.Num().IsInt64() || n.r.Num().Int64() > maxBits/8 {
		return Number{}, errTooBig
	}
	return whole(new(big.Int).MulRange(1, n.r.Num().Int64())), nil
}
