package oci

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hotcell/hotcell/sandbox/cgroup"
)

// program is a runtime on this host.
type program struct {
	name string
	path string
	why  string // why it cannot be used; "": it can
}

// names are the runtimes that this driver can speak with, the default first.
var names = []string{"runc", "crun", "runsc"}

// places are where runtimes are, beside PATH: an ordinary shell's has no sbin.
var places = []string{"/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin"}

// findRuntimes looks for the runtimes of this host.
func findRuntimes() []program {
	facts := cgroup.Inspect()
	var found []program
	for _, name := range names {
		path, err := exec.LookPath(name)
		for _, dir := range places {
			if err == nil {
				break
			}
			path, err = exec.LookPath(filepath.Join(dir, name))
		}
		if err != nil {
			continue
		}
		p := program{name: name, path: path}
		if name == "crun" && facts.Hybrid {
			p.why = "crun refuses a host with cgroup v1 and v2 at once (hybrid), as this one: use runc, or boot with systemd.unified_cgroup_hierarchy=1"
		}
		found = append(found, p)
	}
	return found
}

// Find returns the runtime that a driver would use, or says why there is none.
func Find() (string, error) { return choose(findRuntimes(), "") }

func choose(found []program, name string) (string, error) {
	p, err := pick(found, name)
	return p.name, err
}

// pick returns the runtime with a name, or the first that can be used.
func pick(found []program, name string) (program, error) {
	var last string
	for _, p := range found {
		switch {
		case name != "" && p.name != name:
		case p.why == "":
			return p, nil
		default:
			last = p.why
		}
	}
	switch {
	case last != "":
		return program{}, unsupported("%s", last)
	case name != "":
		return program{}, unsupported("runtime %q: expected one of those on this host: %s", name, strings.Join(usable(found), ", "))
	}
	return program{}, unavailable("no runtime: install one of %s", strings.Join(names, ", "))
}

func usable(found []program) []string {
	var all []string
	for _, p := range found {
		if p.why == "" {
			all = append(all, p.name)
		}
	}
	slices.Sort(all)
	return all
}

// about is what a runtime says about itself.
func (p program) about(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, p.path, "--version").Output()
	if err != nil {
		return "", unavailable("%s --version: %v", p.path, err)
	}
	return string(out), nil
}

// version is the first line that a runtime says about itself: "runc 1.1.5".
func (p program) version(ctx context.Context) (string, error) {
	about, err := p.about(ctx)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(about, "\n")
	return fmt.Sprintf("%s %.100s", p.name, strings.TrimPrefix(strings.TrimPrefix(line, p.name+" version "), "release-")), nil
}

// command is a runtime's command for a cell.
func (p program) command(ctx context.Context, c *cell, args ...string) *exec.Cmd {
	global := []string{"--root", c.dir.state(), "--log", c.dir.log(), "--log-format", "json"}
	if p.name == "runsc" {
		global = append(global, "--platform=systrap", "--network=none", "--oci-seccomp")
	}
	cmd := exec.CommandContext(ctx, p.path, append(global, args...)...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.Dir = string(c.dir)
	cmd.Cancel = func() error { c.mourn(killLineage(cmd.Process.Pid)); return nil }
	cmd.WaitDelay = time.Second
	return cmd
}
