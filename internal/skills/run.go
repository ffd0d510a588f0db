package skills

import (
	"fmt"
	"path"
	"strings"
)

// Where a cell sees the bundle and the engine. The wall names both too; this floor doesn't know the wall.
const (
	dirSkill = "/skill"
	engine   = "/hotcell-engine/engine"
)

// The kinds of processes. images.defaults has an image for python and sh; js and agent need none but the built-in one.
const (
	kindPython  = "python"
	kindSh      = "sh"
	kindFrames  = "frames"
	kindCommand = "command"
	kindJS      = "js"
	kindAgent   = "agent"
)

// resolveRun says how the skill's process is started; has reports whether the bundle holds a file.
func resolveRun(s runSpec, has func(string) bool, r *report) Run {
	run := Run{Image: s.image, Frames: s.frames, Prestart: s.prestart}
	checkImage(s, r)
	if !checkExclusive(s, r) {
		return run
	}
	switch {
	case s.agent:
		runAgent(&run)
	case s.frames:
		run.Kind = kindFrames
		if s.prestart {
			r.at(fileSidecar, s.prestartAt, "run.prestart", SeverityWarning, CodeInvalidValue,
				"run.prestart says nothing beside run.frames: the image's own program starts ahead in any case")
		}
		run.Command = inBundle(s.command, has)
		if s.image == "" {
			r.at(fileSidecar, s.at, "run.image", SeverityError, CodeImageMissing, "run.image is required with run.frames")
		}
	case len(s.command) > 0:
		run.Kind = commandKind(s.command[0])
		run.Command = inBundle(s.command, has)
		if s.image == "" && run.Kind == kindCommand {
			r.at(fileSidecar, s.commandAt, "run.image", SeverityError, CodeImageMissing,
				"run.image is required: nothing says which image has %q", clip(s.command[0], 64))
		}
	default:
		resolveScript(&run, s, has, r)
	}
	return run
}

// checkExclusive refuses two ways to start at once.
func checkExclusive(s runSpec, r *report) bool {
	var ways []string
	for way, set := range map[string]bool{"script": s.script != "", "command": len(s.command) > 0, "agent": s.agent} {
		if set {
			ways = append(ways, way)
		}
	}
	if s.frames && (s.script != "" || s.agent) {
		r.at(fileSidecar, s.at, "run", SeverityError, CodeInvalidValue,
			"run: frames starts the image's own program; only command may stand beside it")
		return false
	}
	if len(ways) > 1 {
		r.at(fileSidecar, s.at, "run", SeverityError, CodeInvalidValue, "run: only one of script, command and agent may be set")
		return false
	}
	return true
}

func checkImage(s runSpec, r *report) {
	if s.imageAt == nil || s.imageAt.kind != stringKind {
		return
	}
	if s.image == "" || strings.HasPrefix(s.image, "-") || strings.ContainsFunc(s.image, func(c rune) bool { return c <= ' ' || c > '~' }) {
		r.at(fileSidecar, s.imageAt, "run.image", SeverityError, CodeInvalidValue,
			"run.image: %q is not an image reference; expected one such as python:3.12-slim", clip(s.image, 64))
	}
}

// resolveScript takes run.script, or else looks where scripts usually are.
func resolveScript(run *Run, s runSpec, has func(string) bool, r *report) {
	script, at := s.script, s.scriptAt
	if script == "" {
		if script = findScript(has); script == "" {
			runAgent(run)
			return
		}
	} else if script = path.Clean(script); !has(script) {
		r.at(fileSidecar, at, "run.script", SeverityError, CodeScriptMissing,
			"run.script: the bundle has no file %q (symbolic links and dot files are not part of it)", clip(s.script, 128))
		return
	}
	switch path.Ext(script) {
	case ".py":
		run.Kind, run.Command = kindPython, []string{"python3", dirSkill + "/" + script}
	case ".sh":
		run.Kind, run.Command = kindSh, []string{"sh", dirSkill + "/" + script}
	case ".js":
		run.Kind, run.Command = kindJS, []string{engine, "js", dirSkill + "/" + script}
	default:
		r.at(fileSidecar, at, "run.script", SeverityError, CodeInvalidValue,
			"run.script: %q is none of .py, .js and .sh; start it with run.command instead", clip(s.script, 128))
	}
}

// runAgent makes a skill's instructions the program: the engine follows them with a model.
func runAgent(run *Run) { run.Kind, run.Command = kindAgent, []string{engine, "agent"} }

func findScript(has func(string) bool) string {
	for _, dir := range []string{"scripts/", ""} {
		for _, name := range []string{"main.py", "main.js", "main.sh", "run.py"} {
			if has(dir + name) {
				return dir + name
			}
		}
	}
	return ""
}

// commandKind finds the default image's kind by the interpreter.
func commandKind(program string) string {
	switch program {
	case "python", "python3", "/usr/bin/python3":
		return kindPython
	case "sh", "/bin/sh":
		return kindSh
	}
	return kindCommand
}

// inBundle makes what names a file of the bundle absolute: the process starts in /workspace, not in the bundle.
func inBundle(argv []string, has func(string) bool) []string {
	if len(argv) == 0 {
		return nil
	}
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = arg
		if clean := path.Clean(arg); arg != "" && !path.IsAbs(arg) && has(clean) {
			out[i] = dirSkill + "/" + clean
		}
	}
	return out
}

// blockedWhy is the sentence for people: an unsupported feature as it stands, anything else with its place.
func blockedWhy(f *Finding) string {
	switch f.Code {
	case CodeUnsupported, CodeCycle, CodeResolution, CodeToolMissing, CodeToolkitMissing, CodeReadOnly:
		return f.Message
	}
	return fmt.Sprintf("%s: %s", f.where(), f.Message)
}
