package tools

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/clever"
	"github.com/hotcell/hotcell/internal/wall"
)

// docs/tools.md has the bounds and the codes.
func TestDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.Join(strings.Fields(string(raw)), " ")
	opt := New(Options{}).opt
	for _, want := range []string{
		fmt.Sprintf("At most %d skills may lie around such a call", opt.Depth),
		fmt.Sprintf("one call may make %d of them", opt.Nested),
		fmt.Sprintf("One call may use tools %d times", opt.Uses),
		fmt.Sprintf("%d uses are under way at once and the others wait", opt.AtOnce),
		fmt.Sprintf("Of requests over HTTP %d are read at once", opt.AtOnce*desks),
		fmt.Sprintf("A call is told of at most %d tools, with names of at most %d bytes", wall.MaxTools, wall.MaxToolName),
		fmt.Sprintf("at most %d KiB each", maxArguments>>10),
		fmt.Sprintf("at most %d KiB at once", maxRead>>10),
		fmt.Sprintf("doesn't answer within %d s", int(connectTimeout.Seconds())),
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("no %q", want)
		}
	}
	for name := range builtins(nil) {
		if !strings.Contains(doc, "| `"+name+"` |") {
			t.Errorf("no row for %s", name)
		}
	}
	for _, code := range clever.SkillErrorTypes() {
		found := false
		for _, row := range strings.Split(string(raw), "\n") {
			if strings.Contains(row, "`"+string(code)+"`") && strings.Contains(row, fmt.Sprint(status(code))) {
				found = true
			}
		}
		if !found {
			t.Errorf("no row with %s and its status %d", code, status(code))
		}
	}
}
