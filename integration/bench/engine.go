package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/sandbox/cgroup"
)

// engine speaks to the Engine API with nothing in between: what the same work costs by itself.
type engine struct {
	cli      *client.Client
	runtimes []string
	version  string
}

func newEngine() (*engine, error) {
	cli, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, err
	}
	info, err := cli.Info(context.Background())
	if err != nil {
		return nil, errors.Join(absent{"no engine answers: " + err.Error()}, cli.Close())
	}
	e := &engine{cli: cli, version: info.ServerVersion}
	for name := range info.Runtimes {
		e.runtimes = append(e.runtimes, name)
	}
	return e, nil
}

// plain is a container as small as one can be: no network, no log, no limits.
type plain struct {
	image   string
	command []string // nil: the image's own
	runtime string
}

func (p plain) make() (*container.Config, *container.HostConfig) {
	return &container.Config{
			Image: p.image, Cmd: p.command, NetworkDisabled: true, Env: []string{"PYTHONDONTWRITEBYTECODE=1"},
			OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
		}, &container.HostConfig{
			LogConfig: container.LogConfig{Type: "none"}, NetworkMode: "none", Runtime: p.runtime,
		}
}

// The containers of contenders.
var (
	pythonContainer = plain{image: rig.PythonImage, command: []string{"python3", "-c", program}}
	framesContainer = plain{image: wordCountImage}
	// A waiting shell that forks and executes the Python when its request comes.
	execContainer = plain{image: rig.PythonImage, command: []string{"sh", "-c", `echo ready; read -r line; python3 -c "$0" </dev/null; exit`, program}}
)

// bare starts containers of a kind.
func (y *yard) bare(p plain) starter {
	return func(ctx context.Context) (*peer, error) {
		e, err := y.raw()
		if err != nil {
			return nil, err
		}
		config, host := p.make()
		return e.start(ctx, config, host)
	}
}

// start creates, attaches, waits for the next exit and starts.
func (e *engine) start(ctx context.Context, config *container.Config, host *container.HostConfig) (p *peer, err error) {
	made, err := e.cli.ContainerCreate(ctx, config, host, nil, nil, "")
	if err != nil {
		return nil, err
	}
	remove := func() error {
		return e.cli.ContainerRemove(context.WithoutCancel(ctx), made.ID, container.RemoveOptions{Force: true})
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	att, err := e.cli.ContainerAttach(ctx, made.ID, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return nil, err
	}
	exited, failed := e.cli.ContainerWait(ctx, made.ID, container.WaitConditionNextExit)
	if err := e.cli.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		att.Close()
		return nil, err
	}
	end := func(context.Context) (err error) {
		_ = att.CloseWrite()
		select {
		case <-exited:
		case err = <-failed:
		}
		att.Close()
		return errors.Join(err, remove())
	}
	return &peer{in: att.Conn, out: bufio.NewReader(&demux{from: att.Reader}), cut: att.Close, end: end}, nil
}

// demux reads the two outputs of a container as one, without the engine's headers.
type demux struct {
	from *bufio.Reader
	left int
}

func (d *demux) Read(p []byte) (int, error) {
	for d.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(d.from, head[:]); err != nil {
			return 0, err
		}
		d.left = int(binary.BigEndian.Uint32(head[4:]))
	}
	n, err := d.from.Read(p[:min(len(p), d.left)])
	d.left -= n
	return n, err
}

// users are user ids of raw cells, above those of hotcell's.
var users atomic.Int64

func nextUser() string { return strconv.FormatInt(67000+users.Add(1)%1000, 10) }

// copied starts containers that are made exactly as hotcell's cells of a skill are: alone, or each in a group, where hotcell's
// have one.
func (y *yard) copied(skill string, grouped bool) starter {
	var form *blueprint
	return func(ctx context.Context) (*peer, error) {
		e, err := y.raw()
		if err != nil {
			return nil, err
		}
		if form == nil {
			if form, err = y.blueprint(ctx, e, skill); err != nil {
				return nil, err
			}
		}
		var made parts
		if err := json.Unmarshal([]byte(strings.ReplaceAll(form.text, form.user, nextUser())), &made); err != nil {
			return nil, err
		}
		if !grouped || !form.grouped {
			return e.start(ctx, made.Config, made.Host)
		}
		group, err := enclose(made.Host.Memory - cgroup.Slack)
		if err != nil {
			return nil, err
		}
		made.Host.CgroupParent = group.path()
		p, err := e.start(ctx, made.Config, made.Host)
		if err != nil {
			return nil, errors.Join(err, group.remove())
		}
		return p.enclosed(group), nil
	}
}

// blueprint is how a container was made, the user id that it was made for, and whether it was in a group of hotcell's.
type blueprint struct {
	text, user string
	grouped    bool
}

type parts struct {
	Config *container.Config
	Host   *container.HostConfig
}

// blueprint asks the engine how it made a cell that waits for a skill.
func (y *yard) blueprint(ctx context.Context, e *engine, skill string) (*blueprint, error) {
	s, err := y.site(onDocker, true)
	if err != nil {
		return nil, err
	}
	if err := s.stocked(ctx, skill); err != nil {
		return nil, err
	}
	id := s.Pool.Waiting(names[skill])[0]
	found, err := e.cli.ContainerInspect(ctx, id)
	if err != nil {
		return nil, err
	}
	made := parts{found.Config, found.HostConfig}
	grouped := made.Host.CgroupParent != ""
	made.Config.Labels, made.Host.CgroupParent = nil, ""
	user, _, _ := strings.Cut(made.Config.User, ":")
	if user == "" {
		return nil, fmt.Errorf("cell %s: expected a user id, it has none", id)
	}
	text, err := json.Marshal(made)
	return &blueprint{string(text), user, grouped}, err
}
