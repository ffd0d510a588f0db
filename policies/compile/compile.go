package compile

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

// control sets one part of a spec.
type control func(*sandbox.Spec, policies.Effective, Workload) error

// Compile returns the spec of the cell that runs a workload under a policy that [policies.Narrow] returned. The error
// wraps [sandbox.ErrUnsupported] when the policy, the image or its architecture asks for what no cell can have; any other
// error says which part of the workload is malformed.
func Compile(eff policies.Effective, w Workload) (*sandbox.Spec, error) {
	if err := check(eff, w); err != nil {
		return nil, err
	}
	spec := &sandbox.Spec{
		Name:    Name(w),
		Labels:  labels(w),
		Image:   w.Image,
		Runtime: eff.Runtime,
		Tenant:  w.Tenant,
		OCI: &specs.Spec{
			Version: specs.Version,
			Process: &specs.Process{},
			Linux:   &specs.Linux{Resources: &specs.LinuxResources{}},
		},
	}
	for _, set := range []control{
		command,
		environment,
		trees,
		identity,
		privileges,
		processLimits,
		readOnlyRoot,
		hostname,
		scratch,
		maskedVolumes,
		closedTmp,
		memory,
		cpu,
		pids,
		namespaces,
		hiddenPaths,
		syscalls,
	} {
		if err := set(spec, eff, w); err != nil {
			return nil, err
		}
	}
	return spec, nil
}

// Name is the name of a workload's cell: unique to its call, and it tells people whose it is.
func Name(w Workload) string {
	return fmt.Sprintf("skill-%.8s-%s", w.Instance, strings.ToLower(w.CallID))
}

func labels(w Workload) map[string]string {
	own := map[string]string{
		sandbox.LabelManaged:  "1",
		sandbox.LabelKind:     "cell",
		sandbox.LabelInstance: w.Instance,
		sandbox.LabelHost:     w.Host,
		sandbox.LabelSkill:    w.Skill,
		sandbox.LabelExpires:  strconv.FormatInt(w.Expires.Unix(), 10),
	}
	if w.Tenant != "" {
		own[sandbox.LabelTenant] = w.Tenant
	}
	if w.Waits {
		own[sandbox.LabelPool] = "1"
	} else {
		own[sandbox.LabelCall] = w.CallID
	}
	return own
}

// command makes the runner the first process, or the image's own command where the image speaks the wall itself.
func command(spec *sandbox.Spec, eff policies.Effective, w Workload) error {
	if !w.Frames {
		args := wall.Args{Command: w.Command, Output: int64(eff.Limits.Output), Out: int64(eff.Limits.Out), Ports: w.Ports, Prestart: w.Prestart}
		spec.OCI.Process.Args = args.Argv()
	} else {
		spec.OCI.Process.Args = framesCommand(w)
	}
	spec.OCI.Process.Cwd = wall.DirWorkspace
	return nil
}

func framesCommand(w Workload) []string {
	if len(w.Command) > 0 {
		return append([]string{}, w.Command...)
	}
	return append(append([]string{}, w.Entrypoint...), w.Cmd...)
}

// environment sets the whole environment; a driver removes what the image adds.
func environment(spec *sandbox.Spec, _ policies.Effective, w Workload) error {
	env, err := imageEnv(w.Image.Env)
	if err != nil {
		return err
	}
	extra, err := extraEnv(w.Env)
	if err != nil {
		return err
	}
	maps.Copy(env, extra)
	withLibrary(env, w)
	spec.OCI.Process.Env = withFixed(env)
	return nil
}

// trees brings in the bundle, the runner and the engine where there is one, read-only and at their fixed places.
func trees(spec *sandbox.Spec, _ policies.Effective, w Workload) error {
	bundle := w.Bundle
	bundle.Target = wall.DirSkill
	spec.Trees = []sandbox.Tree{bundle}
	if !w.Frames {
		runner := w.Runner
		runner.Target = wall.DirRunner
		spec.Trees = append(spec.Trees, runner)
	}
	if w.Engine.FS != nil {
		engine := w.Engine
		engine.Target = wall.DirEngine
		spec.Trees = append(spec.Trees, engine)
	}
	return nil
}

// identity runs the cell as a user of its own, with no further group.
func identity(spec *sandbox.Spec, _ policies.Effective, w Workload) error {
	spec.OCI.Process.User = specs.User{UID: w.UID, GID: w.UID}
	return nil
}

// hostname hides the cell's id.
func hostname(spec *sandbox.Spec, _ policies.Effective, _ Workload) error {
	spec.OCI.Hostname = "skill"
	return nil
}
