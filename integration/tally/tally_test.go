package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	const good = "package a\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Run(\"sub\", func(t *testing.T) {}) }\nfunc TestS(t *testing.T) { t.Skip(\"for a reason\") }\n"
	tests := []struct {
		name, test string
		tally      string
		shows      []string
		fails      bool
	}{
		{name: "good", test: good, tally: "2 passed, 0 failed, 1 skipped", shows: []string{"ok  \tm/a", "for a reason"}},
		{name: "bad", test: good + "func TestB(t *testing.T) { t.Error(\"it is bad\") }\n", tally: "2 passed, 1 failed, 1 skipped", shows: []string{"FAIL\tm/a", "it is bad"}, fails: true},
		{name: "panic", test: good + "func TestP(t *testing.T) { panic(\"over\") }\n", tally: "2 passed, 1 failed, 1 skipped", shows: []string{"panic: over"}, fails: true},
		{name: "exit", test: "package a\nimport (\"os\"; \"testing\")\nfunc TestE(t *testing.T) { os.Exit(3) }\n", tally: "0 passed, 1 failed, 0 skipped", shows: []string{"FAIL\tm/a"}, fails: true},
		{name: "no build", test: "package a\nfunc nothing() { undefined() }\n", tally: "0 passed, 1 failed, 0 skipped", shows: []string{"undefined: undefined"}, fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "go.mod"), "module m\ngo 1.26\n")
			write(t, filepath.Join(dir, "a", "a.go"), "package a\n")
			write(t, filepath.Join(dir, "a", "a_test.go"), tt.test)
			t.Chdir(dir)
			var out, errs bytes.Buffer
			err := run(context.Background(), []string{"./..."}, &out, &errs)
			if (err != nil) != tt.fails {
				t.Errorf("error = %v, want one: %v", err, tt.fails)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if last := lines[len(lines)-1]; last != tt.tally {
				t.Errorf("last line = %q, want %q", last, tt.tally)
			}
			for _, want := range tt.shows {
				if !strings.Contains(out.String()+errs.String(), want) {
					t.Errorf("output lacks %q:\n%s%s", want, &out, &errs)
				}
			}
		})
	}
}

func TestReadPassesOverWhatIsNoEvent(t *testing.T) {
	var out bytes.Buffer
	ta := newTally(&out)
	if err := ta.read(strings.NewReader("warning\n{\"Action\":\"output\",\"Package\":\"p\",\"Output\":\"ok\\tp\\n\"}\n{\"a\":1}")); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "warning\nok\tp\n{\"a\":1}"; got != want {
		t.Errorf("output = %q, want %q", got, want)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
