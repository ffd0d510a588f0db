// Command program is [sandboxtest.Program] as a static binary, with a few probes that only make sense in a real cell.
package main

import (
	"os"
	"time"

	"github.com/hotcell/hotcell/sandbox/sandboxtest"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 {
		if probe, ok := probes()[args[0]]; ok {
			os.Exit(probe(args[1:]))
		}
	}
	os.Exit(sandboxtest.Program(sandboxtest.Process{
		Args: args, Env: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		ReadFile:  os.ReadFile,
		WriteFile: func(path string, data []byte) error { return os.WriteFile(path, data, 0o600) },
		Block: func() {
			for {
				time.Sleep(time.Hour)
			}
		},
	}))
}
