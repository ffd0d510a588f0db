package skills

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/testutil"
)

func TestDefinitionGolden(t *testing.T) {
	for name, yaml := range map[string]string{
		"full":    fullSidecar,
		"minimal": "",
		"names":   "arguments: [who, times]\nstatus: Archived\n",
		"derived": "input_schema: {type: object, required: [who], properties: {who: {type: string}, n: {type: integer}, any: {}}}\n",
		"blocked": "status: Blocked\n",
	} {
		t.Run(name, func(t *testing.T) {
			sk := load(hello(yaml), "hello", reading{}).skill
			sk.Source = SourceProject
			got, err := json.MarshalIndent(sk.Definition(), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			testutil.Golden(t, "testdata/definition_"+name+".json", append(got, '\n'))
		})
	}
}

func TestWireSource(t *testing.T) {
	for label, want := range map[string]string{
		SourceProject: "project", SourceUser: "user", SourceCore: "system", "framework": "system", "some-plugin": "system", "": "system",
	} {
		if got := (&Skill{Source: label}).Definition().Source; got != want {
			t.Errorf("%q became %q, want %q", label, got, want)
		}
	}
}

func TestFilter(t *testing.T) {
	skill := func(name string, st Status, category string, tags ...string) *Skill {
		return &Skill{Name: name, Status: st, Category: category, Tags: tags}
	}
	all := []*Skill{
		skill("a", Published, "development", "coding", "review"),
		skill("b", Published, "data", "coding"),
		skill("c", Published, ""),
		skill("d", Blocked, "development", "coding"),
		skill("e", Archived, "development", "coding"),
		skill("f", Created, "development", "coding"),
	}
	for name, tt := range map[string]struct{ tags, categories, want []string }{
		"all published":  {nil, nil, []string{"a", "b", "c"}},
		"empty lists":    {[]string{}, []string{}, []string{"a", "b", "c"}},
		"tag":            {[]string{"coding"}, nil, []string{"a", "b"}},
		"tags are or":    {[]string{"review", "coding"}, nil, []string{"a", "b"}},
		"category":       {nil, []string{"data"}, []string{"b"}},
		"categories or":  {nil, []string{"data", "development"}, []string{"a", "b"}},
		"both are and":   {[]string{"coding"}, []string{"development"}, []string{"a"}},
		"case matters":   {[]string{"Coding"}, nil, nil},
		"no match":       {[]string{"x"}, []string{"data"}, nil},
		"empty category": {nil, []string{""}, []string{"c"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range Filter(all, tt.tags, tt.categories) {
				got = append(got, s.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
