package policies

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/skills.md has the bounds of every limit, and what workspace and out may take together.
func TestBoundsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/skills.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.ReplaceAll(string(text), "`", "")
	for _, f := range limitFields() {
		most := f.format(f.max)
		if f.name == fieldWorkspace || f.name == fieldOut {
			most = "see below"
		}
		row := fmt.Sprintf("\n| %s | %s | %s | %s |", strings.TrimPrefix(f.name, "limits."), f.format(f.def), f.format(f.min), most)
		if !strings.Contains(doc, row) {
			t.Errorf("no row %q", row)
		}
	}
	memory, room := "| memory |", "| workspace + out at most |"
	for _, m := range []Bytes{MinMemory, 64 * Mi, 128 * Mi, DefaultMemory, 512 * Mi, Gi, MaxMemory} {
		memory += fmt.Sprintf(" %s |", m)
		room += fmt.Sprintf(" %s |", ScratchSize(m))
	}
	if !strings.Contains(doc, memory+"\n") || !strings.Contains(doc, room+"\n") {
		t.Errorf("no rows\n%s\n%s", memory, room)
	}
	if row := fmt.Sprintf("from 1 to %d;", int(MaxTimeout.Seconds())); !strings.Contains(doc, row) {
		t.Errorf("no %q", row)
	}
}
