package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// command is a subcommand: an attack, or a process that helps one.
type command struct {
	name string
	run  func(args []string)
}

// commands is the table of all there are.
func commands() []command {
	return slices.Concat(
		memoryCommands(),
		processCommands(),
		kernelCommands(),
		privilegeCommands(),
		procfsCommands(),
		pid1Commands(),
		reachCommands(),
		quotaCommands(),
		diskCommands(),
		probeCommands(),
		outputCommands(),
		frameCommands(),
		fileCommands(),
	)
}

func main() {
	if os.Getenv("HOTCELL_REQUEST") == "" {
		fmt.Fprintln(os.Stderr, "skillbomb: this is not a cell: HOTCELL_REQUEST is not set")
		os.Exit(2)
	}
	do := os.Args[1:]
	if len(do) == 0 {
		do = request().Arguments.Do
	}
	for _, c := range commands() {
		if len(do) > 0 && c.name == do[0] {
			c.run(do[1:])
			return
		}
	}
	fmt.Fprintf(os.Stderr, "skillbomb: no subcommand %q\n", do)
	os.Exit(2)
}

// asked is the part of a request that matters here.
type asked struct {
	Arguments struct {
		Do     []string       `json:"do"`
		Victim map[string]any `json:"victim"`
	} `json:"arguments"`
}

// request reads the call's request.
func request() asked {
	var a asked
	b, err := os.ReadFile(os.Getenv("HOTCELL_REQUEST"))
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	must(err)
	return a
}

// must ends an attack that could not even be tried.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "skillbomb:", err)
		os.Exit(3)
	}
}
