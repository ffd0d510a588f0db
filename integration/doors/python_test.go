package doors

import (
	"context"
	"os/exec"
	"regexp"
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
