package docker

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/versions"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
)

// minAPI is the first Engine API with private cgroup namespaces (Docker 20.10).
const minAPI = "1.41"

// factsFor is how long facts about an engine are believed.
const factsFor = 30 * time.Second

// facts are what the driver knows about its engine.
type facts struct {
	caps     sandbox.Capabilities
	appArmor bool
	cgroups  cgroup.Engine
}

// Capabilities asks the engine what it is. The answer may be half a minute old.
func (d *Driver) Capabilities(ctx context.Context) (sandbox.Capabilities, error) {
	f, err := d.learn(ctx, factsFor)
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	caps := f.caps
	caps.Runtimes = slices.Clone(caps.Runtimes)
	return caps, nil
}

// pingLimit bounds a [Driver.Ping]: whoever asks is waiting for an answer about an engine that may be stuck.
const pingLimit = 2 * time.Second

// Ping implements [sandbox.Pinger]. It opens a connection of its own: an engine that is stopping still answers on those
// that it has, and takes no other. It asks for no facts, which a busy engine takes its time to gather.
func (d *Driver) Ping(ctx context.Context) error {
	op, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	if err := d.pingOnce(op); err != nil {
		d.facts.Put(nil)
		if op.Err() != nil {
			err = context.DeadlineExceeded // the connection's own error only follows from that
		}
		return d.dialError(ctx, "ask the engine whether it lives", err)
	}
	return nil
}

func (d *Driver) pingOnce(ctx context.Context) error {
	conn, err := d.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker/_ping", http.NoBody)
	if err != nil {
		return err
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(newHeadReader(conn)), req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("ping: %s", resp.Status)
	}
	return nil
}

// learn returns facts that are at most maxAge old; 0 means as old as the connection.
func (d *Driver) learn(ctx context.Context, maxAge time.Duration) (*facts, error) {
	if f := d.facts.Get(maxAge); f != nil {
		return f, nil
	}
	op, cancel := context.WithTimeout(ctx, d.limits.Info)
	defer cancel()
	info, err := d.system.Info(op)
	if err != nil {
		d.facts.Put(nil)
		return nil, d.unanswered(ctx, "ask the engine what it is", err)
	}
	if v := d.system.ClientVersion(); versions.LessThan(v, minAPI) {
		return nil, unsupported("engine at %s (Docker %s) speaks API %s: at least %s is needed", d.host, info.ServerVersion, v, minAPI)
	}
	f := factsOf(info)
	f.cgroups.Local = strings.HasPrefix(d.host, "unix://")
	d.groups.Use(f.cgroups)
	d.facts.Put(f)
	return f, nil
}

func factsOf(info system.Info) *facts {
	f := &facts{caps: sandbox.Capabilities{
		Engine: "docker " + info.ServerVersion,
		OS:     info.OSType,
		Arch:   goArch(info.Architecture),
		CPUs:   info.NCPU,
		Memory: info.MemTotal,
	}, cgroups: cgroup.Engine{Driver: info.CgroupDriver, Version: info.CgroupVersion}}
	for name := range info.Runtimes {
		f.caps.Runtimes = append(f.caps.Runtimes, name)
	}
	slices.Sort(f.caps.Runtimes)
	for _, option := range info.SecurityOptions {
		name, _, _ := strings.Cut(strings.TrimPrefix(option, "name="), ",")
		f.appArmor = f.appArmor || name == "apparmor"
	}
	return f
}

// goArch turns the kernel's word for an architecture into Go's.
func goArch(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "armv7l", "armv6l":
		return "arm"
	case "i386", "i686":
		return "386"
	}
	return machine
}
