package main

import (
	"context"
	"os"

	"github.com/hotcell/hotcell/internal/runner"
	"github.com/hotcell/hotcell/internal/wall"
)

func main() {
	const usage = 64
	if len(os.Args) == 2 && os.Args[1] == wall.ProbeFlag {
		os.Exit(runner.Probe(os.Stdout))
	}
	runner.Protect()
	args, err := wall.ParseArgs(os.Args[1:])
	if err != nil {
		_, _ = os.Stderr.WriteString("hotcell-runner: " + err.Error() + "\n")
		os.Exit(usage)
	}
	os.Exit(runner.Run(context.Background(), runner.Config{Args: args, Env: os.Environ(), Stdin: runner.Stdin(), Stdout: os.Stdout}))
}
