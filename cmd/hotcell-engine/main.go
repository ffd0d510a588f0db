package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/hotcell/hotcell/internal/engine"
	"github.com/hotcell/hotcell/internal/engine/agent"
	"github.com/hotcell/hotcell/internal/engine/js"

	_ "golang.org/x/crypto/x509roots/fallback" // the built-in image has no certificates
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], engine.Config{Stdin: os.Stdin, Stdout: os.Stdout, Env: os.Environ()}, os.Stderr))
}

const (
	exitFailed = 1
	exitUsage  = 64
)

// run returns the process's exit code. A fault of the engine itself becomes the skill's failure.
func run(ctx context.Context, args []string, cfg engine.Config, stderr io.Writer) (code int) {
	defer func() {
		if fault := recover(); fault != nil {
			engine.NewVoice(cfg.Stdout).Fail(engine.Failf(engine.CodeInternal, "the engine has a fault: %v", fault))
			code = exitFailed
		}
	}()
	engine.TameMemory()
	ok := false
	switch {
	case len(args) == 1 && args[0] == "agent":
		ok = agent.Run(ctx, cfg)
	case len(args) == 2 && args[0] == "js":
		ok = js.Run(ctx, cfg, args[1])
	default:
		_, _ = io.WriteString(stderr, "usage: hotcell-engine agent | hotcell-engine js FILE\n")
		return exitUsage
	}
	if !ok {
		return exitFailed
	}
	return 0
}
