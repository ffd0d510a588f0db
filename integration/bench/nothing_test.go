package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Without figures no page loses its tables, and who waits is told by the exit status.
func TestNothingMeasured(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	page := filepath.Join(t.TempDir(), "page.md")
	const text = "<!-- bench:ratios -->\n| key | |\n<!-- bench:end -->\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"no cluster": {"-kube", "-n", "1"}, "nothing of that name": {"-kube", "-n", "1", "-only", "^no such row$"}} {
		err := run(t.Context(), append(args, "-doc", page), func(string) string { return "" }, io.Discard, io.Discard)
		if !errors.Is(err, errNothing) {
			t.Errorf("%s: %v", name, err)
		}
		if now, err := os.ReadFile(page); err != nil || string(now) != text {
			t.Errorf("%s: the page has become %q, %v", name, now, err)
		}
	}
}
