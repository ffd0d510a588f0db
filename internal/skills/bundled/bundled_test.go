package bundled_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/skills/bundled"
	"github.com/hotcell/hotcell/internal/testutil"
)

func TestBundledSkillsAreSound(t *testing.T) {
	if got, n := skills.Lint(bundled.FS(), ".", skills.LintOptions{Profile: skills.Strict}); len(got) > 0 || n != 3 {
		t.Errorf("findings: %v", got)
	}
	var names []string
	for _, s := range library(t).List() {
		names = append(names, s.Name+" "+string(s.Status)+" "+s.Run.Kind)
		if s.Bundle.Digest == "" || s.Input == nil || s.Output == nil {
			t.Errorf("%s lacks a digest or a schema", s.Name)
		}
		got, err := json.MarshalIndent(s.Definition(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		testutil.Golden(t, "testdata/"+s.Name+".json", append(got, '\n'))
	}
	if diff := cmp.Diff([]string{"code-review Published python", "data-profile Published python", "time-arithmetic Published agent"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The protocol's own example of a discovery, as far as it can hold: our name has a hyphen, and our texts say more.
func TestCodeReviewIsTheProtocolsExample(t *testing.T) {
	const example = `{"version":"1.0.0","triggers":["review code","code review"],"tools":null,"toolkits":null,"status":"Published",
		"input_schema":{"type":"object","properties":{"code":{"type":"string"}},"required":["code"]},
		"when_to_use":"Use when code needs quality review","argument_hint":"Provide the code to review","source":"system",
		"category":"development","tags":["coding","review"],"max_turns":10,"timeout_seconds":120}`
	s, _ := library(t).Find("code_review")
	if s == nil {
		t.Fatal("code_review does not find code-review")
	}
	raw, err := json.Marshal(s.Definition())
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]any
	if err := json.Unmarshal([]byte(example), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for key, value := range want {
		if diff := cmp.Diff(value, got[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}
