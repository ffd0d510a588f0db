package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A schema may be hostile, and so may a value: references that branch make the work grow exponentially with depth, and a
// long enumeration costs its length for each item of a list. Work is therefore counted while it is done, and timed, since
// one unit may take long where references form a long chain.
const (
	meterBudget   = 10_000_000 // units of about 100 ns
	meterTime     = 3 * time.Second
	maxValueNodes = 1_000_000   // JSON values in arguments or data
	maxValueDepth = 512         // levels of them
	maxProduct    = 100_000_000 // values × schema nodes
	maxRegexp     = 1000        // bytes of a pattern
)

// meter counts the work of one validation after another.
type meter struct {
	left     int
	spent    int // calls of spend
	deadline time.Time
}

// meterSpent is thrown through the validator, which has no other way to be stopped, and caught in run.
type meterSpent struct{}

var errTooMuchWork = errors.New("checking it against the schema is too much work")

func (m *meter) spend(n int) {
	m.spent++
	if m.left -= n; m.left < 0 || m.spent%256 == 0 && time.Now().After(m.deadline) {
		panic(meterSpent{})
	}
}

// run gives f a fresh budget.
func (m *meter) run(f func() error) (err error) {
	m.left, m.deadline = meterBudget, time.Now().Add(meterTime)
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(meterSpent); !ok {
				panic(p)
			}
			err = errTooMuchWork
		}
	}()
	return f()
}

// vocabulary hooks the meter into every schema object.
func (m *meter) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: "skill:///meter",
		Compile: func(_ *jsonschema.CompilerContext, obj map[string]any) (jsonschema.SchemaExt, error) {
			return &meterExt{meter: m, weight: weight(obj)}, nil
		},
	}
}

// weight is about what one evaluation of a schema object costs, its subschemas not counted.
func weight(obj map[string]any) int {
	w := 3
	for _, v := range obj {
		switch v := v.(type) {
		case []any:
			w += len(v)
		case map[string]any:
			w += len(v)
		}
	}
	return w
}

type meterExt struct {
	meter  *meter
	weight int
}

// Validate implements [jsonschema.SchemaExt]. It finds nothing wrong.
func (e *meterExt) Validate(*jsonschema.ValidatorContext, any) { e.meter.spend(e.weight) }

// compile implements [jsonschema.RegexpEngine] with expressions that cost what they do.
func (m *meter) compile(expr string) (jsonschema.Regexp, error) {
	if len(expr) > maxRegexp {
		return nil, fmt.Errorf("%d bytes are too many; the most is %d", len(expr), maxRegexp)
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	return &meteredRegexp{Regexp: re, meter: m, size: len(prog.Inst)}, nil
}

type meteredRegexp struct {
	*regexp.Regexp
	meter *meter
	size  int // instructions; matching takes at most that many steps a byte
}

// MatchString implements [jsonschema.Regexp].
func (r *meteredRegexp) MatchString(s string) bool {
	r.meter.spend(1 + len(s)*r.size/64)
	return r.Regexp.MatchString(s)
}

// measure counts the values below v, and refuses what is too many, too deep or a number that would take long to read.
func measure(v any, root string, most int) (int, error) {
	m := &measurer{root: root, left: most}
	if err := m.walk(v, 0); err != nil {
		return 0, err
	}
	return most - m.left, nil
}

type measurer struct {
	root string
	left int
}

func (m *measurer) walk(v any, depth int) error {
	if m.left--; m.left < 0 {
		return fmt.Errorf("%s: too many values", m.root)
	}
	if depth > maxValueDepth {
		return fmt.Errorf("%s: nested deeper than %d levels", m.root, maxValueDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, child := range v {
			if err := m.walk(child, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, child := range v {
			if err := m.walk(child, depth+1); err != nil {
				return err
			}
		}
	case json.Number:
		if !readable(v.String()) {
			return fmt.Errorf("%s: the number %s is out of range", m.root, clip(v.String(), 32))
		}
	}
	return nil
}

// readable reports whether an exact reading of a number takes little time and memory: 1e999999 does not.
func readable(s string) bool {
	if len(s) > 400 {
		return false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp, err := strconv.Atoi(s[i+1:])
		return err == nil && exp >= -400 && exp <= 400
	}
	return true
}
