package hostile

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// suites are the rows of each test that has some.
func suites() map[string][]row {
	return map[string][]row{
		"TestMemory": memoryRows(), "TestProcesses": processRows(), "TestKernel": kernelRows(), "TestPrivileges": privilegeRows(),
		"TestSystem": systemRows(), "TestRunner": runnerRows(), "TestReach": reachRows(), "TestDisk": diskRows(), "TestQuotas": quotaRows(),
		"TestProbes": probeRows(), "TestImages": imageRows(),
		"TestOutput": outputRows(), "TestFrames": frameRows(), "TestFiles": fileRows(), "TestBare": bareRows(),
	}
}

// What docs/security.md gives as proof is there.
func TestTheDocumentsProofsExist(t *testing.T) {
	doc, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	there := functions(t)
	all := suites()
	proofs := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)(?:/([a-z0-9-]+))?`").FindAllStringSubmatch(string(doc), -1)
	if len(proofs) < 50 {
		t.Errorf("only %d proofs", len(proofs))
	}
	for _, p := range proofs {
		test, name := p[1], p[2]
		if !there[test] {
			t.Errorf("there is no %s", test)
		}
		if name != "" && !slices.ContainsFunc(all[test], func(r row) bool { return r.name == name }) {
			t.Errorf("%s has no row %s", test, name)
		}
	}
}

// functions are the names of all tests and fuzz targets of the module.
func functions(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(b), -1) {
			found[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
