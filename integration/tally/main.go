// Command tally runs go test and counts. It prints what go test prints: a line for each package, and the output of tests
// that failed or were skipped. Its last line is "N passed, N failed, N skipped", subtests included; a package that
// fails without a failing test of its own, because it doesn't build or runs out of time, counts as one failure.
//
// usage: tally [go test flags] [packages]
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		stop()
		os.Exit(1)
	}
}

// run fails when go test does, and also when a test was seen to fail.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	t := newTally(stdout)
	readErr := t.read(events)
	err = cmd.Wait()
	fmt.Fprintln(stdout, t)
	switch {
	case err != nil:
		return fmt.Errorf("go test: %w", err)
	case readErr != nil:
		return readErr
	case t.failed > 0:
		return fmt.Errorf("%d failed", t.failed)
	}
	return nil
}
