package docker

import (
	"github.com/docker/docker/api/types/container"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/demands"
)

// conversion is a spec on its way into an engine's words. Each control takes the fields it understands out of what is left.
type conversion struct {
	spec     *sandbox.Spec
	left     *demands.Left
	appArmor bool // the engine has AppArmor
	config   container.Config
	host     container.HostConfig
}

// convert says what container a spec becomes. It is pure, and changes nothing that spec points to. Labels are the
// caller's. The error wraps [sandbox.ErrUnsupported] and names the field.
func convert(spec *sandbox.Spec, appArmor bool) (*container.Config, *container.HostConfig, error) {
	left, err := demands.Of(spec)
	if err != nil {
		return nil, nil, err
	}
	c := &conversion{spec: spec, left: left, appArmor: appArmor}
	for _, control := range []func() error{
		c.identity, c.lifecycle, c.stdio, c.command, c.environment, c.user, c.privileges, c.seccomp,
		c.rlimits, c.root, c.tmpfs, c.trees, c.imageVolumes, c.namespaces, c.sharedMemory, c.paths, c.memory, c.cpu, c.pids, c.devices,
	} {
		if err := control(); err != nil {
			return nil, nil, err
		}
	}
	if err := left.Nothing(); err != nil {
		return nil, nil, err
	}
	return &c.config, &c.host, nil
}
