package executor

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

func engine(code int, oom bool) *sandbox.Exit {
	return &sandbox.Exit{Code: code, Evidence: sandbox.Evidence{OOMKilled: oom}}
}

func kernel(oom, pressure bool) *sandbox.Evidence {
	return &sandbox.Evidence{OOMKilled: oom, Pressure: pressure, Confidence: sandbox.ConfidenceKernel}
}

// went is what a driver says of a cell that a cluster did something with.
func went(loss sandbox.Loss) error {
	return fmt.Errorf("cell x: %w", &sandbox.LostError{Loss: loss, Message: "its pod is gone"})
}

// The rows follow the order of design section 2; each later fact is present in the rows above it, where it must lose.
func TestClassify(t *testing.T) {
	yes, no := true, false
	good := &wall.Result{Success: &yes}
	bad := &wall.Result{Success: &no, Error: "nope", ErrorCode: "e42"}
	final := &wall.Result{Success: &no, Retryable: &no}
	lost := fmt.Errorf("dial: %w", sandbox.ErrUnavailable)
	much := fmt.Errorf("it said more than 512 MiB in all: %w", sandbox.ErrTooMuch)
	start := &sandbox.StartError{ExitCode: 127, Message: "no such file"}
	tests := []struct {
		name      string
		facts     facts
		code      a2e.Code // "" for success
		reason    string
		retryable bool
	}{
		{"cancelled first", facts{Cancelled: true, Exit: &wall.Exit{OOMKills: 1}}, a2e.RuntimeError, a2e.ReasonCancelled, false},
		{"deadline before a result", facts{Deadline: true, Engine: engine(137, true)}, a2e.Timeout, "", true},
		{"a result stands over oom, exit and a lost engine", facts{Result: good, Exit: &wall.Exit{OOMKills: 1, ExitCode: 3}, EngineLost: lost}, "", "", false},
		{"a result stands over a late deadline", facts{Result: good, Deadline: true}, "", "", false},
		{"the skill's own failure", facts{Result: bad}, a2e.SkillError, "", true},
		{"the skill's own word on retrying", facts{Result: final}, a2e.SkillError, "", false},
		{"oom by the runner's count", facts{Exit: &wall.Exit{OOMKills: 1, Signal: 9}}, a2e.OutOfMemory, "", true},
		{"oom by the engine's word", facts{Engine: engine(137, true)}, a2e.OutOfMemory, "", true},
		{"oom while starting", facts{Start: &sandbox.StartError{OOM: true}}, a2e.OutOfMemory, "", true},
		{"oom by the kernel, whatever engine and runner say", facts{Kernel: kernel(true, false), Exit: &wall.Exit{Signal: 9}, Engine: engine(137, false)}, a2e.OutOfMemory, "", true},
		{"oom by the kernel, engine lost", facts{Kernel: kernel(true, false), EngineLost: lost}, a2e.OutOfMemory, "", true},
		{"no oom by the kernel, whatever the engine says", facts{Kernel: kernel(false, false), Engine: engine(137, true)}, a2e.SandboxCrash, a2e.ReasonSignal, true},
		{"no oom by the kernel, whatever the runner says", facts{Kernel: kernel(false, false), Exit: &wall.Exit{OOMKills: 1, Signal: 9}}, a2e.SandboxCrash, a2e.ReasonSignal, true},
		{"no oom by the kernel, exit(137)", facts{Kernel: kernel(false, false), Exit: &wall.Exit{ExitCode: 137}}, a2e.SkillError, a2e.ReasonExit, true},
		{"memory ran out above the cell", facts{Kernel: kernel(false, true), Exit: &wall.Exit{OOMKills: 1, Signal: 9}}, a2e.SandboxCrash, a2e.ReasonOOMPressure, true},
		{"memory ran out above the cell, by the engine's word its own", facts{Kernel: kernel(false, true), Engine: engine(137, true)}, a2e.SandboxCrash, a2e.ReasonOOMPressure, true},
		{"memory ran out above the cell after its deadline", facts{Deadline: true, Kernel: kernel(false, true)}, a2e.Timeout, "", true},
		{"a result stands over the kernel's word", facts{Result: good, Kernel: kernel(true, false)}, "", "", false},
		{"oom over output", facts{Output: "output", Engine: engine(137, true)}, a2e.OutOfMemory, "", true},
		{"output", facts{Output: "output", Exit: &wall.Exit{ExitCode: 1}}, a2e.SkillError, a2e.ReasonOutputLimit, true},
		{"more than the driver carries", facts{EngineLost: much, Cut: true}, a2e.SkillError, a2e.ReasonOutputLimit, true},
		{"more than the driver carries, after a result", facts{Result: good, EngineLost: much, Cut: true}, "", "", false},
		{"exit 3", facts{Exit: &wall.Exit{ExitCode: 3}}, a2e.SkillError, a2e.ReasonExit, true},
		{"exit(137) by the skill", facts{Exit: &wall.Exit{ExitCode: 137}, Engine: engine(0, false)}, a2e.SkillError, a2e.ReasonExit, true},
		{"command not found", facts{Exit: &wall.Exit{ExitCode: 127, StartError: "no such file"}}, a2e.SkillError, a2e.ReasonStartFailed, false},
		{"an image that moves our mounts", facts{Exit: &wall.Exit{ExitCode: 126, StartError: "moved", BadImage: true}}, a2e.RuntimeError, a2e.ReasonUnsupported, false},
		{"exit 0 and no result", facts{Exit: &wall.Exit{}}, a2e.SandboxCrash, a2e.ReasonTruncated, true},
		{"engine lost", facts{EngineLost: lost, Cut: true}, a2e.SandboxCrash, a2e.ReasonEngineUnavailable, true},
		{"the node is gone", facts{EngineLost: went(sandbox.LossNode), Cut: true}, a2e.SandboxCrash, a2e.ReasonNodeLost, true},
		{"evicted", facts{EngineLost: went(sandbox.LossEvicted), Cut: true}, a2e.SandboxCrash, a2e.ReasonEvicted, true},
		{"preempted", facts{EngineLost: went(sandbox.LossPreempted), Cut: true}, a2e.SandboxCrash, a2e.ReasonPreempted, true},
		{"deleted by somebody", facts{EngineLost: went(sandbox.LossDeleted), Cut: true}, a2e.SandboxCrash, a2e.ReasonCellDeleted, true},
		{"no node takes it", facts{EngineLost: went(sandbox.LossUnschedulable)}, a2e.SandboxCrash, a2e.ReasonUnschedulable, true},
		{"the namespace is full", facts{EngineLost: went(sandbox.LossQuota)}, a2e.SandboxCrash, a2e.ReasonClusterQuota, true},
		{"a loss that nobody knows", facts{EngineLost: went("else")}, a2e.SandboxCrash, a2e.ReasonEngineUnavailable, true},
		{"more of the disk than it may have", facts{EngineLost: went(sandbox.LossDisk), Cut: true}, a2e.SkillError, a2e.ReasonOutputLimit, false},
		{"a result stands over an eviction", facts{Result: good, EngineLost: went(sandbox.LossEvicted), Cut: true}, "", "", false},
		{"the deadline comes before a lost node", facts{Deadline: true, EngineLost: went(sandbox.LossNode)}, a2e.Timeout, "", true},
		{"could not start", facts{Start: start}, a2e.SandboxCrash, a2e.ReasonStartFailed, false},
		{"could not start this time", facts{Start: &sandbox.StartError{Message: "busy"}}, a2e.SandboxCrash, a2e.ReasonStartFailed, true},
		{"a signal inside", facts{Exit: &wall.Exit{Signal: 9}}, a2e.SandboxCrash, a2e.ReasonSignal, true},
		{"killed from outside", facts{Engine: engine(137, false)}, a2e.SandboxCrash, a2e.ReasonSignal, true},
		{"runner ended with 2", facts{Engine: engine(2, false)}, a2e.SandboxCrash, a2e.ReasonExit, true},
		{"cut stream, exit 0", facts{Cut: true, Engine: engine(0, false)}, a2e.SandboxCrash, a2e.ReasonTruncated, true},
		{"cut stream, and the runner ends because of it", facts{Cut: true, Engine: engine(1, false)}, a2e.SandboxCrash, a2e.ReasonTruncated, true},
		{"no word at all", facts{}, a2e.SandboxCrash, a2e.ReasonTruncated, true},
		{"frames: exit 3 without a result", facts{Frames: true, Engine: engine(3, false)}, a2e.SandboxCrash, a2e.ReasonExit, true},
		{"frames: exit 137 without a result", facts{Frames: true, Engine: engine(137, false)}, a2e.SandboxCrash, a2e.ReasonExit, true},
		{"frames: exit 0 without a result", facts{Frames: true, Engine: engine(0, false)}, a2e.SandboxCrash, a2e.ReasonTruncated, true},
		{"input unreadable", facts{Input: errors.New("x")}, a2e.RuntimeError, a2e.ReasonInternal, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := classify(tt.facts)
			if tt.code == "" {
				if got != nil {
					t.Fatalf("got %v, want success", got)
				}
				return
			}
			if got == nil {
				t.Fatalf("got success, want %s", tt.code)
			}
			if got.Code != tt.code || got.Reason() != tt.reason || got.Retryable != tt.retryable {
				t.Errorf("got %s, reason %q, retryable %v; want %s, %q, %v", got.Code, got.Reason(), got.Retryable, tt.code, tt.reason, tt.retryable)
			}
			if got.Message == "" {
				t.Error("no message")
			}
		})
	}
}

func TestWhatASkillSaysOfItsFailureIsKept(t *testing.T) {
	no := false
	got := classify(facts{Result: &wall.Result{Success: &no, Error: "disk on fire", ErrorCode: "e42"}})
	if got.Message != "disk on fire" || got.Detail["skill_code"] != "e42" {
		t.Errorf("got %+v", got)
	}
	got = classify(facts{Exit: &wall.Exit{ExitCode: 3, StderrTail: "Traceback\nValueError: bad input\n"}})
	if got.Message != "the skill exited with 3: ValueError: bad input" || got.Detail["stderr"] != "Traceback\nValueError: bad input" {
		t.Errorf("got %+v", got)
	}
}

// Where nobody but the runner could tell, that is what is said.
func TestWhereTheFactsComeFrom(t *testing.T) {
	engine := func(confidence string) *sandbox.Exit {
		return &sandbox.Exit{Evidence: sandbox.Evidence{Confidence: confidence}}
	}
	for _, tt := range []struct {
		name string
		f    facts
		want string
	}{
		{"all three", facts{Kernel: kernel(false, false), Engine: engine("engine"), Exit: &wall.Exit{}}, "kernel"},
		{"engine and runner", facts{Engine: engine("engine"), Exit: &wall.Exit{}}, "engine"},
		{"an engine that lost it", facts{Engine: engine("none"), Exit: &wall.Exit{}}, "runner"},
		{"the runner", facts{Exit: &wall.Exit{}}, "runner"},
		{"a runner that cannot count", facts{Exit: &wall.Exit{OOMKills: -1}}, "none"},
		{"nobody", facts{}, "none"},
	} {
		if got := tt.f.confidence(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// What is told to people is a sentence, in the same order each time.
func TestNotesInWords(t *testing.T) {
	all := notes(facts{
		Exit: &wall.Exit{ExitCode: 3, Signal: 9}, EngineLost: errors.New("gone"), Output: "out",
		Kernel: kernel(true, true),
	})
	const want = "the engine was lost, the skill exited with 3, "
	if got := inWords(all); !strings.HasPrefix(got, want) || strings.Contains(got, "_") || strings.Contains(got, "map[") || strings.Count(got, ", ") < len(all)-1 {
		t.Errorf("got %q of %v", got, all)
	}
	carried := notes(facts{EngineLost: fmt.Errorf("it said too much: %w", sandbox.ErrTooMuch)})
	if got := inWords(carried); got != "the skill exceeded its traffic budget, and the rest was dropped" {
		t.Errorf("got %q of %v", got, carried)
	}
	if got := inWords(map[string]any{"output_over": "output"}); got != "the skill exceeded its output budget, and the rest was dropped" {
		t.Errorf("got %q", got)
	}
}
