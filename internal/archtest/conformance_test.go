package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every sentence in docs/conformance.md names tests, and they are there, sub-tests included.
func TestConformanceNamesTests(t *testing.T) {
	doc, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	there := testFiles(t)
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)(?:/([^`]+))?`")
	rows := 0
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 2 || strings.HasPrefix(line, "| sentence") || strings.HasPrefix(line, "| code,") {
			continue
		}
		rows++
		tests := named.FindAllStringSubmatch(cells[1], -1)
		if len(tests) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, m := range tests {
			text, ok := there[m[1]]
			if !ok {
				t.Errorf("there is no %s: %s", m[1], line)
			}
			if sub := m[2]; sub != "" && !strings.Contains(text, `"`+strings.ReplaceAll(sub, "_", " ")+`"`) && !strings.Contains(text, `"`+sub+`"`) &&
				!strings.Contains(strings.ReplaceAll(text, " ", "_"), `"`+sub+`"`) {
				t.Errorf("%s has no %q: %s", m[1], sub, line)
			}
		}
	}
	if rows < 180 {
		t.Errorf("only %d rows", rows)
	}
}

// Every code of the format, and every code of the skills API, has a row in docs/conformance.md.
func TestConformanceHasEveryCode(t *testing.T) {
	doc, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	for file, constant := range map[string]*regexp.Regexp{
		"../skills/finding.go": regexp.MustCompile(`(?m)^\tCode\w+ += "([A-Z_]+)"$`), // those with a comment are ours
		"../catalog/error.go":  regexp.MustCompile(`(?m)^\t\w+ +Code = "([A-Z_]+)"`),
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		codes := constant.FindAllStringSubmatch(string(text), -1)
		if len(codes) < 20 {
			t.Errorf("%s: only %d codes", file, len(codes))
		}
		for _, m := range codes {
			if !regexp.MustCompile(`(?m)^\| .*\b` + m[1] + `\b.* \| ` + "`").Match(doc) {
				t.Errorf("no row: %s", m[1])
			}
		}
	}
}

// testFiles returns the text of the file that declares each test of the module.
func testFiles(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(b), -1) {
			found[m[1]] = string(b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
