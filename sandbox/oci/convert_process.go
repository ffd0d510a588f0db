package oci

import (
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,127}$`)

// identity: a fixed hostname. The image is pinned by its content id.
func (c *conversion) identity() error {
	if !namePattern.MatchString(c.spec.Name) {
		return unsupported("spec name %q: expected lower-case letters, digits and dashes", c.spec.Name)
	}
	if c.spec.Image.ID == "" {
		return unsupported("spec of %q: image id is empty", c.spec.Name)
	}
	if c.oci.Hostname == "" {
		return unsupported("hostname: must be set, or the cell would see this host's")
	}
	c.out.Hostname = c.oci.Hostname
	c.oci.Hostname, c.oci.Version = "", ""
	return nil
}

// command: the spec's alone; nothing of the image's configuration reaches a runtime.
func (c *conversion) command() error {
	p := &c.process
	if len(p.Args) == 0 || p.Args[0] == "" {
		return unsupported("process.args: is empty, and the image's own command is never run")
	}
	if !cleanAbs(p.Cwd) {
		return unsupported("process.cwd %q: expected a clean absolute path", p.Cwd)
	}
	c.out.Process.Args, c.out.Process.Cwd = p.Args, p.Cwd
	p.Args, p.Cwd = nil, ""
	return nil
}

// environment: HOME must be there, since a runtime invents it otherwise.
func (c *conversion) environment() error {
	have := make(map[string]bool)
	for _, entry := range c.process.Env {
		key, _, ok := strings.Cut(entry, "=")
		if !ok || key == "" || strings.ContainsRune(entry, 0) {
			return unsupported("process.env %q: expected KEY=VALUE", key)
		}
		if have[key] {
			return unsupported("process.env: %s is there twice", key)
		}
		have[key] = true
	}
	if !have["HOME"] {
		return unsupported("process.env: HOME must be set, or the runtime invents one")
	}
	c.out.Process.Env = c.process.Env
	c.process.Env = nil
	return nil
}

// user is numeric, so that no file of the image decides who it is.
func (c *conversion) user() error {
	u := &c.process.User
	if u.UID == 0 || u.GID == 0 {
		return unsupported("process.user %d:%d: root is never used", u.UID, u.GID)
	}
	c.out.Process.User = specs.User{UID: u.UID, GID: u.GID, AdditionalGids: []uint32{u.GID}}
	u.UID, u.GID = 0, 0
	return nil
}

// privileges: no capability, and none to be gained.
func (c *conversion) privileges() error {
	p := &c.process
	if !p.NoNewPrivileges {
		return unsupported("process.noNewPrivileges: must be true")
	}
	out := c.out.Process
	out.NoNewPrivileges = true
	out.Capabilities = &specs.LinuxCapabilities{}
	out.ApparmorProfile, out.SelinuxLabel = p.ApparmorProfile, p.SelinuxLabel // a runtime refuses what the kernel hasn't
	if p.OOMScoreAdj != nil {
		// Lowering it takes a privilege that even root may lack. The cell is offered to the kernel no later than we are.
		score := max(*p.OOMScoreAdj, ownScore())
		out.OOMScoreAdj = &score
	}
	p.NoNewPrivileges, p.OOMScoreAdj, p.ApparmorProfile, p.SelinuxLabel = false, nil, "", ""
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
	s := c.linux.Seccomp
	switch {
	case s == nil || s.DefaultAction == "":
		return unsupported("linux.seccomp: must be set with a default action")
	case len(s.Flags) > 0 || s.ListenerPath != "" || s.ListenerMetadata != "":
		return unsupported("linux.seccomp: flags and listeners")
	}
	c.out.Linux.Seccomp = s
	c.linux.Seccomp = nil
	return nil
}

func (c *conversion) rlimits() error {
	for _, r := range c.process.Rlimits {
		if !strings.HasPrefix(r.Type, "RLIMIT_") {
			return unsupported("process.rlimits: %s", r.Type)
		}
	}
	c.out.Process.Rlimits = c.process.Rlimits
	c.process.Rlimits = nil
	return nil
}

func cleanAbs(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}
