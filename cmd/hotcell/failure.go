package main

import (
	"fmt"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/policies"
)

const maxTail = 20 // lines of a skill's stderr that are shown

// failure returns why a call failed, or nil when it succeeded.
func failure(resp *a2e.CallResponse) *a2e.Error {
	switch {
	case resp.Error != nil:
		return resp.Error
	case resp.Data == nil:
		return a2e.Errorf(a2e.RuntimeError, "the answer has neither data nor an error")
	case resp.Data.Success:
		return nil
	}
	e := a2e.Errorf(a2e.SkillError, "the skill failed")
	if resp.Data.Error != nil {
		e.Message = *resp.Data.Error
	}
	if resp.Data.ErrorCode != nil {
		e.Code = a2e.Code(*resp.Data.ErrorCode)
	}
	return e
}

// showFailure writes the one line that says why a call failed, and the end of what the skill wrote to its stderr unless
// that has been shown while it ran. bound is who decided the call's timeout, "" when that is not known.
func showFailure(errs *screen, name string, e *a2e.Error, bound policies.Party, shown *recent) {
	line := "hotcell: " + failureLine(name, e, bound)
	if errs.live {
		line = errs.style.bad.Render("✗") + " " + line
	}
	errs.line(line)
	tail := block(str(e.Detail["stderr"]), maxLogText)
	if tail == "" {
		return
	}
	lines := strings.Split(tail, "\n")
	lines = lines[max(0, len(lines)-maxTail):]
	if shown.has(lines) {
		return
	}
	errs.line(paint(errs.style.dim, "  | "+strings.Join(lines, "\n  | ")))
}

// failureLine is `skill "x" ended with timeout: message (reason); hint`.
func failureLine(name string, e *a2e.Error, bound policies.Party) string {
	line := fmt.Sprintf("skill %q ended with %s: %s", oneLine(name, 80), e.Code, oneLine(plainEngine(e.Message), maxLineText))
	if reason := e.Reason(); reason != "" {
		line += " (" + oneLine(reason, 80) + ")"
	}
	if hint := hint(name, e, bound); hint != "" {
		line += "; " + hint
	}
	return line
}

// hint says what to do about a failure, where something can be done.
func hint(name string, e *a2e.Error, bound policies.Party) string {
	switch e.Reason() {
	case a2e.ReasonEngineUnavailable, a2e.ReasonImageUnavailable:
		return "" // the adapters' own messages say what to do
	case a2e.ReasonUnsupported:
		return "'hotcell policy explain " + shellName(name) + "' shows what the skill asks for"
	case a2e.ReasonQuota:
		return fmt.Sprintf("try again in %v s", e.Detail["retry_after"])
	case a2e.ReasonQueueFull, a2e.ReasonQueueTimeout:
		return "try again when fewer calls run"
	case a2e.ReasonOutputLimit:
		return "raise limits.output or limits.out in skill.yaml and the policy"
	}
	switch e.Code {
	case a2e.UnknownSkill:
		if e.Detail["suggestion"] != nil {
			return ""
		}
		return "'hotcell skills list --all' shows what is there, and what of it can't be called"
	case a2e.SchemaViolation:
		return "'hotcell skills show " + shellName(name) + "' shows what it takes"
	case a2e.Timeout:
		return timeoutHint(bound)
	case a2e.OutOfMemory:
		return "raise limits.memory in skill.yaml and the policy"
	case a2e.SkillError, a2e.RuntimeError, a2e.ParseError, a2e.InvalidMessage, a2e.SandboxCrash, a2e.Unauthorized,
		a2e.VersionMismatch:
	}
	return ""
}

// timeoutHint names what cut the time, so that the advice helps.
func timeoutHint(bound policies.Party) string {
	switch bound {
	case policies.Caller:
		return "give it more time with --timeout"
	case policies.Skill:
		return "timeout_seconds in skill.yaml is what it had: raise it there"
	case policies.Default:
		return "give it more time with --timeout, or timeout_seconds in skill.yaml"
	case policies.Host:
		return "no call may take longer"
	}
	return "the call's timeout and timeout_seconds in skill.yaml set its time"
}

// plainEngine drops the category that adapters put behind an engine's failure.
func plainEngine(message string) string { return host.PlainEngine(message) }

// shellName is a skill's name as it may stand in a command that people copy.
func shellName(name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return "SKILL"
	}
	return name
}
