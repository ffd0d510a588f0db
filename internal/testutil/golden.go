package testutil

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

// Update reports whether golden files are to be written: go test ./some/pkg -update.
func Update() bool { return *update }

// Golden compares got with the golden file at path, which is relative to the test's package, and fails the test with a
// diff where they differ. With -update it writes the file instead.
func Golden(t testing.TB, path string, got []byte) {
	t.Helper()
	golden(t, path, got, Update())
}

func golden(t testing.TB, path string, got []byte, update bool) {
	t.Helper()
	if update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("golden file: %v (run the test with -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got), run with -update if that is right:\n%s", path, diff)
	}
}
