package oci

import (
	"reflect"
	"strings"

	"github.com/hotcell/hotcell/sandbox"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// conversion is a spec on its way to a bundle's. Each control takes the fields it understands out of oci, and puts what
// they mean into out; what is left at the end is something that the driver would silently ignore, and is refused instead.
type conversion struct {
	spec    *sandbox.Spec
	oci     specs.Spec
	process specs.Process
	linux   specs.Linux
	out     specs.Spec
	points  []point
}

// convert says what a runtime is told of a spec, and which mount points the root needs. It is pure, and changes nothing
// that spec points to. Paths of the root, of trees and of the control group are the caller's: a tree's mount has the
// tree's digest as its source. The error wraps [sandbox.ErrUnsupported] and names the field.
func convert(spec *sandbox.Spec) (*specs.Spec, []point, error) {
	if spec.OCI == nil || spec.OCI.Process == nil || spec.OCI.Linux == nil || spec.OCI.Root == nil {
		return nil, nil, unsupported("spec of %q: process, root and linux must be set", spec.Name)
	}
	c := &conversion{spec: spec, oci: *spec.OCI, process: *spec.OCI.Process, linux: *spec.OCI.Linux}
	c.oci.Process, c.oci.Linux = nil, nil
	c.out = specs.Spec{Version: "1.0.2", Process: &specs.Process{}, Linux: &specs.Linux{Resources: &specs.LinuxResources{}}}
	for _, control := range []func() error{
		c.identity, c.command, c.environment, c.user, c.privileges, c.seccomp, c.rlimits, c.root, c.kernelFiles, c.sharedMemory,
		c.tmpfs, c.trees, c.imageVolumes, c.namespaces, c.paths, c.memory, c.cpu, c.pids, c.devices,
	} {
		if err := control(); err != nil {
			return nil, nil, err
		}
	}
	c.oci.Process, c.oci.Linux = &c.process, &c.linux
	if field := leftover(reflect.ValueOf(c.oci), ""); field != "" {
		return nil, nil, unsupported("%s", field)
	}
	return &c.out, c.points, nil
}

// leftover returns the path of the first field that is set, "" if none is. Pointers to zero values count as unset.
func leftover(v reflect.Value, path string) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return leftover(v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			if p := leftover(v.Field(i), join(path, v.Type().Field(i))); p != "" {
				return p
			}
		}
		return ""
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			return ""
		}
		return path
	}
	if v.IsZero() {
		return ""
	}
	return path
}

func join(path string, f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "":
		return path
	case path == "":
		return name
	}
	return path + "." + name
}
