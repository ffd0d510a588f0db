package broker

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/llm"
)

// Every test that docs/credentials.md calls as its witness is there, and so is every endpoint.
func TestTheDocumentedIsThere(t *testing.T) {
	data, err := os.ReadFile("../../docs/credentials.md")
	if err != nil {
		t.Fatal(err)
	}
	text, tests := string(data), ""
	for _, dir := range []string{".", "../config", "../secrets", "../tools", "../skills", "../vault", "../../cmd/hotcell", "../../integration", "../../executor", "../store"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			source, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			tests += string(source)
		}
	}
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(text, -1) {
		if !strings.Contains(tests, "func "+name+"(") {
			t.Errorf("there is no %s", name)
		}
	}
	for _, kind := range llm.Kinds() {
		for _, rt := range routes(llm.Kind(kind)) {
			if !strings.Contains(text, "`"+rt.method+" "+rt.path+"`") {
				t.Errorf("%s %s is missing", rt.method, rt.path)
			}
		}
	}
}
