package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/hotcell/hotcell/integration/rig"
)

// raw speaks to the engine with nothing in between: what the same sequence costs by itself.
type raw struct{ cli *client.Client }

func newRaw() (*raw, error) {
	cli, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, err
	}
	return &raw{cli}, nil
}

func (r *raw) close() { _ = r.cli.Close() }

// cell creates, attaches, waits for the next exit, starts, talks and removes.
func (r *raw) cell(ctx context.Context) (t timing, err error) {
	began := time.Now()
	made, err := r.cli.ContainerCreate(ctx, &container.Config{
		Image: rig.PythonImage, Cmd: []string{"python3", "-c", program}, NetworkDisabled: true,
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Env: []string{"PYTHONDONTWRITEBYTECODE=1"},
	}, &container.HostConfig{LogConfig: container.LogConfig{Type: "none"}, NetworkMode: "none"}, nil, nil, "")
	if err != nil {
		return t, err
	}
	defer func() {
		err = errors.Join(err, r.cli.ContainerRemove(context.WithoutCancel(ctx), made.ID, container.RemoveOptions{Force: true}))
		t.gone = time.Since(began)
	}()
	att, err := r.cli.ContainerAttach(ctx, made.ID, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return t, err
	}
	defer att.Close()
	exited, failed := r.cli.ContainerWait(ctx, made.ID, container.WaitConditionNextExit)
	if err := r.cli.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		return t, err
	}
	if _, err := io.WriteString(att.Conn, "{}\n"); err != nil {
		return t, err
	}
	if _, err := att.Reader.ReadByte(); err != nil {
		return t, fmt.Errorf("no output: %w", err)
	}
	t.first = time.Since(began)
	if _, err := io.Copy(io.Discard, att.Reader); err != nil {
		return t, err
	}
	select {
	case <-exited:
	case err := <-failed:
		return t, err
	}
	t.done = time.Since(began)
	return t, nil
}

// dockerCLI is what a person would type.
func dockerCLI(ctx context.Context) (t timing, err error) {
	began := time.Now()
	cmd := exec.CommandContext(ctx, "docker", "run", "--rm", "-i", "--network", "none", rig.PythonImage, "python3", "-c", program)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return t, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return t, err
	}
	if err := cmd.Start(); err != nil {
		return t, err
	}
	if _, err := io.WriteString(stdin, "{}\n"); err != nil {
		return t, err
	}
	out := bufio.NewReader(stdout)
	if _, err := out.ReadByte(); err != nil {
		return t, errors.Join(fmt.Errorf("no output: %w", err), cmd.Wait())
	}
	t.first = time.Since(began)
	if _, err := io.Copy(io.Discard, out); err != nil {
		return t, err
	}
	t.done = time.Since(began)
	err = cmd.Wait()
	t.gone = time.Since(began)
	return t, err
}
