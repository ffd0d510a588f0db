package executor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// facts are what was recorded about a call's end. Cancelled and Deadline are set only if they came before everything
// else that could end the call.
type facts struct {
	Cancelled  bool
	Canceller  string // "the caller", "an operator", or "hotcell, which is stopping"
	Deadline   bool
	Result     *wall.Result      // the first valid one
	Output     string            // the budget that was exceeded: "output", "out", "result"
	Exit       *wall.Exit        // the runner's evidence
	Kernel     *sandbox.Evidence // what the kernel itself counted around the cell; nil: nobody could look
	Engine     *sandbox.Exit
	EngineLost error  // the engine did not answer, lost the cell, or would carry no more of what it said
	Start      error  // the cell did not start
	Cut        bool   // the stream ended in the middle
	Frames     bool   // the image has no runner
	Input      error  // the input files could not be read on this side
	Memory     string // the limit, for the message: "256Mi"
	Timeout    string // for the message: "1m0s"
}

// oom reports whether a process of the cell was killed at the cell's own memory limit. Where the kernel could be asked it
// decides alone; else what the runner counted, and the engine's word.
func (f *facts) oom() bool {
	var start *sandbox.StartError
	switch {
	case f.Kernel != nil:
		return f.Kernel.OOMKilled
	case f.Exit != nil && f.Exit.OOMKills > 0:
		return true
	case f.Engine != nil && f.Engine.Evidence.OOMKilled:
		return true
	case asStart(f.Start, &start):
		return start.OOM
	}
	return false
}

// pressure reports whether a process of the cell was killed because memory ran out above the cell.
func (f *facts) pressure() bool { return f.Kernel != nil && f.Kernel.Pressure }

// budgetTraffic is what a driver carries of a cell's words, where it has a bound of its own.
const budgetTraffic = "traffic"

// tooMuch reports whether that was exceeded.
func (f *facts) tooMuch() bool { return errors.Is(f.EngineLost, sandbox.ErrTooMuch) }

// confidence says where the facts about the end come from.
func (f *facts) confidence() string {
	switch {
	case f.Kernel != nil:
		return f.Kernel.Confidence
	case f.Engine != nil && f.Engine.Evidence.Confidence != "" && f.Engine.Evidence.Confidence != sandbox.ConfidenceNone:
		return f.Engine.Evidence.Confidence
	case f.Exit != nil && f.Exit.OOMKills >= 0:
		return sandbox.ConfidenceRunner
	}
	return sandbox.ConfidenceNone
}

// classify turns the facts of an end into the one true reason, or nil for success. It is pure; the order is that of
// design section 2, and the first rule that matches wins.
func classify(f facts) *a2e.Error {
	switch {
	case f.Cancelled:
		return cancelledBy(f.Canceller)
	case f.Result == nil && f.Deadline:
		return a2e.Errorf(a2e.Timeout, "the skill did not finish within %s", f.Timeout)
	case f.Result != nil:
		return resultError(f.Result)
	case f.Input != nil: // this host's own fault, which the design's table leaves out
		return a2e.Errorf(a2e.RuntimeError, "input: %w", f.Input).Because(a2e.ReasonInternal)
	case f.oom():
		return a2e.Errorf(a2e.OutOfMemory, "the skill used more than its %s of memory", f.Memory)
	case f.pressure():
		return a2e.Errorf(a2e.SandboxCrash, "a process of the skill was killed because memory ran out on the host, though the skill kept within its %s", f.Memory).
			Because(a2e.ReasonOOMPressure)
	case f.Output != "":
		return a2e.Errorf(a2e.SkillError, "the skill exceeded its %s budget", f.Output).Because(a2e.ReasonOutputLimit).With("budget", f.Output)
	case f.tooMuch():
		return a2e.Errorf(a2e.SkillError, "the skill exceeded its %s budget: %w", budgetTraffic, f.EngineLost).
			Because(a2e.ReasonOutputLimit).With("budget", budgetTraffic)
	case f.Exit != nil && f.Exit.Signal == 0 && !f.Frames:
		return exitError(f.Exit)
	case f.EngineLost != nil:
		return lostError("the sandbox engine was lost", f.EngineLost)
	case f.Start != nil:
		return startError(f.Start)
	}
	return crashError(f)
}

// maxMessage bounds a skill's own error message, in characters.
const maxMessage = 16 << 10

// resultError is the skill's own word: nil for success.
func resultError(r *wall.Result) *a2e.Error {
	if *r.Success {
		return nil
	}
	message := clip(r.Error, maxMessage)
	if message == "" {
		message = "the skill reported a failure without a message"
	}
	e := &a2e.Error{Code: a2e.SkillError, Message: message, Retryable: a2e.SkillError.Retryable()}
	if r.ErrorCode != "" {
		e.With("skill_code", clip(r.ErrorCode, 128))
	}
	if r.Retryable != nil && !*r.Retryable {
		e.Permanent()
	}
	return e
}

// exitError explains an end of the skill's own process that the runner saw: it exited, or could not be started.
func exitError(x *wall.Exit) *a2e.Error {
	if x.BadImage {
		return a2e.Errorf(a2e.RuntimeError, "%s", x.StartError).Because(a2e.ReasonUnsupported)
	}
	if x.StartError != "" {
		return a2e.Errorf(a2e.SkillError, "the skill's command did not start: %s", x.StartError).Because(a2e.ReasonStartFailed).
			With("exit_code", x.ExitCode).Permanent()
	}
	if x.ExitCode == 0 {
		return a2e.Errorf(a2e.SandboxCrash, "the skill exited with 0 and its result was lost").Because(a2e.ReasonTruncated)
	}
	tail := strings.TrimSpace(x.StderrTail)
	message := fmt.Sprintf("the skill exited with %d", x.ExitCode)
	if last := lastLine(tail); last != "" {
		message += ": " + last
	}
	e := a2e.Errorf(a2e.SkillError, "%s", message).Because(a2e.ReasonExit).With("exit_code", x.ExitCode)
	if tail != "" {
		e.With("stderr", tail)
	}
	return e
}

// reasonsOfLoss are the reasons for what clusters do with cells.
var reasonsOfLoss = map[sandbox.Loss]string{
	sandbox.LossNode: a2e.ReasonNodeLost, sandbox.LossEvicted: a2e.ReasonEvicted, sandbox.LossPreempted: a2e.ReasonPreempted,
	sandbox.LossDeleted: a2e.ReasonCellDeleted, sandbox.LossUnschedulable: a2e.ReasonUnschedulable, sandbox.LossQuota: a2e.ReasonClusterQuota,
}

// lostError is for an engine that does not answer, or has no cell to give or has lost it. otherwise is what that is called where
// it does not say more.
func lostError(otherwise string, err error) *a2e.Error {
	var lost *sandbox.LostError
	switch {
	case errors.As(err, &lost) && lost.Loss == sandbox.LossDisk: // its own doing, and it would do so again
		return a2e.Errorf(a2e.SkillError, "the skill used more of its host's disk than it may: %w", err).
			Because(a2e.ReasonOutputLimit).With("budget", "disk").Permanent()
	case lost != nil && reasonsOfLoss[lost.Loss] != "":
		return a2e.Errorf(a2e.SandboxCrash, "%w", err).Because(reasonsOfLoss[lost.Loss])
	case otherwise == "":
		return a2e.Errorf(a2e.SandboxCrash, "%w", err).Because(a2e.ReasonEngineUnavailable)
	}
	return a2e.Errorf(a2e.SandboxCrash, "%s: %w", otherwise, err).Because(a2e.ReasonEngineUnavailable)
}

func startError(err error) *a2e.Error {
	e := a2e.Errorf(a2e.SandboxCrash, "%w", err).Because(a2e.ReasonStartFailed)
	var start *sandbox.StartError
	if asStart(err, &start) && start.ExitCode != 0 {
		e.With("exit_code", start.ExitCode)
		if start.ExitCode == 126 || start.ExitCode == 127 {
			e.Permanent() // the same image fails the same way
		}
	}
	return e
}

// crashError is for ends that nobody announced: a signal that was not ours, a stream cut short, no exit frame.
func crashError(f facts) *a2e.Error {
	switch {
	case f.Exit != nil && f.Exit.Signal != 0:
		return a2e.Errorf(a2e.SandboxCrash, "the skill was ended by signal %d (%s)", f.Exit.Signal, syscall.Signal(f.Exit.Signal)).
			Because(a2e.ReasonSignal).With("signal", f.Exit.Signal)
	case f.Engine != nil && f.Engine.Code > 128 && !f.Frames: // the runner never exits so
		return a2e.Errorf(a2e.SandboxCrash, "the cell ended with exit code %d, as by a signal that hotcell did not send", f.Engine.Code).
			Because(a2e.ReasonSignal).With("exit_code", f.Engine.Code)
	case f.Cut: // before the exit code: a cell whose streams break ends because of that
		return a2e.Errorf(a2e.SandboxCrash, "the cell's output was cut off before a result").Because(a2e.ReasonTruncated)
	case f.Engine != nil && f.Engine.Code != 0:
		return a2e.Errorf(a2e.SandboxCrash, "the cell ended with exit code %d and gave no result", f.Engine.Code).
			Because(a2e.ReasonExit).With("exit_code", f.Engine.Code)
	}
	return a2e.Errorf(a2e.SandboxCrash, "the cell ended without a result").Because(a2e.ReasonTruncated)
}

// notes are facts that are worth telling beside a result that stands.
func notes(f facts) map[string]any {
	n := map[string]any{}
	if f.oom() {
		n["oom_child"] = true
	}
	if f.pressure() {
		n["oom_pressure"] = true
	}
	if f.Exit != nil && f.Exit.ExitCode != 0 {
		n["exit_code"] = f.Exit.ExitCode
	}
	if f.Exit != nil && f.Exit.Signal != 0 {
		n["signal"] = f.Exit.Signal
	}
	switch {
	case f.tooMuch():
		n["output_over"] = budgetTraffic
	case f.EngineLost != nil:
		n["engine_lost"] = true
	}
	if f.Output != "" {
		n["output_over"] = f.Output
	}
	return n
}

// inWords says notes to people.
func inWords(notes map[string]any) string {
	var said []string
	for _, k := range slices.Sorted(maps.Keys(notes)) {
		switch v := notes[k]; k {
		case "oom_child":
			said = append(said, "one of its processes was killed for want of memory")
		case "oom_pressure":
			said = append(said, "one of its processes was killed since memory ran out around the cell")
		case "exit_code":
			said = append(said, fmt.Sprintf("the skill exited with %v", v))
		case "signal":
			said = append(said, fmt.Sprintf("the skill was ended by signal %v", v))
		case "engine_lost":
			said = append(said, "the engine was lost")
		case "output_over":
			said = append(said, fmt.Sprintf("the skill exceeded its %v budget, and the rest was dropped", v))
		default:
			said = append(said, fmt.Sprintf("%s: %v", k, v))
		}
	}
	return strings.Join(said, ", ")
}

// addNotes adds facts that are worth telling to an error's detail; what it says already stands.
func addNotes(fail *a2e.Error, notes map[string]any) {
	for k, v := range notes {
		if _, taken := fail.Detail[k]; !taken {
			fail.With(k, v)
		}
	}
}

// asStart is errors.As for the one error type that is asked for here.
func asStart(err error, start **sandbox.StartError) bool { return errors.As(err, start) }

func lastLine(s string) string {
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}
