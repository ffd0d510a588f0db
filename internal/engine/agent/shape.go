package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hotcell/hotcell/internal/engine"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// shape is what the answer must look like.
type shape struct {
	raw    json.RawMessage
	schema *jsonschema.Schema
}

// maxViolations is how many faults the model is told of at once.
const maxViolations = 10

// compileShape compiles an output schema; nil for none.
func compileShape(raw json.RawMessage) (*shape, error) {
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "{}" {
		return nil, nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, engine.Finalf(codeBadSkill, "output_schema is no JSON")
	}
	const where = "skill:///output_schema.json"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(where, doc); err != nil {
		return nil, engine.Finalf(codeBadSkill, "output_schema: %s", engine.OneLine(err.Error(), 300))
	}
	schema, err := c.Compile(where)
	if err != nil {
		return nil, engine.Finalf(codeBadSkill, "output_schema: %s", engine.OneLine(err.Error(), 300))
	}
	return &shape{raw: raw, schema: schema}, nil
}

type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("references to other documents are not allowed")
}

// fit finds the JSON in an answer and compares it with the schema. faults says what is wrong, for the model.
func (s *shape) fit(answer string) (data json.RawMessage, faults []string) {
	data = findJSON(answer)
	switch {
	case data == nil:
		return nil, []string{"the answer is no JSON"}
	case engine.TooDeep(data):
		return nil, []string{fmt.Sprintf("the answer is nested deeper than %d levels", engine.MaxDepth)}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err == nil {
		err = s.schema.Validate(value)
	}
	var wrong *jsonschema.ValidationError
	switch {
	case err == nil:
		return data, nil
	case !errors.As(err, &wrong):
		return nil, []string{engine.OneLine(err.Error(), 300)}
	}
	words := message.NewPrinter(language.English)
	leaves(wrong, func(e *jsonschema.ValidationError) {
		at := strings.Join(append([]string{"$"}, e.InstanceLocation...), "/")
		faults = append(faults, engine.OneLine(at+": "+e.ErrorKind.LocalizedString(words), 240))
	})
	if more := len(faults) - maxViolations; more > 0 {
		faults = append(faults[:maxViolations], fmt.Sprintf("and %d more", more))
	}
	return nil, faults
}

func leaves(e *jsonschema.ValidationError, visit func(*jsonschema.ValidationError)) {
	if len(e.Causes) == 0 {
		visit(e)
	}
	for _, c := range e.Causes {
		leaves(c, visit)
	}
}

// findJSON takes an answer as JSON: all of it, or what stands between fences, or from the first bracket to the last one.
// Models add words around.
func findJSON(answer string) json.RawMessage {
	answer = strings.TrimSpace(answer)
	candidates := []string{answer}
	if _, after, ok := strings.Cut(answer, "```"); ok {
		if inner, _, ok := strings.Cut(after, "```"); ok {
			candidates = append(candidates, strings.TrimPrefix(inner, "json"))
		}
	}
	for _, pair := range []string{"{}", "[]"} {
		from, to := strings.IndexByte(answer, pair[0]), strings.LastIndexByte(answer, pair[1])
		if from >= 0 && to > from {
			candidates = append(candidates, answer[from:to+1])
		}
	}
	for _, c := range candidates {
		if c = strings.TrimSpace(c); c != "" && json.Valid([]byte(c)) {
			return json.RawMessage(c)
		}
	}
	return nil
}
