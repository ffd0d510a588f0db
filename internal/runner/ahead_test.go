package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/wall"
)

func prestart(c *Config) { c.Args.Prestart = true }

func TestAProcessStartedAheadWaitsForItsRequest(t *testing.T) {
	o := boot(t, `
		echo early; echo early >&2
		loaded=yes
		read -r request
		echo "{\"type\":\"skill/result\",\"success\":true,\"data\":{\"loaded\":\"$loaded\",\"length\":${#request}}}"
	`, prestart).play()
	if o.result == nil || !*o.result.Success || !strings.HasPrefix(string(o.result.Data), `{"loaded":"yes","length":`) {
		t.Errorf("result %+v", o.result)
	}
	if !o.hasLog(t, "12 bytes that the skill printed before its request were dropped") || o.hasLog(t, "early\n") {
		t.Errorf("logs %q", o.logs(t))
	}
}

func TestAProcessThatDoesNotWaitForItsRequest(t *testing.T) {
	for script, want := range map[string]string{
		`exit 0`: "it ended before its request came (exit code 0): with run.prestart it must read",
		`exit 7`: "(exit code 7)",
		`printf 'Traceback\n  a\nNo module named "x"\n\n' >&2; exit 1`:      `(exit code 1, "No module named \"x\"")`,
		`printf '%09000d' 0 >&2; exit 1`:                                    `(exit code 1, "000`,
		`printf '%4090s\n' >&2; echo 'over the edge of a read' >&2; exit 1`: `(exit code 1, "over the edge of a read")`,
		`kill -9 $$`: "(signal 9)",
		`echo '{}'`:  "(exit code 0)",
	} {
		o := boot(t, script, prestart).play()
		if o.result != nil || !strings.Contains(o.exit.StartError, want) || o.exit.ExitCode != cannotStart {
			t.Errorf("%s: result %+v, exit %+v", script, o.result, o.exit)
		}
	}
}

func TestAProcessThatCannotStartAhead(t *testing.T) {
	o := boot(t, "", prestart, func(c *Config) { c.Args.Command = []string{"no-such-program"} }).play()
	if o.exit.ExitCode != notFound || !strings.Contains(o.exit.StartError, "no-such-program") {
		t.Errorf("exit %+v", o.exit)
	}
}

func TestAProcessStartedAheadDiesWithItsSupervisor(t *testing.T) {
	c := boot(t, `read -r request`, prestart)
	c.until(wall.TypeReady)
	_ = c.stdin.Close()
	c.exits(exitHangup)
}

// A life whose process gets no request holds nothing of it in the end.
func TestAProcessWithoutARequestLeavesNoDescriptor(t *testing.T) {
	lives := map[string]func(t *testing.T){
		"hang-up": func(t *testing.T) {
			c := boot(t, `read -r request`, prestart)
			c.until(wall.TypeReady)
			_ = c.stdin.Close()
			c.exits(exitHangup)
		},
		"ended early": func(t *testing.T) { boot(t, `exit 7`, prestart).play() },
		"cancelled": func(t *testing.T) {
			c := boot(t, `read -r request`, prestart)
			c.until(wall.TypeReady)
			c.send(wall.Control{Type: wall.TypeCancel})
			c.finish()
		},
		"a request that can't be written": func(t *testing.T) {
			c := boot(t, `read -r request`, prestart)
			if err := os.WriteFile(filepath.Join(c.root, wall.RequestPath), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if o := c.play(); o.exit.StartError == "" {
				t.Errorf("exit %+v", o.exit)
			}
		},
		"a call": func(t *testing.T) { boot(t, `read -r request; echo here`, prestart).play() },
	}
	for name, live := range lives {
		t.Run(name+", once", live) // whose descriptors may be the process's own
		before := descriptors(t)
		t.Run(name, live)
		if after := descriptors(t); after > before {
			t.Errorf("%s: %d descriptors, %d before", name, after, before)
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
