package doctor

import (
	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/sandbox"
)

// hybrid is what the reference host has for cells without an engine, and oneVersion a host of today.
func hybrid() Direct {
	return Direct{
		Asked: true, Cgroup: "1", Hybrid: true, UserNS: 94000, Runtimes: []Runtime{
			{Name: "runc", Path: "/usr/sbin/runc", Version: "1.1.5+ds1-1+deb12u1"},
			{Name: "crun", Path: "/usr/bin/crun", Version: "1.8.1", Why: "crun refuses a host with cgroup v1 and v2 at once (hybrid), as this one: use runc, or boot with systemd.unified_cgroup_hierarchy=1"},
			{Name: "runsc", Path: "/usr/local/bin/runsc", Version: "20260714.0"},
		},
	}
}

func oneVersion() Direct {
	return Direct{Asked: true, Cgroup: "2", UserNS: 0, Runtimes: []Runtime{{Name: "crun", Path: "/usr/bin/crun", Version: "1.28"}}}
}

// direct is the reference host with its cells made by runc itself.
func direct(f *Facts) {
	f.Settings.Driver = DriverOCI
	e := f.Engine
	e.Address, e.Version, e.API, e.APINewest, e.APIOldest, e.Storage, e.Backing, e.LogDriver, e.Containerd = "", "runc 1.1.5+ds1", "", "", "", "", "", "", ""
	e.Security = []sandbox.SecurityOption{{Name: "seccomp"}}
	e.Runtimes = map[string]string{"runc": "/usr/sbin/runc", "runsc": "/usr/local/bin/runsc"}
	f.Left.Things = []sandbox.Listed{
		{Kind: "cell", Name: "skill-gone-1", State: "exited", Labels: map[string]string{sandbox.LabelInstance: "gone"}},
		{Kind: "volume", Name: "tree:0123456789ab"},
	}
	f.Left.Owners = []instance.Info{{Instance: "gone"}}
}

// impossible is a host on which only an engine could make cells, and none is to.
func impossible(f *Facts) {
	*f = Facts{Settings: f.Settings, Host: f.Host, Left: f.Left}
	f.Settings.Driver = DriverOCI
	f.Direct = Direct{Asked: true, Cgroup: "2", UserNS: -1, Why: "cells are made by root: run hotcell as root, or with a Docker engine"}
	f.NoEngine = "driver oci: " + f.Direct.Why
}
