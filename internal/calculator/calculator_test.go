package calculator

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCalculator(t *testing.T) {
	for expr, want := range map[string]string{
		"1+2*3":                       "7",
		"(1+2)*3":                     "9",
		"0.1+0.2":                     "0.3",
		"1/3":                         "0.3333333333333333333333333333333333",
		"2/3":                         "0.6666666666666666666666666666666667",
		"1/8":                         "0.125",
		"-2**2":                       "-4",
		"(-2)**2":                     "4",
		"2**-1":                       "0.5",
		"2**3**2":                     "512",
		"2**100":                      "1267650600228229401496703205376",
		"7%3":                         "1",
		"-7%3":                        "2",
		"7%-3":                        "-2",
		"7.5%2":                       "1.5",
		"7//2":                        "3",
		"-7//2":                       "-4",
		"--5":                         "5",
		"1e3 + 1_000":                 "2000",
		"2.5e-3":                      "0.0025",
		".5+5.":                       "5.5",
		" 3 × 4 ÷ 6 − 1 ":             "1",
		"abs(-3)+min(4,2,3)+max(1,9)": "14",
		"round(2.5)":                  "3",
		"round(-2.5)":                 "-3",
		"round(2.345, 2)":             "2.35",
		"round(1234, -2)":             "1200",
		"floor(-1.5)":                 "-2",
		"ceil(-1.5)":                  "-1",
		"trunc(-1.5)":                 "-1",
		"sum(1,2,3)/avg(1,2,3)":       "3",
		"gcd(12, 18)":                 "6",
		"lcm(4, 6)":                   "12",
		"factorial(20)":               "2432902008176640000",
		"sqrt(2)**2":                  "2",
		"sqrt(9/4)":                   "1.5",
		"sqrt(2)":                     "1.4142135623730950488016887242096980785696718753769",
		"pi":                          "3.1415926535897932384626433832795028841971693993751",
		"SIN(0)":                      "0",
		"ln(e)":                       "1",
		"0**0":                        "1",
		"(-1)**99999999999999999999":  "-1",
		"1**99999999999999999999":     "1",
		"0**99999999999999999999":     "0",
	} {
		n, err := Evaluate(expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
		} else if n.String() != want {
			t.Errorf("%s = %s, want %s", expr, n, want)
		}
	}
}

func TestCalculatorErrors(t *testing.T) {
	for expr, want := range map[string]string{
		"":                         "expression, column 1: expected a number, got the end",
		"1+":                       "expression, column 3: expected a number, got the end",
		"1 2":                      `expression, column 3: expected an operator or the end, got "2"`,
		"(1+2":                     `expression, column 5: expected ")" for the "(" in column 1, got the end`,
		"max(1 2)":                 `expression, column 7: expected ")" for the "(" in column 4, got "2"`,
		"max(1,)":                  `expression, column 7: expected a number, got ")"`,
		"max()":                    "expression, column 1: max takes at least 1 argument, got 0",
		"abs(1,2)":                 "expression, column 1: abs takes 1 argument, got 2",
		"round(1,2,3)":             "expression, column 1: round takes 1 to 2 arguments, got 3",
		"1/0":                      "expression, column 2: division by zero",
		"ä + 1":                    `expression, column 1: unknown name "ä": there are abs, acos, `,
		"é×2 $":                    `expression, column 1: unknown name "é"`,
		"2 $ 3":                    "expression, column 3: unknown sign '$'",
		"2^3":                      `expression, column 2: unknown operator "^": a power is written **`,
		"sqrt":                     `expression, column 5: expected "(" after sqrt`,
		"1.2.3":                    `expression, column 1: "1.2.3" is no number`,
		"1__":                      `expression, column 1: "1__" is no number`,
		".":                        `expression, column 1: "." is no number`,
		"2**0.5":                   "expression, column 2: an exponent must be a whole number; use sqrt for roots",
		"sqrt(-1)":                 "expression, column 1: no real number is the root of a negative one",
		"ln(0)":                    "expression, column 1: no real number is the result",
		"0**-1":                    "expression, column 2: division by zero",
		"gcd(1.5)":                 "expression, column 1: expected whole numbers",
		"factorial(-1)":            "expression, column 1: factorial: expected a whole number that is not negative",
		"round(1, 1.5)":            "expression, column 1: round: expected a whole number of decimals from -1000 to 1000",
		"9**9**9":                  "expression, column 2: the number gets too large: at most 16384 bits are reckoned with",
		"9**-9**9":                 "expression, column 2: the number gets too large",
		"10**5000":                 "expression, column 3: the number gets too large",
		"2**10000*2**10000":        "expression, column 9: the number gets too large",
		"factorial(100000)":        "expression, column 1: the number gets too large",
		"1e99999999":               "expression, column 1: the number gets too large",
		strings.Repeat("(", 200):   "expression, column 101: nested deeper than 100 levels",
		strings.Repeat("2**", 200): "expression, column 301: nested deeper than 100 levels",
		strings.Repeat("1+", 3000): "expression: 6000 bytes are too many, at most 4096",
		"max(" + strings.Repeat("1,", 400) + "1)": "expression, column 516: more than 256 arguments",
		"\xff": "expression: not valid UTF-8",
	} {
		n, err := Evaluate(expr)
		if err == nil {
			t.Errorf("%.40s = %s", expr, n)
		} else if !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40s: %q, want %q", expr, err, want)
		}
	}
}

// tree draws an expression and computes it by another way.
func tree(t *rapid.T, depth int) (string, *big.Rat) {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		n := rapid.IntRange(0, 999).Draw(t, "n")
		return big.NewInt(int64(n)).String() + ".25", big.NewRat(int64(n)*4+1, 4)
	}
	a, x := tree(t, depth-1)
	b, y := tree(t, depth-1)
	r := new(big.Rat)
	switch op := rapid.SampledFrom([]string{"+", "-", "*", "/", "neg"}).Draw(t, "op"); {
	case op == "neg":
		return "-(" + a + ")", r.Neg(x)
	case op == "/" && y.Sign() == 0:
		return a, x
	case op == "+":
		r.Add(x, y)
		return "(" + a + op + b + ")", r
	case op == "-":
		r.Sub(x, y)
		return "(" + a + op + b + ")", r
	case op == "*":
		r.Mul(x, y)
		return "(" + a + ")*(" + b + ")", r
	default:
		r.Quo(x, y)
		return "(" + a + ") / (" + b + ")", r
	}
}

func TestCalculatorAgreesWithBigRat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr, want := tree(t, 4)
		n, err := Evaluate(expr)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		if n.r.Cmp(want) != 0 {
			t.Fatalf("%s = %s, want %s", expr, n.r, want)
		}
	})
}

func TestPrecedence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.IntRange(1, 9)
		a, b, c := small.Draw(t, "a"), small.Draw(t, "b"), small.Draw(t, "c")
		text := func(n int) string { return big.NewInt(int64(n)).String() }
		for plain, full := range map[string]string{
			text(a) + "+" + text(b) + "*" + text(c):   text(a) + "+(" + text(b) + "*" + text(c) + ")",
			text(a) + "-" + text(b) + "-" + text(c):   "(" + text(a) + "-" + text(b) + ")-" + text(c),
			text(a) + "/" + text(b) + "%" + text(c):   "(" + text(a) + "/" + text(b) + ")%" + text(c),
			"-" + text(a) + "**2":                     "-(" + text(a) + "**2)",
			text(a) + "*-" + text(b) + "**" + text(c): text(a) + "*(-(" + text(b) + "**" + text(c) + "))",
		} {
			x, err1 := Evaluate(plain)
			y, err2 := Evaluate(full)
			if err1 != nil || err2 != nil || x.r.Cmp(y.r) != 0 {
				t.Fatalf("%s = %v (%v), %s = %v (%v)", plain, x.r, err1, full, y.r, err2)
			}
		}
	})
}

// Whatever is asked, an answer comes, and soon: the fuzzer finds what does not end.
func FuzzCalculator(f *testing.F) {
	for _, s := range []string{"1+2", "9**9**9", "sqrt(2)", "max(1,2", "2**-9999", "factorial(2048)", "1e5000", "lcm(9999999,9999998)", "(((", "1//0.0001%3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		if n, err := Evaluate(expr); err == nil && len(n.String()) > 2*maxBits {
			t.Errorf("%q: %d digits", expr, len(n.String()))
		}
	})
}
