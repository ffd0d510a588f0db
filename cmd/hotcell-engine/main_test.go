package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/engine"
)

// The exit code follows the result, and nothing but lines comes out.
func TestRun(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "skill"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"good.js": "export default (args) => args.n", "bad.js": "export default () => { throw new Error('x') }"} {
		if err := os.WriteFile(filepath.Join(root, "skill", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"good":     {[]string{"js", "/skill/good.js"}, 0, `{"type":"skill/result","success":true,"data":7}`},
		"bad":      {[]string{"js", "/skill/bad.js"}, 1, `"error":"Error: x at bad.js:1:30"`},
		"no file":  {[]string{"js", "/skill/none.js"}, 1, `"error_code":"bad_import"`},
		"no skill": {[]string{"agent"}, 1, `"error_code":"bad_skill"`},
		"no words": {nil, 64, ""},
		"a word":   {[]string{"js"}, 64, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out, problems bytes.Buffer
			cfg := engine.Config{Stdin: strings.NewReader(`{"arguments":{"n":7}}`), Stdout: &out, Root: root}
			if code := run(t.Context(), tt.args, cfg, &problems); code != tt.code || !strings.Contains(out.String(), tt.says) {
				t.Errorf("exit %d: %s", code, out.String())
			}
			if usage := strings.HasPrefix(problems.String(), "usage: "); usage != (tt.code == 64) {
				t.Errorf("stderr: %q", problems.String())
			}
		})
	}
}
