package wall

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArgsRoundTrip(t *testing.T) {
	want := Args{Command: []string{"python3", "-u", "main.py", "--", "-output=1"}, Output: 123, Out: 0, Prestart: true, Ports: []Port{{"egress", 41001}, {"llm.openai", 41002}}}
	argv := want.Argv()
	if argv[0] != RunnerPath {
		t.Errorf("argv[0] = %q, want %q", argv[0], RunnerPath)
	}
	got, err := ParseArgs(argv[1:])
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestParseArgsDefaults(t *testing.T) {
	got, err := ParseArgs([]string{"sh"})
	if err != nil || got.Output != MaxLong || got.Out != 32<<20 {
		t.Errorf("ParseArgs = %+v, %v", got, err)
	}
}

func TestParseArgsRefuses(t *testing.T) {
	for _, argv := range []string{"", "--", "-output=0 -- x", "-out=-1 -- x", "-output=8Mi -- x", "-what -- x",
		"-port=a -- x", "-port=a=80 -- x", "-port=a=65536 -- x", "-port=A=2000 -- x", "-port==2000 -- x", "-port=a=2000x -- x",
		"-port=a=2000 -port=a=2001 -- x", "-port=a=2000 -port=b=2000 -- x",
	} {
		if a, err := ParseArgs(strings.Fields(argv)); err == nil {
			t.Errorf("ParseArgs(%q) = %+v, want an error", argv, a)
		}
	}
}
