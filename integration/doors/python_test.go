package doors

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
)

// The module for Python keeps what it says, against servers that fail and against the daemon.
func TestPythonClient(t *testing.T) {
	testutil.Require(t, "python3")
	d := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "python3", "-B", "-W", "error", "testdata/hotcell_test.py", d.url, d.socket)
	cmd.Env = d.env
	out, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^Ran [1-9]\d tests`).Match(out) {
		t.Errorf("%v\n%s", err, out)
	}
}

// The page about clients says what happens: its pieces of Python are one program.
func TestPythonOfThePage(t *testing.T) {
	testutil.Require(t, "python3")
	page, err := os.ReadFile("../../docs/clients/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var program strings.Builder
	for _, piece := range regexp.MustCompile("(?s)```python\n(.*?)```").FindAllSubmatch(page, -1) {
		program.Write(piece[1])
	}
	module, err := filepath.Abs("../../docs/clients")
	if err != nil {
		t.Fatal(err)
	}
	d := startOpen(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "python3", "-B", "-c", program.String())
	cmd.Dir, cmd.Env = t.TempDir(), append(d.env, "HOTCELL_URL="+d.url, "PYTHONPATH="+module)
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"code-review ['code']", "unused-import\n", "progress ", "schema_violation True False\n", "Succeeded True True\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if err != nil || t.Failed() {
		t.Errorf("%v\n%s", err, out)
	}
}
