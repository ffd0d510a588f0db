package demands

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/sandboxtest"
)

// takers take all that a spec of the conformance suite has, by the first field that is refused where one of them does not.
func takers(l *Left) map[string]func() error {
	return map[string]func() error{
		"ociVersion":                   func() error { _, err := l.Identity("x"); return err },
		"process.args":                 func() error { _, _, err := l.Command(); return err },
		"process.env":                  func() error { _, _, err := l.EnvironmentWithHome(); return err },
		"process.user.uid":             func() error { _, _, err := l.User(); return err },
		"process.noNewPrivileges":      func() error { _, err := l.Privileges(); return err },
		"linux.seccomp.defaultAction":  func() error { _, err := l.Seccomp(); return err },
		"linux.namespaces":             func() error { return l.Namespaces() },
		"linux.resources.memory.limit": func() error { _, err := l.Memory(); return err },
		"linux.resources.cpu.quota":    func() error { _, err := l.CPU(); return err },
		"linux.resources.pids.limit":   func() error { _, err := l.PIDs(); return err },
		"linux.resources.devices":      func() error { return l.Devices() },
		"linux.maskedPaths":            func() error { l.Paths(); return nil },
		"mounts":                       func() error { l.OCI.Mounts = nil; return nil },
		"root.readonly":                func() error { l.OCI.Root = nil; return nil },
		"process.rlimits":              func() error { l.Process.Rlimits = nil; return nil },
	}
}

// What is not taken is refused by its name, and nothing that is taken is taken from the spec itself.
func TestNothingIsForgotten(t *testing.T) {
	spec := sandboxtest.NewSpec("/run/runner")
	spec.Image.ID = "sha256:1"
	before, _ := json.Marshal(spec)
	of := func() *Left {
		l, err := Of(spec)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for forgotten := range takers(of()) {
		l := of()
		for field, take := range takers(l) {
			if field == forgotten {
				continue
			}
			if err := take(); err != nil {
				t.Fatal(err)
			}
		}
		err := l.Nothing()
		set := forgotten != "linux.resources.devices" // which the suite's spec has none of
		if set != errors.Is(err, sandbox.ErrUnsupported) || set && !strings.HasPrefix(err.Error(), forgotten+": ") {
			t.Errorf("without %s: %v", forgotten, err)
		}
	}
	if after, _ := json.Marshal(spec); cmp.Diff(string(before), string(after)) != "" {
		t.Errorf("the spec has changed:\n%s", cmp.Diff(string(before), string(after)))
	}
}

func TestCleanAbs(t *testing.T) {
	for path, want := range map[string]bool{"/": true, "/a/b": true, "": false, "a": false, "/a/": false, "/a/../b": false, "/a//b": false, "/a\x00": false} {
		if CleanAbs(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}
