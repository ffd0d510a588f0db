package wall

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	minPort  = 1024 // lower ones need a privilege
	maxPorts = 32
)

// Args is the runner's command line: what it runs and how much it lets out.
type Args struct {
	Command  []string // the skill's own process
	Output   int64    // bytes of the longest result line and of collected plain stdout
	Out      int64    // bytes of artifacts
	Prestart bool     // start the process before there is a request
	Ports    []Port   // loopback ports whose connections go through the tunnel
}

// Argv returns the arguments of the cell's first process, the program's path first.
func (a Args) Argv() []string {
	argv := []string{RunnerPath, fmt.Sprintf("-output=%d", a.Output), fmt.Sprintf("-out=%d", a.Out)}
	if a.Prestart {
		argv = append(argv, "-prestart")
	}
	for _, p := range a.Ports {
		argv = append(argv, fmt.Sprintf("-port=%s=%d", p.Name, p.Number))
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
	fs.Func("port", "NAME=NUMBER", a.addPort)
	if err := fs.Parse(argv); err != nil {
		return Args{}, err
	}
	a.Command = fs.Args()
	switch {
	case len(a.Command) == 0 || strings.TrimSpace(a.Command[0]) == "":
		return Args{}, errors.New("no command: expected hotcell-runner [-output=N] [-out=N] [-prestart] [-port=NAME=NUMBER]... -- COMMAND [ARG...]")
	case a.Output <= 0 || a.Out < 0:
		return Args{}, errors.New("-output must be positive and -out must not be negative")
	}
	return a, nil
}

// addPort reads one NAME=NUMBER.
func (a *Args) addPort(text string) error {
	name, number, _ := strings.Cut(text, "=")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < minPort || n > 65535:
		return fmt.Errorf("expected NAME=NUMBER with a number from %d to 65535", minPort)
	case len(a.Ports) == maxPorts:
		return fmt.Errorf("more than %d ports", maxPorts)
	}
	if err := CheckPort(name); err != nil {
		return err
	}
	for _, p := range a.Ports {
		if p.Name == name || p.Number == n {
			return fmt.Errorf("%s and %s=%d: a name or a number is there twice", text, p.Name, p.Number)
		}
	}
	a.Ports = append(a.Ports, Port{name, n})
	return nil
}
