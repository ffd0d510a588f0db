package skills

import (
	"os"
	"strings"
	"testing"
)

// docs/skills.md names every key of skill.yaml.
func TestEveryKeyIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/skills.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n## skill.yaml\n")
	table, _, _ := strings.Cut(rest, "\n### ")
	for key := range (&decoder{}).sidecarKeys(&sidecar{}) {
		if !strings.Contains(table, "`"+key+"`") {
			t.Errorf("%s is missing", key)
		}
	}
}
