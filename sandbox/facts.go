package sandbox

import (
	"context"
	"time"
)

// Inspector is a driver whose engine can say what it is made of, for people who ask what it can enforce. Both methods fail
// with ErrUnavailable where no engine answers. What they return is the engine's word, texts as they came.
type Inspector interface {
	Inspect(ctx context.Context) (EngineFacts, error)
	// VolumeBytes returns the sizes of all of the engine's volumes by name, -1 where it does not know one.
	VolumeBytes(ctx context.Context) (map[string]int64, error)
}

// EngineFacts is what an engine says about itself and its host. "" and 0 are what it left out.
type EngineFacts struct {
	Address string        // where it was reached: "unix:///var/run/docker.sock"
	Took    time.Duration // until it had answered

	Version   string // "20.10.24"
	API       string // the version that is spoken with it
	APINewest string // the newest and the oldest that it speaks
	APIOldest string
	APILeast  string // the oldest that the driver can use; "" when API is new enough

	OS, Arch string // GOOS and GOARCH words
	Host     string // its host's name
	System   string // "Debian GNU/Linux 12 (bookworm)"
	Kernel   string
	CPUs     int
	Memory   int64 // bytes
	Clock    time.Time

	Root       string // its own folder
	Storage    string // "overlay2"
	Backing    string // the file system below: "extfs"
	ImageStore string // "containerd", or "" for the engine's own

	Runtimes       map[string]string // name → program, or the shim's name
	DefaultRuntime string
	Runc           string // as exact as it says: "1.1.5+ds1-1+deb12u1"
	Containerd     string

	CgroupVersion, CgroupDriver string
	MemoryLimit, SwapLimit      bool
	PIDsLimit, CPUQuota         bool
	OOMKillDisable              bool

	Security    []SecurityOption
	LiveRestore bool
	LogDriver   string // of containers that say nothing
	Warnings    []string
}

// SecurityOption is one of an engine's: seccomp, apparmor, selinux, userns, rootless, cgroupns, no-new-privileges.
type SecurityOption struct {
	Name    string
	Options map[string]string
}

// Option returns a security option's settings, and whether the engine has it.
func (f *EngineFacts) Option(name string) (map[string]string, bool) {
	for _, o := range f.Security {
		if o.Name == name {
			return o.Options, true
		}
	}
	return nil, false
}
