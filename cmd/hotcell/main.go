package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	// A reader of our output that goes away is an error of the write, so that the call can be cancelled in order.
	signal.Ignore(syscall.SIGPIPE)
	// A flood of output is garbage as soon as it is relayed; what is kept is small. Collecting twice as often costs little
	// and keeps the host's memory for the cells.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	a := &app{
		getenv: os.Getenv, environ: os.Environ,
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		notify: notify, open: open, dial: dial, gather: gather,
	}
	os.Exit(a.run(context.Background(), os.Args[1:]))
}

// notify sends the signals that ask a process to stop to c until stop is called.
func notify(c chan<- os.Signal) (stop func()) {
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return func() { signal.Stop(c) }
}
