package skills

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	maxViolations     = 5   // named in one message
	maxViolationBytes = 240 // of one of them
)

// Violation is one field that does not fit a schema.
type Violation struct {
	Path    string // "arguments.code", "data.issues[3].line"
	Message string // "expected integer, got string"

	tokens []string
}

// String returns "path: message".
func (v Violation) String() string { return clip(v.Path+": "+v.Message, maxViolationBytes) }

// ViolationError says how a value does not fit a schema.
type ViolationError struct {
	Violations []Violation // sorted by path; the first few
	More       int         // how many were left out
}

func newViolationError(vs []Violation) *ViolationError {
	cut := min(len(vs), maxViolations)
	return &ViolationError{Violations: vs[:cut:cut], More: len(vs) - cut}
}

// Error joins the violations with "; ".
func (e *ViolationError) Error() string {
	parts := make([]string, 0, len(e.Violations)+1)
	for _, v := range e.Violations {
		parts = append(parts, v.String())
	}
	if e.More > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(parts, "; ")
}

// violations flattens a validation error into fields, sorted by path. value is what was validated; it tells an index
// from a key.
func violations(err *jsonschema.ValidationError, value any, root string) []Violation {
	var out []Violation
	collect(err, func(e *jsonschema.ValidationError) { out = append(out, explain(e, value, root)...) })
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].Path != out[j].Path {
			return out[i].Path < out[j].Path
		}
		return out[i].Message < out[j].Message
	})
	return out
}

// collect visits the errors that say something by themselves: leaves, and choices of which none fits.
func collect(err *jsonschema.ValidationError, visit func(*jsonschema.ValidationError)) {
	causes := err.Causes
	switch err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		causes = meant(err)
	case *kind.Not, *kind.Contains, *kind.PropertyNames:
		causes = nil
	}
	if len(causes) == 0 {
		visit(err)
		return
	}
	for _, c := range causes {
		collect(c, visit)
	}
}

// meant returns the one alternative whose type the value has, since that is the one its author meant; nothing when that
// is not clear.
func meant(choice *jsonschema.ValidationError) []*jsonschema.ValidationError {
	var fitting []*jsonschema.ValidationError
	for _, alternative := range choice.Causes {
		if !wrongType(alternative, len(choice.InstanceLocation)) {
			fitting = append(fitting, alternative)
		}
	}
	if len(fitting) == 1 && len(choice.Causes) > 1 {
		return fitting
	}
	return nil
}

// wrongType reports whether the value at a depth itself has another type, choices inside not looked at.
func wrongType(err *jsonschema.ValidationError, depth int) bool {
	if len(err.InstanceLocation) > depth {
		return false
	}
	switch err.ErrorKind.(type) {
	case *kind.Type:
		return true
	case *kind.AnyOf, *kind.OneOf:
		return false
	}
	for _, c := range err.Causes {
		if wrongType(c, depth) {
			return true
		}
	}
	return false
}

// missing returns the properties of which one must be there, if that is all that the alternatives ask for.
func missing(choice *jsonschema.ValidationError) []string {
	var out []string
	for _, alternative := range choice.Causes {
		k, ok := alternative.ErrorKind.(*kind.Required)
		if !ok || len(k.Missing) != 1 {
			return nil
		}
		out = append(out, clip(k.Missing[0], 64))
	}
	return out
}

func explain(err *jsonschema.ValidationError, value any, root string) []Violation {
	at := func(tokens []string, message string) Violation {
		return Violation{Path: fieldPath(root, tokens, value), Message: message, tokens: tokens}
	}
	each := func(props []string, message string) []Violation {
		out := make([]Violation, len(props))
		for i, p := range props {
			out[i] = at(append(append([]string(nil), err.InstanceLocation...), p), message)
		}
		return out
	}
	switch k := err.ErrorKind.(type) {
	case *kind.Required:
		return each(k.Missing, "required property is missing")
	case *kind.AdditionalProperties:
		return each(k.Properties, "unknown property")
	case *kind.DependentRequired:
		return each(k.Missing, fmt.Sprintf("required property is missing, since %q is there", clip(k.Prop, 64)))
	case *kind.FalseSchema:
		return []Violation{at(err.InstanceLocation, "not allowed here")}
	}
	return []Violation{at(err.InstanceLocation, describe(err))}
}

// describe says what was expected. It never renders a whole value: that may be megabytes.
func describe(err *jsonschema.ValidationError) string {
	switch k := err.ErrorKind.(type) {
	case *kind.Type:
		return fmt.Sprintf("expected %s, got %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return "expected one of " + oneOf(k.Want)
	case *kind.Const:
		return "expected " + oneOf([]any{k.Want})
	case *kind.Pattern:
		return fmt.Sprintf("does not match the pattern %q", clip(k.Want, 120))
	case *kind.Format:
		if k.Want == "regex" {
			return fmt.Sprintf("expected a regular expression: %s", clip(fmt.Sprint(k.Err), 160))
		}
		return "expected a valid " + clip(k.Want, 64)
	case *kind.OneOf:
		if len(k.Subschemas) > 1 {
			return "fits more than one of the alternatives"
		}
		return noneFits(err)
	case *kind.AnyOf:
		return noneFits(err)
	case *kind.Not:
		return "has a form that is not allowed"
	case *kind.PropertyNames:
		return fmt.Sprintf("the property name %q is not allowed", clip(k.Property, 64))
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	}
	if s := describeRange(err.ErrorKind); s != "" {
		return s
	}
	return "does not satisfy " + strings.Join(err.ErrorKind.KeywordPath(), ".")
}

// describeRange says what is too small or too large.
func describeRange(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinLength:
		return fmt.Sprintf("expected at least %d characters, got %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("expected at most %d characters, got %d", k.Want, k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("expected at least %d items, got %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("expected at most %d items, got %d", k.Want, k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf("expected at least %d properties, got %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("expected at most %d properties, got %d", k.Want, k.Got)
	case *kind.Minimum:
		return fmt.Sprintf("expected at least %s, got %s", number(k.Want), number(k.Got))
	case *kind.Maximum:
		return fmt.Sprintf("expected at most %s, got %s", number(k.Want), number(k.Got))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("expected more than %s, got %s", number(k.Want), number(k.Got))
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf("expected less than %s, got %s", number(k.Want), number(k.Got))
	case *kind.MultipleOf:
		return fmt.Sprintf("expected a multiple of %s, got %s", number(k.Want), number(k.Got))
	}
	return ""
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return clip(r.Num().String(), 40)
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func noneFits(err *jsonschema.ValidationError) string {
	if names := missing(err); names != nil {
		return "one of these is required: " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("fits none of the %d alternatives", len(err.Causes))
}

func oneOf(want []any) string {
	var parts []string
	for i, w := range want {
		if i == 10 {
			parts = append(parts, "...")
			break
		}
		b, err := json.Marshal(w)
		if err != nil {
			b = []byte("?")
		}
		parts = append(parts, clip(string(b), 40))
	}
	return strings.Join(parts, ", ")
}

var plainKey = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]{0,63}$`)

// fieldPath renders a place as root.key[3]."odd key".
func fieldPath(root string, tokens []string, value any) string {
	var b strings.Builder
	b.WriteString(root)
	for _, tok := range tokens {
		if b.Len() > maxViolationBytes {
			break
		}
		switch v := value.(type) {
		case []any:
			b.WriteString("[" + clip(tok, 20) + "]")
			value = nil
			if i, err := strconv.Atoi(tok); err == nil && i >= 0 && i < len(v) {
				value = v[i]
			}
		case map[string]any:
			writeKey(&b, tok)
			value = v[tok]
		default:
			writeKey(&b, tok)
		}
	}
	return b.String()
}

func writeKey(b *strings.Builder, key string) {
	b.WriteByte('.')
	if plainKey.MatchString(key) {
		b.WriteString(key)
		return
	}
	b.WriteString(strconv.Quote(clip(key, 64)))
}
