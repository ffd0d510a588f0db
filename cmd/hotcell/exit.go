package main

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/sandbox"
)

// The exit codes of every command; those from 1 to 6 follow a call's code.
const (
	exitOK           = 0
	exitFailed       = 1 // skill_error, runtime_error, and what has no code of its own
	exitUsage        = 2 // usage, configuration, and requests that could not be understood
	exitTimeout      = 3
	exitMemory       = 4
	exitCrash        = 5
	exitUnauthorized = 6
	exitInterrupted  = 130 // 128 + SIGINT
	exitPipe         = 141 // 128 + SIGPIPE
)

// exitCode maps the outcome of a call to the process's exit code.
func exitCode(code a2e.Code) int {
	switch code {
	case "":
		return exitOK
	case a2e.SkillError, a2e.RuntimeError:
		return exitFailed
	case a2e.ParseError, a2e.InvalidMessage, a2e.SchemaViolation, a2e.UnknownSkill, a2e.VersionMismatch:
		return exitUsage
	case a2e.Timeout:
		return exitTimeout
	case a2e.OutOfMemory:
		return exitMemory
	case a2e.SandboxCrash:
		return exitCrash
	case a2e.Unauthorized:
		return exitUnauthorized
	}
	return exitFailed
}

// exitError ends a command with a code of its own. A nil err ends it without a word.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// silent ends a command with a code when all has been said already.
func silent(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

// usagef is a wrong command line or configuration: one line, exit 2.
func usagef(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// unauthorized is a refusal by a daemon: exit 6.
func unauthorized(err error) error { return &exitError{code: exitUnauthorized, err: err} }

// outcome returns the exit code of an error that a command returned, and whether it is to be shown.
func outcome(err error) (code int, show bool) {
	var exit *exitError
	var call *a2e.Error
	switch {
	case err == nil:
		return exitOK, false
	case errors.Is(err, syscall.EPIPE):
		return exitPipe, false
	case errors.As(err, &exit):
		return exit.code, exit.err != nil
	case errors.As(err, &call):
		return exitCode(call.Code), true
	case errors.Is(err, sandbox.ErrUnavailable):
		return exitCrash, true
	}
	return exitFailed, true
}
