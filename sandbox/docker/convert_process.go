package docker

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
)

// identity: a fixed hostname, or the container's id would show. The image is pinned by its content id.
func (c *conversion) identity() error {
	hostname, err := c.left.Identity("its container's id")
	if err != nil {
		return err
	}
	c.config.Image = c.spec.Image.ID
	c.config.Hostname = hostname
	c.host.Runtime = c.spec.Runtime
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
	args, dir, err := c.left.Command()
	if err != nil {
		return err
	}
	c.config.Entrypoint, c.config.Cmd, c.config.WorkingDir = args[:1], args[1:], dir
	return nil
}

// environment passes the spec's variables and unsets what the image and the engine would add: a bare KEY does that.
// HOME must be there, since the runtime invents it otherwise.
func (c *conversion) environment() error {
	env, have, err := c.left.EnvironmentWithHome()
	if err != nil {
		return err
	}
	env = slices.Clone(env)
	for _, entry := range append([]string{"PATH", "HOSTNAME", "TERM"}, c.spec.Image.Env...) {
		if key, _, _ := strings.Cut(entry, "="); key != "" && !have[key] {
			have[key] = true
			env = append(env, key)
		}
	}
	c.config.Env = env
	return nil
}

// user is numeric, so that no file of the image decides who it is.
func (c *conversion) user() error {
	uid, gid, err := c.left.User()
	if err != nil {
		return err
	}
	c.config.User = fmt.Sprintf("%d:%d", uid, gid)
	return nil
}

// privileges: no capability, none to be gained, and the engine's AppArmor profile where it has one.
func (c *conversion) privileges() error {
	oomScore, err := c.left.Privileges()
	if err != nil {
		return err
	}
	c.host.CapDrop = []string{"ALL"}
	c.host.Privileged = false
	c.host.SecurityOpt = append(c.host.SecurityOpt, "no-new-privileges")
	if c.appArmor {
		profile := c.left.Process.ApparmorProfile
		if profile == "" {
			profile = "docker-default"
		}
		c.host.SecurityOpt = append(c.host.SecurityOpt, "apparmor="+profile)
		c.left.Process.ApparmorProfile = ""
	}
	if oomScore != nil {
		c.host.OomScoreAdj = *oomScore
	}
	return nil
}

// seccomp passes the profile's text. An engine's default is never relied on: that of 20.10 permits io_uring and AF_ALG.
func (c *conversion) seccomp() error {
	profile, err := c.left.Seccomp()
	if err != nil {
		return err
	}
	text, err := json.Marshal(profile)
	if err != nil {
		return unsupported("linux.seccomp: %v", err)
	}
	c.host.SecurityOpt = append(c.host.SecurityOpt, "seccomp="+string(text))
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
	for _, r := range c.left.Process.Rlimits {
		name, ok := rlimitNames[r.Type]
		if !ok {
			return unsupported("process.rlimits: %s", r.Type)
		}
		c.host.Ulimits = append(c.host.Ulimits, &container.Ulimit{Name: name, Hard: rlimit(r.Hard), Soft: rlimit(r.Soft)})
	}
	c.left.Process.Rlimits = nil
	return nil
}

func rlimit(v uint64) int64 {
	if v > math.MaxInt64 {
		return -1 // unlimited
	}
	return int64(v)
}
