package clever

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/testutil"
)

func ptr[T any](v T) *T { return &v }

// must returns what a constructor made.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

var (
	reader = ResolvedToolEntry{Name: "read_file", SourceType: "builtin"}
	writer = ResolvedToolEntry{Name: "mcp:files/write", SourceType: "mcp", Writes: true}
	mailer = ResolvedToolEntry{Name: "mail", SourceType: "inline", Inline: true, HasSideEffects: true}
	inline = ResolvedToolEntry{Name: "patch", SourceType: "inline", Inline: true, Writes: true}
)

// rejected checks that an error is a ValidationError with these words in it; "" is no error.
func rejected(t *testing.T, err error, want string) {
	t.Helper()
	var wrong *ValidationError
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("accepted, want %q", want)
	case want != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), want)):
		t.Errorf("got %T %q, want %q", err, err, want)
	}
}

// Each case is named after the sentence of the protocol that it holds to.
func TestErrorTypes(t *testing.T) {
	want := []SkillErrorType{
		"skill_not_found", "resolution_failure", "cycle_detected", "tool_activation_failure", "tool_execution_failure",
		"validation_error", "permission_denied",
	}
	if diff := cmp.Diff(want, SkillErrorTypes()); diff != "" {
		t.Errorf("SkillErrorType has the following members (-want +got):\n%s", diff)
	}
	for _, typ := range want {
		raw, err := json.Marshal(typ)
		var back SkillErrorType
		if err != nil || string(raw) != `"`+string(typ)+`"` || json.Unmarshal(raw, &back) != nil || back != typ {
			t.Errorf("%s does not travel as a string: %s %v", typ, raw, err)
		}
	}
	var other SkillErrorType
	if err := json.Unmarshal([]byte(`"timeout"`), &other); err == nil || other != "" {
		t.Errorf("another value became %q", other)
	}
}

func TestSkillErrorRules(t *testing.T) {
	good := SkillErrorFields{ErrorType: SkillNotFound, Message: "m", SkillName: "local/a"}
	for name, tt := range map[string]struct {
		change func(*SkillErrorFields)
		want   string
	}{
		"all required fields are enough":                    {func(*SkillErrorFields) {}, ""},
		"error_type: SkillErrorType, required":              {func(f *SkillErrorFields) { f.ErrorType = "" }, "error_type"},
		"error_type: one of the categories":                 {func(f *SkillErrorFields) { f.ErrorType = "oops" }, `error_type: "oops" is not one of`},
		"error payloads always include skill_name":          {func(f *SkillErrorFields) { f.SkillName = "" }, "skill_name: required"},
		"tool_name is optional":                             {func(f *SkillErrorFields) { f.ToolName = ptr("local/t") }, ""},
		"details: diagnostic context, a JSON object":        {func(f *SkillErrorFields) { f.Details = map[string]any{"a": []any{1, nil}} }, ""},
		"details: what is no JSON value cannot be in there": {func(f *SkillErrorFields) { f.Details = map[string]any{"f": func() {}} }, "details: f: "},
	} {
		t.Run(name, func(t *testing.T) {
			f := good
			tt.change(&f)
			_, err := NewSkillError(f)
			rejected(t, err, tt.want)
		})
	}
}

func TestSkillMetadataRules(t *testing.T) {
	good := SkillMetadataFields{Name: "local/a", Description: "d"}
	for name, tt := range map[string]struct {
		change func(*SkillMetadataFields)
		want   string
	}{
		"name and description are enough":                {func(*SkillMetadataFields) {}, ""},
		"name has no default":                            {func(f *SkillMetadataFields) { f.Name = "" }, "name: required"},
		"tool_count is a number of tools":                {func(f *SkillMetadataFields) { f.ToolCount = -1 }, "tool_count"},
		"writes with the default of read_only":           {func(f *SkillMetadataFields) { f.Writes = true }, "exclude each other"},
		"writes and read_only":                           {func(f *SkillMetadataFields) { f.Writes, f.ReadOnly = true, ptr(true) }, "exclude each other"},
		"writes and not read_only":                       {func(f *SkillMetadataFields) { f.Writes, f.ReadOnly = true, ptr(false) }, ""},
		"read_only, and tools that write":                {func(f *SkillMetadataFields) { f.CapabilitySummary.WriteTools = 1 }, "read_only, but capability_summary"},
		"neither":                                        {func(f *SkillMetadataFields) { f.ReadOnly = ptr(false) }, ""},
		"a summary counts tools, which are not negative": {func(f *SkillMetadataFields) { f.CapabilitySummary.WriteTools = -2 }, "write_tools"},
	} {
		t.Run(name, func(t *testing.T) {
			f := good
			tt.change(&f)
			_, err := NewSkillMetadata(f)
			rejected(t, err, tt.want)
		})
	}
	m := must(NewSkillMetadata(good))(t)
	want := SkillMetadataFields{Name: "local/a", Description: "d", Version: "0.0.0", SourceTypes: []string{}, ReadOnly: ptr(true)}
	if diff := cmp.Diff(want, m.Fields()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestFromSkill(t *testing.T) {
	skill := Skill{Name: "local/a", Description: "d"}
	for name, tt := range map[string]struct {
		tools            []ResolvedToolEntry
		writes, readOnly bool
		count            int
		sources          []string
	}{
		"no tools: read_only": {nil, false, true, 0, []string{}},
		"read_only = True when write_tools == 0 and no side effects": {[]ResolvedToolEntry{reader, reader}, false, true, 2, []string{"builtin"}},
		"writes = True when write_tools > 0":                         {[]ResolvedToolEntry{reader, writer}, true, false, 2, []string{"builtin", "mcp"}},
		"writes = True when has_side_effects is true":                {[]ResolvedToolEntry{mailer}, true, false, 1, []string{"inline"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := must(MetadataFromSkill(skill, tt.tools, "1.0.0"))(t)
			f := m.Fields()
			if m.Writes() != tt.writes || m.ReadOnly() != tt.readOnly || f.ToolCount != tt.count || f.Version != "1.0.0" {
				t.Errorf("got %+v", f)
			}
			if diff := cmp.Diff(tt.sources, f.SourceTypes); diff != "" {
				t.Errorf("source_types are distinct labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(Summarize(tt.tools), f.CapabilitySummary); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSkillDefinitionRules(t *testing.T) {
	skill := Skill{Name: "local/a", Description: "d"}
	readOnly := must(MetadataFromSkill(skill, nil, ""))(t)
	writes := must(MetadataFromSkill(skill, []ResolvedToolEntry{writer}, ""))(t)
	object := map[string]any{"type": "object"}
	for name, tt := range map[string]struct {
		fields SkillDefinitionFields
		want   string
	}{
		"skill and metadata are enough":    {SkillDefinitionFields{Skill: skill, Metadata: readOnly}, ""},
		"skill is required":                {SkillDefinitionFields{Metadata: readOnly}, "skill: required"},
		"metadata is required":             {SkillDefinitionFields{Skill: skill}, "metadata: required"},
		"input_schema includes type":       {SkillDefinitionFields{Skill: skill, Metadata: readOnly, InputSchema: object, OutputSchema: object}, ""},
		"input_schema without type":        {SkillDefinitionFields{Skill: skill, Metadata: readOnly, InputSchema: map[string]any{}}, `input_schema: a JSON Schema must include "type"`},
		"output_schema without type":       {SkillDefinitionFields{Skill: skill, Metadata: readOnly, OutputSchema: map[string]any{"$ref": "x"}}, `output_schema: a JSON Schema must include "type"`},
		"read_only, and no tool writes":    {SkillDefinitionFields{Skill: skill, Metadata: readOnly, ResolvedTools: []ResolvedToolEntry{reader}}, ""},
		"read_only, an inline tool writes": {SkillDefinitionFields{Skill: skill, Metadata: readOnly, ResolvedTools: []ResolvedToolEntry{reader, inline}}, `read_only, but the tool "patch" writes`},
		"read_only, another tool writes":   {SkillDefinitionFields{Skill: skill, Metadata: readOnly, ResolvedTools: []ResolvedToolEntry{writer}}, `read_only, but the tool "mcp:files/write" writes`},
		"read_only, a tool has effects":    {SkillDefinitionFields{Skill: skill, Metadata: readOnly, ResolvedTools: []ResolvedToolEntry{mailer}}, "read_only, but"},
		"writes, and a tool writes":        {SkillDefinitionFields{Skill: skill, Metadata: writes, ResolvedTools: []ResolvedToolEntry{writer}}, ""},
		"writes, and no tools are listed":  {SkillDefinitionFields{Skill: skill, Metadata: writes}, ""},
		"writes, and the only tool cannot": {SkillDefinitionFields{Skill: skill, Metadata: must(NewSkillMetadata(SkillMetadataFields{
			Name: "local/a", Description: "d", Writes: true, ReadOnly: ptr(false),
		}))(t), ResolvedTools: []ResolvedToolEntry{reader}}, "writes, but no resolved tool does"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewSkillDefinition(tt.fields)
			rejected(t, err, tt.want)
		})
	}
}

func TestSkillResultRules(t *testing.T) {
	good := SkillResultFields{SkillName: "local/a", ToolName: "time", Success: true}
	for name, tt := range map[string]struct {
		change func(*SkillResultFields)
		want   string
	}{
		"skill, tool and success are enough":      {func(*SkillResultFields) {}, ""},
		"skill_name has no default":               {func(f *SkillResultFields) { f.SkillName = "" }, "skill_name: required"},
		"tool_name has no default":                {func(f *SkillResultFields) { f.ToolName = "" }, "tool_name: required"},
		"duration_ms is a time":                   {func(f *SkillResultFields) { f.DurationMS = -0.1 }, "duration_ms"},
		"duration_ms is a number":                 {func(f *SkillResultFields) { f.DurationMS = math.NaN() }, "duration_ms"},
		"output_data: Any, as long as it is JSON": {func(f *SkillResultFields) { f.OutputData = make(chan int) }, "output_data"},
		"resource_changes are objects":            {func(f *SkillResultFields) { f.ResourceChanges = []map[string]any{nil} }, "resource_changes[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			f := good
			tt.change(&f)
			_, err := NewSkillResult(f)
			rejected(t, err, tt.want)
		})
	}
	want := SkillResultFields{SkillName: "local/a", ToolName: "time", Success: true, ResourceChanges: []map[string]any{}}
	if diff := cmp.Diff(want, must(NewSkillResult(good))(t).Fields()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func value(text string) error      { return &ValueError{errors.New(text)} }
func permission(text string) error { return &PermissionError{errors.New(text)} }
func validation(text string) error { return &ValidationError{errors.New(text)} }

func TestMapToolError(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want SkillErrorType
	}{
		`ValueError, message contains "cycle"`:                   {value("a Cycle of includes"), CycleDetected},
		`ValueError, message contains "not found"`:               {value("skill Not Found"), SkillNotFound},
		`ValueError (other)`:                                     {value("bad include"), ResolutionFailure},
		`PermissionError`:                                        {permission("no"), PermissionDenied},
		`PermissionError of the system`:                          {fmt.Errorf("open x: %w", fs.ErrPermission), PermissionDenied},
		`ValidationError`:                                        {validation("x: required"), ValidationFailure},
		`any, message contains "activation"`:                     {errors.New("tool Activation went wrong"), ToolActivationFailure},
		`any (other)`:                                            {errors.New("boom"), ToolExecutionFailure},
		`among ValueErrors "cycle" wins over "not found"`:        {value("not found: cycle"), CycleDetected},
		`a ValidationError is no ValueError here`:                {validation("cycle not found"), ValidationFailure},
		`"activation" in a ValueError stays with the typed rule`: {value("activation"), ResolutionFailure},
		`"activation" in a PermissionError does too`:             {permission("activation"), PermissionDenied},
		`"cycle" in any other error says nothing`:                {errors.New("cycle not found"), ToolExecutionFailure},
		`a wrapped error counts by its type`:                     {fmt.Errorf("using it: %w", value("x")), ResolutionFailure},
		`permission comes before validation`:                     {errors.Join(validation("x"), permission("y")), PermissionDenied},
		`no error at all`:                                        {nil, ToolExecutionFailure},
	} {
		t.Run(name, func(t *testing.T) {
			f := MapToolError(tt.err, "local/my-skill", "local/my-tool").Fields()
			want := SkillErrorFields{ErrorType: tt.want, Details: map[string]any{}, SkillName: "local/my-skill", ToolName: ptr("local/my-tool")}
			if tt.err != nil {
				want.Message = tt.err.Error()
			}
			if diff := cmp.Diff(want, f); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if f := MapToolError(value("x"), "", "").Fields(); f.ToolName != nil || f.SkillName == "" {
		t.Errorf("tool_name is optional, skill_name is not: %+v", f)
	}
}

// All protocol types are frozen.
func TestFrozen(t *testing.T) {
	details := map[string]any{"list": []any{"a", map[string]any{"k": "v"}}}
	tool := "t"
	e := must(NewSkillError(SkillErrorFields{ErrorType: SkillNotFound, SkillName: "s", Details: details, ToolName: &tool}))(t)
	sources := []string{"builtin"}
	m := must(NewSkillMetadata(SkillMetadataFields{Name: "s", SourceTypes: sources}))(t)
	tools := []ResolvedToolEntry{reader}
	schema := map[string]any{"type": "object", "required": []any{"a"}}
	d := must(NewSkillDefinition(SkillDefinitionFields{Skill: Skill{Name: "s"}, Metadata: m, ResolvedTools: tools, InputSchema: schema}))(t)
	r := must(NewSkillResult(SkillResultFields{
		SkillName: "s", ToolName: "t", OutputData: details, Error: &e, ResourceChanges: []map[string]any{{"path": "x"}},
	}))(t)
	before := dump(t, e, m, d, r)

	details["list"].([]any)[1].(map[string]any)["k"] = "changed"
	details["new"], tool, sources[0], tools[0].Name, schema["required"].([]any)[0] = 1, "changed", "changed", "changed", "changed"
	f := e.Fields()
	f.Details["list"].([]any)[0] = "changed"
	*f.ToolName = "changed"
	m.Fields().SourceTypes[0] = "changed"
	*m.Fields().ReadOnly = false
	d.Fields().ResolvedTools[0].Name = "changed"
	d.Fields().InputSchema["type"] = "changed"
	r.Fields().ResourceChanges[0]["path"] = "changed"
	r.Fields().OutputData.(map[string]any)["list"].([]any)[0] = "changed"
	*r.Fields().Error = SkillError{}
	_ = e.With("more", 1)
	if diff := cmp.Diff(before, dump(t, e, m, d, r)); diff != "" {
		t.Errorf("something changed (-want +got):\n%s", diff)
	}
	for _, v := range []json.Unmarshaler{&e, &m, &d, &r} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.UnmarshalJSON(raw); !errors.Is(err, errFrozen) {
			t.Errorf("%T was decoded into twice: %v", v, err)
		}
	}
}

func dump(t *testing.T, values ...any) string {
	t.Helper()
	var b strings.Builder
	for _, v := range values {
		raw, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(raw, '\n'))
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	skill := Skill{Name: "local/my-skill", Description: "Does it."}
	tools := []ResolvedToolEntry{reader, writer, inline}
	meta := must(MetadataFromSkill(skill, tools, "1.2.0"))(t)
	bare := must(MetadataFromSkill(skill, nil, ""))(t)
	failure := MapToolError(value("include not found: other"), "local/my-skill", "local/my-tool").With("include", "other")
	for file, v := range map[string]any{
		"skill_error":           failure,
		"skill_error_bare":      MapToolError(errors.New("boom"), "local/my-skill", ""),
		"skill_metadata":        meta,
		"skill_metadata_bare":   bare,
		"skill_definition":      must(NewSkillDefinition(SkillDefinitionFields{Skill: skill, ResolvedTools: tools, Metadata: meta, InputSchema: map[string]any{"type": "object", "properties": map[string]any{"query": map[string]any{"type": "string"}}}}))(t),
		"skill_definition_bare": must(NewSkillDefinition(SkillDefinitionFields{Skill: skill, Metadata: bare}))(t),
		"skill_result":          must(NewSkillResult(SkillResultFields{SkillName: skill.Name, ToolName: "time", Success: true, OutputData: map[string]any{"utc": "now"}, DurationMS: 1.25, ResourceChanges: []map[string]any{{"path": "/x"}}}))(t),
		"skill_result_failure":  must(NewSkillResult(SkillResultFields{SkillName: skill.Name, ToolName: "time", Error: &failure}))(t),
	} {
		t.Run(file, func(t *testing.T) {
			text := dump(t, v)
			testutil.Golden(t, "testdata/"+file+".json", []byte(text))
			back := map[string]json.Unmarshaler{"skill_e": new(SkillError), "skill_m": new(SkillMetadata), "skill_d": new(SkillDefinition), "skill_r": new(SkillResult)}[file[:7]]
			if err := json.Unmarshal([]byte(text), back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(text, dump(t, back)); diff != "" {
				t.Errorf("there and back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	for name, tt := range map[string]struct {
		into json.Unmarshaler
		text string
		want string
	}{
		"unknown keys are ignored":       {new(SkillError), `{"error_type":"cycle_detected","message":"","skill_name":"s","x":1}`, ""},
		"a required key is missing":      {new(SkillError), `{"error_type":"cycle_detected","skill_name":"s"}`, "message: required"},
		"a required key is null":         {new(SkillResult), `{"skill_name":"s","tool_name":"t","success":null}`, "success: required"},
		"the wrong type":                 {new(SkillResult), `{"skill_name":"s","tool_name":"t","success":"yes"}`, "SkillResult: "},
		"no object":                      {new(SkillMetadata), `[]`, "expected a JSON object"},
		"another error type":             {new(SkillError), `{"error_type":"x","message":"","skill_name":"s"}`, "is not one of"},
		"defaults are filled in":         {new(SkillMetadata), `{"name":"s","description":""}`, ""},
		"writes without read_only":       {new(SkillMetadata), `{"name":"s","description":"","writes":true}`, "exclude each other"},
		"wrong metadata in a definition": {new(SkillDefinition), `{"skill":{"name":"s"},"metadata":{"name":"s","description":"","writes":true}}`, "SkillDefinition: SkillMetadata: writes and"},
		"a schema without type":          {new(SkillDefinition), `{"skill":{"name":"s"},"metadata":{"name":"s","description":""},"input_schema":{}}`, `must include "type"`},
		"a schema that is null":          {new(SkillDefinition), `{"skill":{"name":"s"},"metadata":{"name":"s","description":""},"input_schema":null}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rejected(t, json.Unmarshal([]byte(tt.text), tt.into), tt.want)
		})
	}
}
