package oci

import (
	"os"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// identity: a fixed hostname. The image is pinned by its content id.
func (c *conversion) identity() error {
	hostname, err := c.left.Identity("this host's")
	c.out.Hostname = hostname
	return err
}

// command: the spec's alone; nothing of the image's configuration reaches a runtime.
func (c *conversion) command() error {
	args, dir, err := c.left.Command()
	c.out.Process.Args, c.out.Process.Cwd = args, dir
	return err
}

// environment: HOME must be there, since a runtime invents it otherwise.
func (c *conversion) environment() error {
	env, _, err := c.left.EnvironmentWithHome()
	c.out.Process.Env = env
	return err
}

// user is numeric, so that no file of the image decides who it is.
func (c *conversion) user() error {
	uid, gid, err := c.left.User()
	c.out.Process.User = specs.User{UID: uid, GID: gid, AdditionalGids: []uint32{gid}}
	return err
}

// privileges: no capability, and none to be gained.
func (c *conversion) privileges() error {
	oomScore, err := c.left.Privileges()
	if err != nil {
		return err
	}
	p, out := &c.left.Process, c.out.Process
	out.NoNewPrivileges = true
	out.Capabilities = &specs.LinuxCapabilities{}
	out.ApparmorProfile, out.SelinuxLabel = p.ApparmorProfile, p.SelinuxLabel // a runtime refuses what the kernel hasn't
	if oomScore != nil {
		// Lowering it takes a privilege that even root may lack. The cell is offered to the kernel no later than we are.
		score := max(*oomScore, ownScore())
		out.OOMScoreAdj = &score
	}
	p.ApparmorProfile, p.SelinuxLabel = "", ""
	return nil
}

// ownScore is this process's oom_score_adj.
func ownScore() int {
	text, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// seccomp passes the profile as it is.
func (c *conversion) seccomp() error {
	profile, err := c.left.Seccomp()
	c.out.Linux.Seccomp = profile
	return err
}

func (c *conversion) rlimits() error {
	for _, r := range c.left.Process.Rlimits {
		if !strings.HasPrefix(r.Type, "RLIMIT_") {
			return unsupported("process.rlimits: %s", r.Type)
		}
	}
	c.out.Process.Rlimits = c.left.Process.Rlimits
	c.left.Process.Rlimits = nil
	return nil
}
