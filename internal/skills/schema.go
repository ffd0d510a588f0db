package skills

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	maxSchemaBytes = 256 << 10
	maxSchemaNodes = 10_000 // JSON values in one schema
)

// The dialects of JSON Schema that a skill may use.
const (
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
	draft7    = "http://json-schema.org/draft-07/schema"
)

// schemaURL is where a schema is said to be, so that references inside it resolve. Nothing is ever read from it.
const schemaURL = "skill:///schema.json"

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	root     string // what the value is called in messages
	compiled *jsonschema.Schema
	nodes    int

	mu    sync.Mutex // one validation at a time: the meter is theirs together
	meter *meter
}

// schemaError is why a schema does not compile, and where in it.
type schemaError struct {
	at      []string // tokens of a JSON pointer
	message string
}

func (e *schemaError) Error() string { return e.message }

// CompileSchema compiles a schema that is no bundle's, such as that of a tool; root names the values it judges.
func CompileSchema(raw []byte, root string) (*Schema, error) { return compileSchema(raw, root) }

// compileSchema compiles a schema; root names the values it judges ("arguments"). References to other documents are
// refused, and so is what would be too much work.
func compileSchema(raw []byte, root string) (*Schema, error) {
	if len(raw) > maxSchemaBytes {
		return nil, &schemaError{message: fmt.Sprintf("%d bytes are too many; the most is %d", len(raw), maxSchemaBytes)}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, &schemaError{message: "not JSON: " + clip(err.Error(), 200)}
	}
	nodes, err := measure(doc, "schema", maxSchemaNodes)
	if err != nil {
		return nil, &schemaError{message: err.Error()}
	}
	if err := checkDialect(doc); err != nil {
		return nil, err
	}
	m := &meter{}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(m.compile)
	c.RegisterVocabulary(m.vocabulary())
	c.AssertVocabs()
	var compiled *jsonschema.Schema
	err = m.run(func() error {
		if err := c.AddResource(schemaURL, doc); err != nil {
			return err
		}
		compiled, err = c.Compile(schemaURL)
		return err
	})
	if err != nil {
		return nil, explainSchema(err)
	}
	return &Schema{root: root, compiled: compiled, nodes: nodes, meter: m}, nil
}

func checkDialect(doc any) error {
	m, ok := doc.(map[string]any)
	if !ok {
		return &schemaError{message: "expected a mapping"}
	}
	id, ok := m["$schema"]
	if !ok {
		return nil
	}
	s, _ := id.(string)
	if !slices.Contains([]string{draft2020, draft2020 + "#", draft7, draft7 + "#"}, s) {
		return &schemaError{at: []string{"$schema"}, message: fmt.Sprintf("$schema: expected %s or %s#", draft2020, draft7)}
	}
	return nil
}

// noLoader refuses every document but the schema itself.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("references to other documents are not allowed")
}

// explainSchema finds the place and the plain words in what the compiler says.
func explainSchema(err error) error {
	var (
		wrong *jsonschema.SchemaValidationError
		load  *jsonschema.LoadURLError
		regex *jsonschema.InvalidRegexError
		cause *jsonschema.ValidationError
	)
	switch {
	case errors.As(err, &wrong) && errors.As(wrong.Err, &cause):
		vs := violations(cause, nil, "schema")
		if len(vs) > 0 {
			return &schemaError{at: vs[0].tokens, message: vs[0].String()}
		}
	case errors.As(err, &load):
		return &schemaError{message: fmt.Sprintf("%q: references to other documents are not allowed", clip(load.URL, 128))}
	case errors.As(err, &regex):
		return &schemaError{message: fmt.Sprintf("%q is not a regular expression that can be used: %s",
			clip(regex.Regex, 128), clip(fmt.Sprint(regex.Err), 200))}
	}
	return &schemaError{message: clip(err.Error(), 300)}
}

// Validate checks a decoded JSON value. Numbers may be json.Number. The error is a [*ViolationError] that names at most
// a few fields.
func (s *Schema) Validate(v any) error {
	nodes, err := measure(v, s.root, maxValueNodes)
	if err != nil {
		return err
	}
	if nodes*s.nodes > maxProduct {
		return fmt.Errorf("%s: too many values (%d) for a schema of this size", s.root, nodes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.meter.run(func() error { return s.compiled.Validate(v) })
	var wrong *jsonschema.ValidationError
	switch {
	case errors.As(err, &wrong):
		return newViolationError(violations(wrong, v, s.root))
	case err != nil:
		return fmt.Errorf("%s: %w", s.root, err)
	}
	return nil
}
