package sandboxtest

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/hotcell/hotcell/sandbox"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// NewSpec returns a spec for a small, locked-down cell with a name of its own that runs args: 64 MiB, 32 pids, a tmpfs of
// 8 MiB at /scratch, and a seccomp profile that refuses what the suite's probe tries. The caller sets the image.
func NewSpec(args ...string) *sandbox.Spec {
	return &sandbox.Spec{
		Name:    "hotcell-test-" + strings.ToLower(rand.Text()[:12]),
		Labels:  map[string]string{sandbox.LabelCall: "call-1", sandbox.LabelSkill: "some-skill"},
		ShmSize: 1 << 20,
		OCI: &specs.Spec{
			Version:  specs.Version,
			Hostname: "cell",
			Root:     &specs.Root{Readonly: true},
			Process: &specs.Process{
				Args: args, Cwd: "/", NoNewPrivileges: true,
				Env:         []string{"HOME=/scratch", "PATH=/bin", "LANG=C.UTF-8"},
				User:        specs.User{UID: 65601, GID: 65601},
				Rlimits:     []specs.POSIXRlimit{{Type: "RLIMIT_CORE"}, {Type: "RLIMIT_NOFILE", Hard: 256, Soft: 256}},
				OOMScoreAdj: new(1000),
			},
			Mounts: []specs.Mount{{
				Destination: "/scratch", Type: "tmpfs", Source: "tmpfs",
				Options: []string{"rw", "noexec", "nosuid", "nodev", "size=8388608", "mode=0700", "uid=65601", "gid=65601", "nr_inodes=1024"},
			}},
			Linux: &specs.Linux{
				Namespaces: []specs.LinuxNamespace{
					{Type: specs.PIDNamespace}, {Type: specs.NetworkNamespace}, {Type: specs.MountNamespace},
					{Type: specs.IPCNamespace}, {Type: specs.UTSNamespace}, {Type: specs.CgroupNamespace},
				},
				Resources: &specs.LinuxResources{
					Memory: &specs.LinuxMemory{Limit: new(int64(64 << 20)), Swap: new(int64(64 << 20))},
					CPU:    &specs.LinuxCPU{Quota: new(int64(100_000)), Period: new(uint64(100_000))},
					Pids:   &specs.LinuxPids{Limit: new(int64(32))},
				},
				Seccomp:       profile(),
				MaskedPaths:   []string{"/proc/kcore", "/proc/keys"},
				ReadonlyPaths: []string{"/proc/sys"},
			},
		},
	}
}

// WithTree adds a tree to a spec, named and digested by the caller's word for it.
func WithTree(spec *sandbox.Spec, t sandbox.Tree) *sandbox.Spec {
	spec.Trees = append(spec.Trees, t)
	return spec
}

// Digest returns a digest that no other test has.
func Digest() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func profile() *specs.LinuxSeccomp {
	family := func(n uint64) specs.LinuxSyscall {
		return specs.LinuxSyscall{Names: []string{"socket"}, Action: specs.ActErrno, Args: []specs.LinuxSeccompArg{{Index: 0, Value: n, Op: specs.OpEqualTo}}}
	}
	return &specs.LinuxSeccomp{
		DefaultAction: specs.ActAllow,
		Architectures: []specs.Arch{specs.ArchX86_64, specs.ArchX86, specs.ArchX32, specs.ArchAARCH64, specs.ArchARM},
		Syscalls: []specs.LinuxSyscall{
			{Names: []string{"ptrace", "bpf", "io_uring_setup", "unshare", "setns", "mount", "keyctl"}, Action: specs.ActErrno},
			family(38), family(40),
		},
	}
}
