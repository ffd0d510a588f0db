package calculator

import (
	"fmt"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What an expression may cost.
const (
	maxExpression = 4096    // bytes
	maxNesting    = 100     // levels of parentheses, signs and powers
	maxBits       = 1 << 14 // of a number's numerator and denominator, each: some 4,900 digits
	maxArguments  = 256     // of a function
)

// calcError is what is wrong with an expression, and where; columns count characters from 1.
type calcError struct {
	column  int
	message string
}

func (e *calcError) Error() string {
	return fmt.Sprintf("expression, column %d: %s", e.column, e.message)
}

// calc evaluates one expression while it reads it:
//
//	sum     = product { ("+" | "-") product }
//	product = signed { ("*" | "/" | "//" | "%") signed }
//	signed  = { "+" | "-" } power
//	power   = atom [ "**" signed ]
//	atom    = number | constant | function "(" [ sum { "," sum } ] ")" | "(" sum ")"
type calc struct {
	src   string
	at    int // byte offset of the next token
	tok   token
	depth int
}

// token is one word of an expression: a number, a name, an operator, or "" at its end.
type token struct {
	text   string
	start  int // byte offset
	number bool
	name   bool
}

// Evaluate returns what an expression amounts to. Its errors say where it is wrong.
func Evaluate(src string) (n Number, err error) {
	if len(src) > maxExpression {
		return Number{}, fmt.Errorf("expression: %d bytes are too many, at most %d", len(src), maxExpression)
	}
	if !utf8.ValidString(src) {
		return Number{}, fmt.Errorf("expression: not valid UTF-8")
	}
	defer func() { // the parser leaves by panicking with its own error, and with nothing else
		if p := recover(); p != nil {
			wrong, ok := p.(*calcError)
			if !ok {
				panic(p)
			}
			err = wrong
		}
	}()
	c := &calc{src: src}
	c.next()
	n = c.sum()
	if c.tok.text != "" {
		c.fail(c.tok.start, "expected an operator or the end, got %q", c.tok.text)
	}
	return n, nil
}

// fail leaves the parser.
func (c *calc) fail(offset int, format string, args ...any) {
	panic(&calcError{column: utf8.RuneCountInString(c.src[:offset]) + 1, message: fmt.Sprintf(format, args...)})
}

// check passes a result on, or leaves with what is wrong at an operator.
func (c *calc) check(offset int, n Number, err error) Number {
	if err != nil {
		c.fail(offset, "%v", err)
	}
	if n.r.Num().BitLen() > maxBits || n.r.Denom().BitLen() > maxBits {
		c.fail(offset, "%v", errTooBig)
	}
	return n
}

var errTooBig = fmt.Errorf("the number gets too large: at most %d bits are reckoned with", maxBits)

func (c *calc) sum() Number {
	n := c.product()
	for c.tok.text == "+" || c.tok.text == "-" {
		op := c.tok
		c.next()
		m := c.product()
		r := new(big.Rat)
		if op.text == "+" {
			r.Add(n.r, m.r)
		} else {
			r.Sub(n.r, m.r)
		}
		n = c.check(op.start, Number{r, digits(n, m)}, nil)
	}
	return n
}

func (c *calc) product() Number {
	n := c.signed()
	for {
		op := c.tok
		var apply func(a, b Number) (Number, error)
		switch op.text {
		case "*":
			apply = multiply
		case "/":
			apply = divide
		case "//":
			apply = divideWhole
		case "%":
			apply = modulo
		default:
			return n
		}
		c.next()
		got, err := apply(n, c.signed())
		n = c.check(op.start, got, err)
	}
}

func (c *calc) signed() Number {
	negative := false
	for c.tok.text == "-" || c.tok.text == "+" {
		negative = negative != (c.tok.text == "-")
		c.next()
	}
	n := c.power()
	if negative {
		return Number{new(big.Rat).Neg(n.r), n.digits}
	}
	return n
}

func (c *calc) power() Number {
	c.enter()
	defer c.leave()
	n := c.atom()
	if c.tok.text != "**" {
		return n
	}
	op := c.tok
	c.next()
	got, err := raise(n, c.signed())
	return c.check(op.start, got, err)
}

func (c *calc) enter() {
	if c.depth++; c.depth > maxNesting {
		c.fail(c.tok.start, "nested deeper than %d levels", maxNesting)
	}
}

func (c *calc) leave() { c.depth-- }

func (c *calc) atom() Number {
	tok := c.tok
	switch {
	case tok.number:
		n, err := parseNumber(tok.text)
		c.next()
		return c.check(tok.start, n, err)
	case tok.name:
		c.next()
		return c.named(tok)
	case tok.text == "(":
		c.next()
		n := c.sum()
		c.expect(")", tok)
		return n
	case tok.text == "":
		c.fail(tok.start, "expected a number, got the end")
	}
	c.fail(tok.start, "expected a number, got %q", tok.text)
	return Number{}
}

// expect takes the token that closes what was opened.
func (c *calc) expect(closing string, open token) {
	if c.tok.text != closing {
		got := "the end"
		if c.tok.text != "" {
			got = fmt.Sprintf("%q", c.tok.text)
		}
		c.fail(c.tok.start, "expected %q for the %q in column %d, got %s",
			closing, open.text, utf8.RuneCountInString(c.src[:open.start])+1, got)
	}
	c.next()
}

// named is a constant or a function's value.
func (c *calc) named(name token) Number {
	word := strings.ToLower(name.text)
	if n, ok := constants[word]; ok && c.tok.text != "(" {
		return n
	}
	f, ok := functions[word]
	switch {
	case !ok:
		c.fail(name.start, "unknown name %q: there are %s", name.text, Names())
	case c.tok.text != "(":
		c.fail(c.tok.start, "expected \"(\" after %s", word)
	}
	args := c.arguments()
	if len(args) < f.least || len(args) > f.most {
		c.fail(name.start, "%s takes %s, got %d", word, f.count(), len(args))
	}
	got, err := f.apply(args)
	return c.check(name.start, got, err)
}

func (c *calc) arguments() []Number {
	open := c.tok
	c.next()
	var args []Number
	for c.tok.text != ")" {
		if len(args) == maxArguments {
			c.fail(c.tok.start, "more than %d arguments", maxArguments)
		}
		if len(args) > 0 {
			if c.tok.text != "," {
				c.expect(")", open)
			}
			c.next()
		}
		args = append(args, c.sum())
	}
	c.next()
	return args
}

// next reads one token.
func (c *calc) next() {
	rest := strings.TrimLeftFunc(c.src[c.at:], unicode.IsSpace)
	start := len(c.src) - len(rest)
	c.tok = token{start: start}
	if rest == "" {
		c.at = start
		return
	}
	first, size := utf8.DecodeRuneInString(rest)
	switch {
	case first >= '0' && first <= '9' || first == '.':
		c.tok.text, c.tok.number = rest[:numberLen(rest)], true
	case unicode.IsLetter(first) || first == '_':
		end := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
		if end < 0 {
			end = len(rest)
		}
		c.tok.text, c.tok.name = rest[:end], true
	case strings.HasPrefix(rest, "**"), strings.HasPrefix(rest, "//"):
		c.tok.text = rest[:2]
	case first == '^':
		c.fail(start, "unknown operator \"^\": a power is written **")
	case strings.ContainsRune("+-*/%(),", first):
		c.tok.text = rest[:size]
	default:
		c.operator(first, size, start)
		return
	}
	c.at = start + len(c.tok.text)
}

// operator reads the signs that people type instead of the usual ones.
func (c *calc) operator(sign rune, size, start int) {
	other, ok := map[rune]string{'×': "*", '·': "*", '÷': "/", '−': "-"}[sign]
	if !ok {
		c.fail(start, "unknown sign %q", sign)
	}
	c.tok.text, c.at = other, start+size
}

// numberLen returns how many bytes belong to a number: digits with _ between them, a point, an exponent.
func numberLen(s string) int {
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.' || s[i] == '_') {
		i++
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && s[j] >= '0' && s[j] <= '9' {
			for j < len(s) && s[j] >= '0' && s[j] <= '9' {
				j++
			}
			return j
		}
	}
	return i
}
