package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A name that no engine takes is refused before anything is written.
func TestImagesRunnerNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runner.tar")
	for _, ref := range []string{"Bad Ref!", "UPPER/case:1", "a:b:c", "a:", "/a", "-", "a\nb", "a@sha256:" + strings.Repeat("0", 64)} {
		b := newBench(t, succeed(nil, ""))
		if code := b.run("images", "runner", file, "--ref", ref); code != exitUsage || !strings.Contains(b.err.String(), "--ref ") || !strings.Contains(b.err.String(), "expected a name with a tag") {
			t.Errorf("%q: exit %d: %s", ref, code, b.err.String())
		}
		if _, err := os.Stat(file); err == nil {
			t.Fatalf("%q: something was written", ref)
		}
	}
	for _, ref := range []string{"hotcell/runner:1", "runner", "Registry.example:5000/a__b/c-d.e:V1.2_x-y", "localhost/hotcell/runner:devel"} {
		if !imageName.MatchString(ref) {
			t.Errorf("%q is refused", ref)
		}
	}
}
