package compile

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

// What a command line may be. The kernel's own bounds are wider.
const (
	maxArgs     = 1024
	maxArgBytes = 64 << 10 // of all arguments together
)

// maxLabel is the longest value of a label.
const maxLabel = 256

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

// check refuses what no control could make a cell of.
func check(eff policies.Effective, w Workload) error {
	return cmp.Or(
		checkPolicy(eff),
		checkPlatform(w.OS, w.Arch),
		checkNames(w),
		checkTrees(w),
		checkCommand(w),
		checkPorts(w.Ports),
	)
}

// checkPolicy catches a policy that was put together by hand: a zero would mean no limit to an engine.
func checkPolicy(eff policies.Effective) error {
	l := eff.Limits
	if min(int64(l.Memory), int64(l.CPU), l.PIDs, l.Files, int64(l.Workspace), int64(l.Out), int64(l.Output)) <= 0 {
		return fmt.Errorf("limits %+v: each must be set, as policies.Narrow returns them", l)
	}
	if l.Workspace > l.Memory || l.Out > l.Memory || l.Workspace+l.Out > policies.ScratchSize(l.Memory) {
		return fmt.Errorf("limits %+v: workspace and out do not fit into half of the memory", l)
	}
	return nil
}

// checkPlatform refuses what there is no runner and no seccomp profile for.
func checkPlatform(os, arch string) error {
	if os != "linux" || arch != "amd64" && arch != "arm64" {
		return fmt.Errorf("image platform %.32q/%.32q is %w: expected linux/amd64 or linux/arm64", os, arch, sandbox.ErrUnsupported)
	}
	return nil
}

func checkNames(w Workload) error {
	switch {
	case w.UID < MinUID || w.UID > MaxUID:
		return fmt.Errorf("uid %d: expected %d to %d", w.UID, MinUID, MaxUID)
	case !only(w.Instance, lower+digits):
		return fmt.Errorf("instance %.64q: expected a word of [a-z0-9]", w.Instance)
	case !only(w.CallID, upper+lower+digits):
		return fmt.Errorf("call id %.64q: expected a ULID", w.CallID)
	case w.Image.ID == "":
		return errors.New("image has no id: expected a pinned one")
	case w.Expires.IsZero():
		return errors.New("no time of expiry")
	}
	return cmp.Or(checkLabel("skill", w.Skill), checkLabel("host", w.Host))
}

func checkLabel(what, value string) error {
	if value == "" || len(value) > maxLabel || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return fmt.Errorf("%s %.64q: expected a printable name of at most %d bytes", what, value, maxLabel)
	}
	return nil
}

// only reports whether s is a word of at most 64 of the characters.
func only(s, chars string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, chars) == ""
}

func checkTrees(w Workload) error {
	if err := checkTree("bundle", w.Bundle); err != nil {
		return err
	}
	if !w.Frames {
		if err := checkTree("runner", w.Runner); err != nil {
			return err
		}
	}
	if w.Engine.FS == nil {
		return nil
	}
	return checkTree("engine", w.Engine)
}

// The numbers of loopback ports. Below are those that only a privileged process may use.
const (
	minPort = 1024
	maxPort = 65535
)

// maxPorts bounds the loopback ports of a cell: each costs the runner a listener.
const maxPorts = 32

func checkPorts(ports []wall.Port) error {
	if len(ports) > maxPorts {
		return fmt.Errorf("%d loopback ports, expected at most %d", len(ports), maxPorts)
	}
	names, numbers := map[string]bool{}, map[int]bool{}
	for _, p := range ports {
		if err := wall.CheckPort(p.Name); err != nil {
			return err
		}
		switch {
		case p.Number < minPort || p.Number > maxPort:
			return fmt.Errorf("loopback port %s: number %d, expected %d to %d", p.Name, p.Number, minPort, maxPort)
		case names[p.Name] || numbers[p.Number]:
			return fmt.Errorf("loopback port %s, number %d: there twice", p.Name, p.Number)
		}
		names[p.Name], numbers[p.Number] = true, true
	}
	return nil
}

func checkTree(what string, tree sandbox.Tree) error {
	switch {
	case len(tree.Digest) != 64 || !only(tree.Digest, "abcdef"+digits):
		return fmt.Errorf("%s digest %.80q: expected 64 lower-case hex digits", what, tree.Digest)
	case tree.FS == nil:
		return fmt.Errorf("%s has no files", what)
	}
	return nil
}

func checkCommand(w Workload) error {
	command := w.Command
	if w.Frames {
		command = framesCommand(w)
	}
	if len(command) == 0 || strings.TrimSpace(command[0]) == "" {
		return errors.New("no command to run: name one in skill.yaml or in the image")
	}
	size := 0
	for i, arg := range command {
		size += len(arg)
		if !utf8.ValidString(arg) || strings.Contains(arg, "\x00") {
			return fmt.Errorf("command argument %d is not UTF-8 text without NUL", i)
		}
	}
	if len(command) > maxArgs || size > maxArgBytes {
		return fmt.Errorf("command has %d arguments of %d bytes, expected at most %d of %d", len(command), size, maxArgs, maxArgBytes)
	}
	return nil
}
