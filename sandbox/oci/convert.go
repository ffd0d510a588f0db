package oci

import (
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/demands"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// conversion is a spec on its way to a bundle's. Each control takes the fields it understands out of what is left, and puts
// what they mean into out.
type conversion struct {
	spec   *sandbox.Spec
	left   *demands.Left
	out    specs.Spec
	points []point
}

// convert says what a runtime is told of a spec, and which mount points the root needs. It is pure, and changes nothing
// that spec points to. Paths of the root, of trees and of the control group are the caller's: a tree's mount has the
// tree's digest as its source. The error wraps [sandbox.ErrUnsupported] and names the field.
func convert(spec *sandbox.Spec) (*specs.Spec, []point, error) {
	left, err := demands.Of(spec)
	if err != nil {
		return nil, nil, err
	}
	c := &conversion{spec: spec, left: left}
	c.out = specs.Spec{Version: "1.0.2", Process: &specs.Process{}, Linux: &specs.Linux{Resources: &specs.LinuxResources{}}}
	for _, control := range []func() error{
		c.identity, c.command, c.environment, c.user, c.privileges, c.seccomp, c.rlimits, c.root, c.kernelFiles, c.sharedMemory,
		c.tmpfs, c.trees, c.imageVolumes, c.namespaces, c.paths, c.memory, c.cpu, c.pids, c.devices,
	} {
		if err := control(); err != nil {
			return nil, nil, err
		}
	}
	if err := left.Nothing(); err != nil {
		return nil, nil, err
	}
	return &c.out, c.points, nil
}
