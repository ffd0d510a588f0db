package faults

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The table of traps has thirty rows, and each test that the page names is there.
func TestThePageNamesRealTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	if rows := regexp.MustCompile(`(?m)^\| \d+ \|`).FindAll(page, -1); len(rows) != 30 {
		t.Errorf("%d rows of traps", len(rows))
	}
	var code strings.Builder
	err = filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		b, err := os.ReadFile(name)
		code.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`\bTest[A-Z][A-Za-z0-9]+`).FindAllString(string(page), -1) {
		if !strings.Contains(code.String(), "func "+name+"(") {
			t.Errorf("%s is no test", name)
		}
	}
}
