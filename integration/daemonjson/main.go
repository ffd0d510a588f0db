// Command daemonjson registers a runtime in the configuration file of a Docker Engine and leaves all else in it as it is.
// It says "changed" or "unchanged"; the engine reads the file again on SIGHUP.
//
// usage: daemonjson [-file FILE] NAME PATH [ARGUMENT...]
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "daemonjson:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("daemonjson", flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("file", "/etc/docker/daemon.json", "the engine's configuration `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() < 2 {
		return errors.New("expected NAME PATH [ARGUMENT...]")
	}
	changed, err := register(*file, flags.Arg(0), oci{Path: flags.Arg(1), Args: flags.Args()[2:]})
	switch {
	case err != nil:
		return err
	case changed:
		_, err = fmt.Fprintln(stdout, "changed")
	default:
		_, err = fmt.Fprintln(stdout, "unchanged")
	}
	return err
}
