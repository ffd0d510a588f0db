package credentials

import (
	"strings"
	"testing"
)

func TestReferences(t *testing.T) {
	for _, good := range []string{"env:OPENAI_API_KEY", "env:_x1", "file:/run/keys/a b", "stored:openai", "stored:a.b-c_D"} {
		if r, err := Parse(good); err != nil || r.String() != good {
			t.Errorf("%s: %v, %v", good, r, err)
		}
	}
	for _, bad := range []string{
		"", "env:", "env:1A", "env:A-B", "env:A B", "file:", "file:a", "file:/a\x00b", "stored:", "stored:../a", "stored:.a", "stored:a/b",
		"stored:" + strings.Repeat("a", 65), "sk-SECRET", "Env:A", "vault:a", "SECRET:x",
	} {
		_, err := Parse(bad)
		if err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
