package wall

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// Args is the runner's command line: what it runs and how much it lets out.
type Args struct {
	Command  []string // the skill's own process
	Output   int64    // bytes of the longest result line and of collected plain stdout
	Out      int64    // bytes of artifacts
	Prestart bool     // start the process before there is a request
}

// Argv returns the arguments of the cell's first process, the program's path first.
func (a Args) Argv() []string {
	argv := []string{RunnerPath, fmt.Sprintf("-output=%d", a.Output), fmt.Sprintf("-out=%d", a.Out)}
	if a.Prestart {
		argv = append(argv, "-prestart")
	}
	return append(append(argv, "--"), a.Command...)
}

// ParseArgs reads what [Args.Argv] made, without the program's path.
func ParseArgs(argv []string) (Args, error) {
	var a Args
	fs := flag.NewFlagSet("hotcell-runner", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Int64Var(&a.Output, "output", MaxLong, "bytes")
	fs.Int64Var(&a.Out, "out", 32<<20, "bytes")
	fs.BoolVar(&a.Prestart, "prestart", false, "start the command before its request")
	if err := fs.Parse(argv); err != nil {
		return Args{}, err
	}
	a.Command = fs.Args()
	switch {
	case len(a.Command) == 0 || strings.TrimSpace(a.Command[0]) == "":
		return Args{}, errors.New("no command: expected hotcell-runner [-output=N] [-out=N] [-prestart] -- COMMAND [ARG...]")
	case a.Output <= 0 || a.Out < 0:
		return Args{}, errors.New("-output must be positive and -out must not be negative")
	}
	return a, nil
}
