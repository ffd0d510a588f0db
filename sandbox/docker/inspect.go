package docker

import (
	"context"
	"strings"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/versions"
	"github.com/hotcell/hotcell/sandbox"
)

var _ sandbox.Inspector = (*Driver)(nil)

// Inspect implements [sandbox.Inspector]. An engine that is too old for cells is described too.
func (d *Driver) Inspect(ctx context.Context) (sandbox.EngineFacts, error) {
	op, cancel := context.WithTimeout(ctx, d.limits.Info)
	defer cancel()
	began := time.Now()
	info, err := d.system.Info(op)
	if err != nil {
		return sandbox.EngineFacts{}, d.unanswered(ctx, "ask the engine what it is", err)
	}
	took := time.Since(began)
	version, err := d.system.ServerVersion(op)
	if err != nil {
		return sandbox.EngineFacts{}, d.unanswered(ctx, "ask the engine for its version", err)
	}
	f := describe(info, version)
	f.Address, f.Took, f.API = d.host, took, d.system.ClientVersion()
	if versions.LessThan(f.API, minAPI) {
		f.APILeast = minAPI
	}
	return f, nil
}

// VolumeBytes implements [sandbox.Inspector]. An engine measures its volumes by reading them, which may take long.
func (d *Driver) VolumeBytes(ctx context.Context) (map[string]int64, error) {
	op, cancel := context.WithTimeout(ctx, d.limits.List)
	defer cancel()
	usage, err := d.system.DiskUsage(op, types.DiskUsageOptions{Types: []types.DiskUsageObject{types.VolumeObject}})
	if err != nil {
		return nil, d.explain(ctx, "measure volumes", err)
	}
	sizes := make(map[string]int64)
	for _, v := range usage.Volumes {
		if v == nil {
			continue
		}
		sizes[v.Name] = -1
		if v.UsageData != nil && v.UsageData.Size >= 0 {
			sizes[v.Name] = v.UsageData.Size
		}
	}
	return sizes, nil
}

// describe says in the contract's words what an engine said of itself.
func describe(info system.Info, version types.Version) sandbox.EngineFacts {
	f := sandbox.EngineFacts{
		Version: info.ServerVersion, APINewest: version.APIVersion, APIOldest: version.MinAPIVersion,
		OS: info.OSType, Arch: goArch(info.Architecture), Host: info.Name, System: info.OperatingSystem, Kernel: info.KernelVersion,
		CPUs: info.NCPU, Memory: info.MemTotal,
		Root: info.DockerRootDir, Storage: info.Driver,
		DefaultRuntime: info.DefaultRuntime, Runtimes: make(map[string]string),
		Runc:          component(version, "runc", info.RuncCommit.ID),
		Containerd:    component(version, "containerd", info.ContainerdCommit.ID),
		CgroupVersion: info.CgroupVersion, CgroupDriver: info.CgroupDriver,
		MemoryLimit: info.MemoryLimit, SwapLimit: info.SwapLimit, PIDsLimit: info.PidsLimit, CPUQuota: info.CPUCfsQuota,
		OOMKillDisable: info.OomKillDisable,
		Security:       securityOptions(info.SecurityOptions),
		LiveRestore:    info.LiveRestoreEnabled, LogDriver: info.LoggingDriver, Warnings: info.Warnings,
	}
	f.Clock, _ = time.Parse(time.RFC3339Nano, info.SystemTime) // the zero time: it has not said
	for _, pair := range info.DriverStatus {
		switch {
		case pair[0] == "Backing Filesystem":
			f.Backing = pair[1]
		case pair[0] == "driver-type" && strings.HasPrefix(pair[1], "io.containerd.snapshotter"):
			f.ImageStore = "containerd"
		}
	}
	for name, r := range info.Runtimes {
		f.Runtimes[name] = r.Path
		if r.Path == "" {
			f.Runtimes[name] = r.Type
		}
	}
	return f
}

// component is the version of a part of the engine, as exactly as it says it. A distribution's package version stands in
// the place of the commit, where others have a hash.
func component(version types.Version, name, commit string) string {
	short := ""
	for _, c := range version.Components {
		if c.Name == name {
			short = c.Version
			if commit == "" {
				commit = c.Details["GitCommit"]
			}
		}
	}
	base, _, _ := strings.Cut(short, "~")
	switch {
	case short == "":
		return commit
	case base != "" && strings.HasPrefix(commit, base):
		return commit
	}
	return short
}

func securityOptions(words []string) []sandbox.SecurityOption {
	var all []sandbox.SecurityOption
	for _, word := range words {
		o := sandbox.SecurityOption{Options: make(map[string]string)}
		for part := range strings.SplitSeq(word, ",") {
			key, value, pair := strings.Cut(part, "=")
			switch {
			case !pair && o.Name == "", key == "name":
				o.Name = strings.TrimPrefix(part, "name=")
			default:
				o.Options[key] = value
			}
		}
		all = append(all, o)
	}
	return all
}
