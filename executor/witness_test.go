package executor

import (
	"bufio"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
)

// watched is a driver around whose cells the host can look.
type watched struct {
	sandbox.Driver
	sees sandbox.Evidence
}

type watchedCell struct {
	sandbox.Sandbox
	sees sandbox.Evidence
}

func (c watchedCell) Evidence() sandbox.Evidence { return c.sees }

func (d watched) Create(ctx context.Context, spec *sandbox.Spec) (sandbox.Sandbox, error) {
	box, err := d.Driver.Create(ctx, spec)
	if err != nil {
		return nil, err
	}
	return watchedCell{box, d.sees}, nil
}

func TestTheKernelDecidesAndItsFiguresAreKept(t *testing.T) {
	used := sandbox.Usage{MemoryPeak: 5 << 20, CPU: 1500 * time.Microsecond, Throttled: 20 * time.Millisecond, PIDsPeak: 3}
	kept := &control.Usage{MemoryPeakBytes: 5 << 20, CPUMS: 2, ThrottledMS: 20, PIDsPeak: 3}
	die := func(_ context.Context, _ map[string]any, _ *bufio.Reader, say func(string, ...any)) int {
		say(`{"type":"cell/exit","exit_code":0,"signal":9,"oom_kills":0}`)
		return 0
	}
	liar := func(_ context.Context, _ map[string]any, _ *bufio.Reader, say func(string, ...any)) int {
		say(`{"type":"cell/exit","exit_code":0,"signal":9,"oom_kills":1}`)
		return 0
	}
	for _, tt := range []struct {
		name  string
		life  life
		sees  sandbox.Evidence
		start error
		want  string
		trust string // "": any but the kernel
		usage *control.Usage
		notes string
	}{
		{"oom that the runner missed", die, sandbox.Evidence{OOMKilled: true, Confidence: "kernel", Usage: used}, nil, "out_of_memory/", "kernel", kept, ""},
		{"oom that the runner made up", liar, sandbox.Evidence{Confidence: "kernel", Usage: used}, nil, "sandbox_crash/signal", "kernel", kept, ""},
		{"memory ran out above", liar, sandbox.Evidence{Pressure: true, Confidence: "kernel"}, nil, "sandbox_crash/oom_pressure", "kernel", &control.Usage{}, ""},
		{"a result stands", well, sandbox.Evidence{OOMKilled: true, Confidence: "kernel", Usage: used}, nil, "ok", "kernel", kept, "oom_child"},
		{"a result stands over pressure", well, sandbox.Evidence{Pressure: true, Confidence: "kernel", Usage: used}, nil, "ok", "kernel", kept, "oom_pressure"},
		{"nobody could look", liar, sandbox.Evidence{Confidence: "none"}, nil, "out_of_memory/", "", nil, ""},
		{"oom while starting", die, sandbox.Evidence{OOMKilled: true, Confidence: "kernel"}, &sandbox.StartError{Message: "gone"}, "out_of_memory/", "kernel", nil, ""},
		{"memory ran out above while starting", die, sandbox.Evidence{Pressure: true, Confidence: "kernel"}, &sandbox.StartError{OOM: true, Message: "gone"}, "sandbox_crash/oom_pressure", "kernel", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := setUp(t, tt.life, func(c *Config) {
				if tt.start != nil {
					c.Driver.(*fake.Driver).SetFaults(fake.Faults{Start: func(*sandbox.Spec) error { return tt.start }})
				}
				c.Driver = watched{c.Driver, tt.sees}
			})
			answer, _ := b.ask(t.Context(), req("free"))
			if got := verdict(answer); got != tt.want {
				t.Fatalf("got %s: %v, want %s", got, answer.Error, tt.want)
			}
			call, _, err := b.Show(t.Context(), answer.ID)
			if err != nil {
				t.Fatal(err)
			}
			if tt.trust == "" && call.Confidence == sandbox.ConfidenceKernel || tt.trust != "" && call.Confidence != tt.trust {
				t.Errorf("confidence %q, want %q", call.Confidence, tt.trust)
			}
			if (call.Usage == nil) != (tt.usage == nil) || tt.usage != nil && *call.Usage != *tt.usage {
				t.Errorf("usage %+v, want %+v", call.Usage, tt.usage)
			}
			if tt.notes != "" && call.Notes[tt.notes] != true {
				t.Errorf("notes %v, want %s", call.Notes, tt.notes)
			}
		})
	}
}

// lenient is a driver whose cells are without controls.
type lenient struct{ sandbox.Driver }

type lenientCell struct{ sandbox.Sandbox }

func (lenientCell) Unenforced() []string { return []string{"seccomp", "network"} }

func (d lenient) Create(ctx context.Context, spec *sandbox.Spec) (sandbox.Sandbox, error) {
	box, err := d.Driver.Create(ctx, spec)
	if err != nil {
		return nil, err
	}
	return lenientCell{box}, nil
}

// A call's record says what its cell was without, however it ended; that of a cell with all controls says nothing.
func TestTheRecordSaysWhatWasNotEnforced(t *testing.T) {
	fails := func(_ context.Context, _ map[string]any, _ *bufio.Reader, say func(string, ...any)) int {
		say(`{"type":"cell/exit","exit_code":3,"signal":0,"oom_kills":0}`)
		return 0
	}
	for _, tt := range []struct {
		name  string
		life  life
		lacks bool
		want  string
	}{{"well", well, true, "seccomp network"}, {"failed", fails, true, "seccomp network"}, {"all enforced", well, false, ""}} {
		t.Run(tt.name, func(t *testing.T) {
			b := setUp(t, tt.life, func(c *Config) {
				if tt.lacks {
					c.Driver = lenient{c.Driver}
				}
			})
			answer, _ := b.ask(t.Context(), req("free"))
			call, _, err := b.Show(t.Context(), answer.ID)
			if err != nil || strings.Join(call.Unenforced, " ") != tt.want {
				t.Errorf("unenforced %q, %v, want %q", call.Unenforced, err, tt.want)
			}
		})
	}
}
