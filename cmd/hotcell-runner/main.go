package main

import (
	"context"
	"os"

	"github.com/hotcell/hotcell/internal/runner"
	"github.com/hotcell/hotcell/internal/wall"
)

func main() {
	const usage = 64
	runner.Protect()
	args, err := wall.ParseArgs(os.Args[1:])
	if err != nil {
		_, _ = os.Stderr.WriteString("hotcell-runner: " + err.Error() + "\n")
		os.Exit(usage)
	}
	os.Exit(runner.Run(context.Background(), runner.Config{Args: args, Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout}))
}
