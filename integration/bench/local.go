package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/hotcell/hotcell/integration/rig"
)

// children are what this program does when it is started by itself.
var children = map[string]func(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error{
	"speak":     speak,
	"supervise": supervise,
}

// speak does what a frames skill does, and nothing else.
func speak(_ context.Context, _ []string, stdin io.Reader, stdout io.Writer) error {
	_, _ = io.WriteString(stdout, `{"type":"cell/ready","protocol":1}`+"\n")
	if _, err := bufio.NewReader(stdin).ReadString('\n'); err != nil {
		return err
	}
	_, err := io.WriteString(stdout, `{"type":"skill/event","kind":"status","data":{"message":"here"}}`+"\n")
	_, failed := io.WriteString(stdout, `{"type":"skill/result","success":true,"data":42}`+"\n")
	return errors.Join(err, failed)
}

// local starts this program once more, behind pipes.
func local(ctx context.Context) (*peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return command(exec.CommandContext(ctx, self, "speak"))
}

// dockerCLI is what a person would type.
func dockerCLI(ctx context.Context) (*peer, error) {
	return command(exec.CommandContext(ctx, "docker", "run", "--rm", "-i", "--network", "none", rig.PythonImage, "python3", "-c", program))
}

// command starts a program as a peer, behind pipes.
func command(cmd *exec.Cmd) (*peer, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	words := &tail{}
	cmd.Stderr = words
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &peer{in: stdin, out: bufio.NewReader(stdout), cut: func() { _ = stdout.Close() }, end: func(context.Context) error {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("%s: %w: %s", cmd.Args[0], err, words)
		}
		return nil
	}}, nil
}

// tail keeps the beginning of what a program complains of.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p[:min(len(p), 1000-min(len(t.b), 1000))]...)
	return len(p), nil
}

func (t *tail) String() string { return string(t.b) }
