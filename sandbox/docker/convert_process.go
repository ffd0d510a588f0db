package docker

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"regexp"
	"strings"

	"github.com/docker/docker/api/types/container"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,127}$`)

// identity: a fixed hostname, or the container's id would show. The image is pinned by its content id.
func (c *conversion) identity() error {
	if !namePattern.MatchString(c.spec.Name) {
		return unsupported("spec name %q: expected lower-case letters, digits and dashes", c.spec.Name)
	}
	if c.spec.Image.ID == "" {
		return unsupported("spec of %q: image id is empty", c.spec.Name)
	}
	if c.oci.Hostname == "" {
		return unsupported("hostname: must be set, or the cell would see its container's id")
	}
	c.config.Image = c.spec.Image.ID
	c.config.Hostname = c.oci.Hostname
	c.host.Runtime = c.spec.Runtime
	c.oci.Hostname, c.oci.Version = "", ""
	return nil
}

// lifecycle: the driver alone decides when a cell ends and is removed, and no image joins in.
func (c *conversion) lifecycle() error {
	stop, init := 0, false
	c.config.StopTimeout = &stop
	c.config.Healthcheck = &container.HealthConfig{Test: []string{"NONE"}}
	c.host.Init = &init
	c.host.AutoRemove = false
	c.host.RestartPolicy = container.RestartPolicy{Name: container.RestartPolicyDisabled}
	return nil
}

// stdio: one attach for all three streams, no terminal, nothing written to the engine's disk. Without StdinOnce the end
// of stdin would not reach the process and would end the output instead.
func (c *conversion) stdio() error {
	c.config.AttachStdin, c.config.AttachStdout, c.config.AttachStderr = true, true, true
	c.config.OpenStdin, c.config.StdinOnce, c.config.Tty = true, true, false
	c.host.LogConfig = container.LogConfig{Type: "none"}
	return nil
}

// command overrides the image's entrypoint, command and working directory.
func (c *conversion) command() error {
	p := &c.process
	if len(p.Args) == 0 || p.Args[0] == "" {
		return unsupported("process.args: is empty, and the image's own command is never run")
	}
	if !cleanAbs(p.Cwd) {
		return unsupported("process.cwd %q: expected a clean absolute path", p.Cwd)
	}
	c.config.Entrypoint, c.config.Cmd, c.config.WorkingDir = p.Args[:1], p.Args[1:], p.Cwd
	p.Args, p.Cwd = nil, ""
	return nil
}

// environment passes the spec's variables and unsets what the image and the engine would add: a bare KEY does that.
// HOME must be there, since the runtime invents it otherwise.
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
	env := append([]string(nil), c.process.Env...)
	for _, entry := range append([]string{"PATH", "HOSTNAME", "TERM"}, c.spec.Image.Env...) {
		if key, _, _ := strings.Cut(entry, "="); key != "" && !have[key] {
			have[key] = true
			env = append(env, key)
		}
	}
	c.config.Env = env
	c.process.Env = nil
	return nil
}

// user is numeric, so that no file of the image decides who it is.
func (c *conversion) user() error {
	u := &c.process.User
	if u.UID == 0 || u.GID == 0 {
		return unsupported("process.user %d:%d: root is never used", u.UID, u.GID)
	}
	c.config.User = fmt.Sprintf("%d:%d", u.UID, u.GID)
	u.UID, u.GID = 0, 0
	return nil
}

// privileges: no capability, none to be gained, and the engine's AppArmor profile where it has one.
func (c *conversion) privileges() error {
	p := &c.process
	if !p.NoNewPrivileges {
		return unsupported("process.noNewPrivileges: must be true")
	}
	c.host.CapDrop = []string{"ALL"}
	c.host.Privileged = false
	c.host.SecurityOpt = append(c.host.SecurityOpt, "no-new-privileges")
	if c.appArmor {
		profile := p.ApparmorProfile
		if profile == "" {
			profile = "docker-default"
		}
		c.host.SecurityOpt = append(c.host.SecurityOpt, "apparmor="+profile)
		p.ApparmorProfile = ""
	}
	if p.OOMScoreAdj != nil {
		c.host.OomScoreAdj = *p.OOMScoreAdj
	}
	p.NoNewPrivileges, p.OOMScoreAdj = false, nil
	return nil
}

// seccomp passes the profile's text. An engine's default is never relied on: that of 20.10 permits io_uring and AF_ALG.
func (c *conversion) seccomp() error {
	s := c.linux.Seccomp
	switch {
	case s == nil || s.DefaultAction == "":
		return unsupported("linux.seccomp: must be set with a default action")
	case len(s.Flags) > 0 || s.ListenerPath != "" || s.ListenerMetadata != "":
		return unsupported("linux.seccomp: flags and listeners")
	}
	text, err := json.Marshal(s)
	if err != nil {
		return unsupported("linux.seccomp: %v", err)
	}
	c.host.SecurityOpt = append(c.host.SecurityOpt, "seccomp="+string(text))
	c.linux.Seccomp = nil
	return nil
}

// rlimitNames are the limits that engines know.
var rlimitNames = map[string]string{
	"RLIMIT_CORE": "core", "RLIMIT_CPU": "cpu", "RLIMIT_DATA": "data", "RLIMIT_FSIZE": "fsize", "RLIMIT_LOCKS": "locks",
	"RLIMIT_MEMLOCK": "memlock", "RLIMIT_MSGQUEUE": "msgqueue", "RLIMIT_NICE": "nice", "RLIMIT_NOFILE": "nofile",
	"RLIMIT_NPROC": "nproc", "RLIMIT_RSS": "rss", "RLIMIT_RTPRIO": "rtprio", "RLIMIT_RTTIME": "rttime",
	"RLIMIT_SIGPENDING": "sigpending", "RLIMIT_STACK": "stack",
}

func (c *conversion) rlimits() error {
	for _, r := range c.process.Rlimits {
		name, ok := rlimitNames[r.Type]
		if !ok {
			return unsupported("process.rlimits: %s", r.Type)
		}
		c.host.Ulimits = append(c.host.Ulimits, &container.Ulimit{Name: name, Hard: rlimit(r.Hard), Soft: rlimit(r.Soft)})
	}
	c.process.Rlimits = nil
	return nil
}

func rlimit(v uint64) int64 {
	if v > math.MaxInt64 {
		return -1 // unlimited
	}
	return int64(v)
}

func cleanAbs(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}

// oneOf reports whether a namespace kind is in the list, and has no path.
func oneOf(list []specs.LinuxNamespace, kind specs.LinuxNamespaceType) bool {
	for _, ns := range list {
		if ns.Type == kind {
			return ns.Path == ""
		}
	}
	return false
}
