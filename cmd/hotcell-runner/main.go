package main

import (
	"context"
	"io"
	"os"

	"github.com/hotcell/hotcell/internal/gate"
	"github.com/hotcell/hotcell/internal/runner"
	"github.com/hotcell/hotcell/internal/wall"
)

// usage is the exit code for arguments that make no sense.
const usage = 64

func main() {
	if len(os.Args) == 2 && os.Args[1] == wall.ProbeFlag {
		os.Exit(runner.Probe(os.Stdout))
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case gate.UnpackFlag:
			os.Exit(gate.Unpack(os.Args[2:], os.Stderr))
		case wall.ListenFlag:
			os.Exit(runner.Listen(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
		case wall.ReachFlag:
			os.Exit(runner.TryReach(os.Args[2:], os.Stdout, os.Stderr))
		case gate.Flag:
			os.Exit(gate.Serve(gate.Config{Stdin: os.Stdin, Stdout: os.Stdout, Protect: runner.Protect, Runner: run, Exit: os.Exit}))
		}
	}
	runner.Protect()
	os.Exit(run(os.Args[1:], os.Environ(), runner.Stdin(), os.Stdout))
}

// run is one life of the runner.
func run(argv, env []string, stdin io.Reader, stdout io.Writer) int {
	args, err := wall.ParseArgs(argv)
	if err != nil {
		_, _ = os.Stderr.WriteString("hotcell-runner: " + err.Error() + "\n")
		return usage
	}
	return runner.Run(context.Background(), runner.Config{Args: args, Env: env, Stdin: stdin, Stdout: stdout})
}
