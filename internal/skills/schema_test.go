package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
)

func compiled(t *testing.T, raw string) *Schema {
	t.Helper()
	s, err := compileSchema([]byte(raw), "arguments")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestValidateMessages(t *testing.T) {
	const object = `{"type":"object","required":["code"],"additionalProperties":false,"properties":{
		"code":{"type":"string","minLength":2,"maxLength":5,"pattern":"^a"},
		"lines":{"type":"integer","minimum":1},
		"mode":{"enum":["fast","slow"]},
		"odd key":{"const":1},
		"when":{"type":["string","null"]},
		"list":{"type":"array","maxItems":3,"items":{"type":"object","required":["id"]}}}}`
	const union = `{"type":"object","properties":{"x":{"anyOf":[{"type":"string","minLength":3},{"type":"array","items":{"type":"integer"}}]}},
		"oneOf":[{"required":["x"]},{"required":["y"]}]}`
	for name, tt := range map[string]struct{ schema, value, want string }{
		"fits":         {object, `{"code":"abc","lines":3.0,"mode":"fast","when":null}`, ""},
		"missing":      {object, `{}`, "arguments.code: required property is missing"},
		"wrong type":   {object, `{"code":"abc","lines":"3"}`, "arguments.lines: expected integer, got string"},
		"fraction":     {object, `{"code":"abc","lines":3.5}`, "arguments.lines: expected integer, got number"},
		"several":      {object, `{"lines":"3","code":7}`, "arguments.code: expected string, got number; arguments.lines: expected integer, got string"},
		"not object":   {object, `[1]`, "arguments: expected object, got array"},
		"unknown":      {object, `{"code":"abc","cod":1}`, "arguments.cod: unknown property"},
		"enum":         {object, `{"code":"abc","mode":"x"}`, `arguments.mode: expected one of "fast", "slow"`},
		"const":        {object, `{"code":"abc","odd key":2}`, `arguments."odd key": expected 1`},
		"short":        {object, `{"code":"a"}`, "arguments.code: expected at least 2 characters, got 1"},
		"long":         {object, `{"code":"aaaaaa"}`, "arguments.code: expected at most 5 characters, got 6"},
		"pattern":      {object, `{"code":"bbb"}`, `arguments.code: does not match the pattern "^a"`},
		"minimum":      {object, `{"code":"abc","lines":0}`, "arguments.lines: expected at least 1, got 0"},
		"types":        {object, `{"code":"abc","when":1}`, "arguments.when: expected null or string, got number"},
		"item":         {object, `{"code":"abc","list":[{"id":1},{}]}`, "arguments.list[1].id: required property is missing"},
		"items":        {object, `{"code":"abc","list":[{"id":1},{"id":1},{"id":1},{"id":1}]}`, "arguments.list: expected at most 3 items, got 4"},
		"union string": {union, `{"x":"ab"}`, "arguments.x: expected at least 3 characters, got 2"},
		"union array":  {union, `{"x":["a"]}`, "arguments.x[0]: expected integer, got string"},
		"union none":   {union, `{"x":true}`, "arguments.x: fits none of the 2 alternatives"},
		"one of":       {union, `{}`, "arguments: one of these is required: x, y"},
		"both":         {union, `{"x":"abc","y":1}`, "arguments: fits more than one of the alternatives"},
		"keyword":      {`{"contains":{"type":"string"}}`, `[1]`, "arguments: does not satisfy contains"},
		"multiple":     {`{"items":{"multipleOf":0.5}}`, `[0.5,0.75]`, "arguments[1]: expected a multiple of 0.5, got 0.75"},
		"unique":       {`{"uniqueItems":true}`, `[1,2,1]`, "arguments: items 0 and 2 are equal"},
		"huge number":  {object, `{"code":"abc","lines":1e999999}`, "arguments: the number 1e999999 is out of range"},
		"long number":  {object, `{"code":"abc","lines":` + strings.Repeat("9", 5000) + `}`, "arguments: the number " + strings.Repeat("9", 32) + "... is out of range"},
		"deep":         {`{"type":"object"}`, `{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, "arguments: nested deeper than 512 levels"},
	} {
		t.Run(name, func(t *testing.T) {
			err := compiled(t, tt.schema).Validate(decoded(t, tt.value))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestValidateKeepsMessagesShort(t *testing.T) {
	s := compiled(t, `{"type":"object","additionalProperties":{"type":"integer"}}`)
	v := map[string]any{}
	for i := range 1000 {
		v[fmt.Sprintf("%04d%s", i, strings.Repeat("\x1b[31m", 500))] = strings.Repeat("x", 10_000)
	}
	err := s.Validate(v)
	var ve *ViolationError
	if !errors.As(err, &ve) {
		t.Fatalf("got %v", err)
	}
	if len(ve.Violations) != maxViolations || ve.More != 1000-maxViolations {
		t.Errorf("%d violations and %d more", len(ve.Violations), ve.More)
	}
	if len(err.Error()) > 2000 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("message of %d bytes: %q", len(err.Error()), err.Error())
	}
}

func TestDialects(t *testing.T) {
	// "items" as a list means a tuple in draft 7, and is not allowed in 2020-12, where the word is prefixItems.
	tuple := `"type":"object","properties":{"p":{"type":"array",%q:[{"type":"integer"}]}}}`
	bad := decoded(t, `{"p":["x"]}`)
	for name, raw := range map[string]string{
		"default": fmt.Sprintf(`{`+tuple, "prefixItems"),
		"2020-12": fmt.Sprintf(`{"$schema":"https://json-schema.org/draft/2020-12/schema",`+tuple, "prefixItems"),
		"draft 7": fmt.Sprintf(`{"$schema":"http://json-schema.org/draft-07/schema#",`+tuple, "items"),
	} {
		t.Run(name, func(t *testing.T) {
			err := compiled(t, raw).Validate(bad)
			if err == nil || err.Error() != "arguments.p[0]: expected integer, got string" {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSchemasRefused(t *testing.T) {
	for name, tt := range map[string]struct{ raw, want string }{
		"remote":       {`{"$ref":"https://schemas.example/x.json"}`, "references to other documents are not allowed"},
		"file":         {`{"$ref":"file:///etc/passwd"}`, "references to other documents are not allowed"},
		"relative":     {`{"$ref":"other.json"}`, "references to other documents are not allowed"},
		"nested":       {`{"properties":{"a":{"$schema":"https://schemas.example/meta","$id":"x"}}}`, "references to other documents are not allowed"},
		"dialect":      {`{"$schema":"http://json-schema.org/draft-04/schema#"}`, "$schema: expected"},
		"dialect type": {`{"$schema":7}`, "$schema: expected"},
		"dangling":     {`{"$ref":"#/$defs/none"}`, "none"},
		"regexp":       {`{"properties":{"a":{"pattern":"(?=x)"}}}`, "regular expression"},
		"long regexp":  {`{"properties":{"a":{"pattern":"` + strings.Repeat("a", 2000) + `"}}}`, "regular expression"},
		"keyword":      {`{"properties":{"a":{"minLength":-1}}}`, "schema.properties.a.minLength"},
		"not object":   {`[]`, "expected a mapping"},
		"too large":    {`{"title":"` + strings.Repeat("x", maxSchemaBytes) + `"}`, "too many"},
		"too many":     {`{"enum":[` + strings.Repeat("1,", maxSchemaNodes) + `1]}`, "too many values"},
		"too deep":     {strings.Repeat(`{"not":`, 600) + `{}` + strings.Repeat(`}`, 600), "nested deeper"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compileSchema([]byte(tt.raw), "arguments")
			if err == nil {
				t.Fatal("it compiled")
			}
			mustContain(t, err.Error(), tt.want)
		})
	}
}

// Each case would take from minutes to ages without a bound.
func TestHostileSchemasEnd(t *testing.T) {
	doubling := `{"$defs":{`
	for i := range 60 {
		doubling += fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	doubling += `"d60":{"type":"object"}},"$ref":"#/$defs/d0"}`
	children := `{"anyOf":[{"properties":{"c":{"$ref":"#"}},"required":["no"]},{"properties":{"c":{"$ref":"#"}},"required":["no"]}]}`
	chain := strings.Repeat(`{"c":`, 100) + `{}` + strings.Repeat(`}`, 100)
	enum := `{"type":"object","additionalProperties":{"items":{"enum":[` + strings.Repeat(`"aaaaaaaaaaaaaaaaaaaa",`, 9000) + `1]}}}`
	values := `{"a":[` + strings.Repeat(`"aaaaaaaaaaaaaaaaaaab",`, 200_000) + `1]}`
	regexps := `{"type":"object","additionalProperties":{"pattern":"(([a-z]{1,9}x?){1,9}){1,9}$"}}`
	long := `{"a":"` + strings.Repeat("ab", 500_000) + `"}`
	for name, tt := range map[string]struct{ schema, value string }{
		"doubling references": {doubling, `{}`},
		"branching recursion": {children, chain},
		"long enumeration":    {enum, values},
		"large expression":    {regexps, long},
	} {
		t.Run(name, func(t *testing.T) {
			s := compiled(t, tt.schema)
			v := decoded(t, tt.value)
			began := time.Now()
			if err := s.Validate(v); err == nil {
				t.Error("it fits")
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("took %s", took)
			}
			// The next one has its own budget.
			if err := compiled(t, `{"type":"object"}`).Validate(map[string]any{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRecursiveSchemaWorks(t *testing.T) {
	s := compiled(t, `{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}}}`)
	v := `{"name":"x"}`
	for range 100 {
		v = `{"name":"n","children":[` + v + `,{"name":"leaf"}]}`
	}
	if err := s.Validate(decoded(t, v)); err != nil {
		t.Error(err)
	}
	err := s.Validate(decoded(t, `{"children":[{"children":[{"name":1}]}]}`))
	if err == nil || err.Error() != "arguments.children[0].children[0].name: expected string, got number" {
		t.Errorf("got %v", err)
	}
}

const argsYAML = `input_schema:
  type: object
  required: [who]
  properties: {who: {type: string}, times: {type: integer}}
output_schema:
  type: object
  required: [greeting]
arguments: {times: 2}
`

func TestArguments(t *testing.T) {
	sk := load(hello(argsYAML), "hello", reading{}).skill
	call := map[string]any{"who": "Ada"}
	got, err := sk.Arguments(call)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"who": "Ada", "times": json.Number("2")}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(call) != 1 {
		t.Errorf("the call's arguments were changed: %v", call)
	}
	got, err = sk.Arguments(map[string]any{"who": "Ada", "times": json.Number("5")})
	if err != nil || got["times"] != json.Number("5") {
		t.Errorf("the call does not win: %v, %v", got, err)
	}
	_, err = sk.Arguments(nil)
	e := a2e.AsError(err)
	if e.Code != a2e.SchemaViolation || e.Message != "arguments.who: required property is missing" || e.Retryable {
		t.Errorf("got %+v", e)
	}
}

func TestArgumentsWithoutSchema(t *testing.T) {
	sk := load(hello(""), "hello", reading{}).skill
	if _, err := sk.Arguments(map[string]any{"any": []any{1.0, true}}); err != nil {
		t.Error(err)
	}
	_, err := sk.Arguments(map[string]any{"n": json.Number("1e999999")})
	if e := a2e.AsError(err); e == nil || e.Code != a2e.SchemaViolation {
		t.Errorf("got %v", err)
	}
}

func TestCheckOutput(t *testing.T) {
	sk := load(hello(argsYAML), "hello", reading{}).skill
	if err := sk.CheckOutput(map[string]any{"greeting": "hi"}); err != nil {
		t.Error(err)
	}
	e := a2e.AsError(sk.CheckOutput(map[string]any{}))
	if e.Code != a2e.SkillError || e.Reason() != a2e.ReasonOutputSchema ||
		e.Message != "output does not match output_schema: data.greeting: required property is missing" {
		t.Errorf("got %+v", e)
	}
	if err := load(hello(""), "hello", reading{}).skill.CheckOutput(nil); err != nil {
		t.Error(err)
	}
}
