package skills

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What allowed-tools leaves out is not refused: a skill may use what its skill.yaml asks for, whatever it declares.
func TestAllowedToolsRefusesNothing(t *testing.T) {
	for _, declared := range []string{"", "allowed-tools: other\n", "allowed-tools: \"\"\n"} {
		fsys := mapFS("SKILL.md", "---\nname: hello\ndescription: x\n"+declared+"---\n", "main.py", "", "skill.yaml", "tools: [calculator]\n")
		s := load(fsys, "hello", reading{}).skill
		if s.Status != Published || !cmp.Equal(s.ToolNames, []string{"calculator"}) {
			t.Errorf("%q: %s, %v", declared, s.Status, s.ToolNames)
		}
	}
}
