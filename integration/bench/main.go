package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/pprof"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	rounds  int
	only    *regexp.Regexp
	short   bool
	kube    bool
	runner  string
	program string
	profile string
	cells   int
	from    string // figures of an earlier run, instead of a run
	json    string
	svg     string
	doc     string
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	if len(args) > 0 && children[args[0]] != nil {
		return children[args[0]](ctx, args[1:], os.Stdin, stdout)
	}
	opts, err := parse(args, getenv, stderr)
	if err != nil {
		return err
	}
	if opts.from != "" {
		rep, err := load(opts.from)
		if err != nil {
			return err
		}
		rep.finish()
		rep.print(stdout)
		return rep.write(opts)
	}
	stop, err := profiled(opts.profile)
	if err != nil {
		return err
	}
	defer stop()
	b := &bench{options: opts, yard: newYard(opts.runner), report: newReport(), log: stderr}
	b.yard.cells = opts.cells
	if e, err := b.yard.raw(); err == nil && !opts.kube {
		b.report.Machine["engine"] = e.version
	}
	err = b.all(ctx)
	if b.yard.cluster != nil {
		b.report.Machine["cluster"] = b.yard.cluster.version
	}
	err = errors.Join(err, b.yard.close())
	b.report.finish()
	b.report.print(stdout)
	if len(b.report.Rows) == 0 { // tables without figures replace none
		return errors.Join(err, errNothing, b.report.failure())
	}
	return errors.Join(err, b.report.write(opts), b.report.failure())
}

var errNothing = errors.New("nothing was measured, and no file was written: the lines above say what is absent, and -only what is wanted")

// profiled writes a profile of the processor's time until it is stopped; with no file it does nothing.
func profiled(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { pprof.StopCPUProfile(); _ = f.Close() }, nil
}

func parse(args []string, getenv func(string) string, stderr io.Writer) (options, error) {
	opts := options{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := ""
	flags.IntVar(&opts.rounds, "n", 40, "rounds")
	flags.StringVar(&only, "only", "", "measure only what matches this regular expression: names of sections and contenders, as \"cold: raw\"")
	flags.BoolVar(&opts.short, "short", false, "a look at whether all rows work, not figures to keep")
	flags.BoolVar(&opts.kube, "kube", false, "measure cells in the cluster of KUBECONFIG, and nothing else")
	flags.StringVar(&opts.runner, "runner", "cmd/hotcell/embed/hotcell-runner-"+runtime.GOARCH, "the runner that make build made")
	flags.StringVar(&opts.program, "hotcell", "bin/hotcell", "the program that make build made")
	flags.IntVar(&opts.cells, "cells", 0, "let hotcell run so many cells at once, instead of its default")
	flags.StringVar(&opts.profile, "cpuprofile", "", "write a profile of this process to this file")
	flags.StringVar(&opts.from, "from", "", "show the figures in this file instead of measuring")
	flags.StringVar(&opts.svg, "svg", getenv("BENCH_SVG"), "write a plot to this file")
	flags.StringVar(&opts.doc, "doc", getenv("BENCH_DOC"), "replace the tables in this page")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	opts.json = getenv("BENCH_JSON")
	if opts.short {
		opts.rounds = min(opts.rounds, 3)
	}
	if opts.rounds < 1 || flags.NArg() > 0 {
		return opts, fmt.Errorf("expected -n of at least 1 and no words behind the flags, got -n %d and %q", opts.rounds, flags.Args())
	}
	var err error
	if opts.only, err = regexp.Compile(only); err != nil {
		return opts, fmt.Errorf("-only: %w", err)
	}
	return opts, nil
}

// bench is one run.
type bench struct {
	options
	yard   *yard
	report *report
	log    io.Writer

	installed string // a copy of the program, once there is one
}

// section is a part of the run, and a table of the page.
type section struct {
	name string
	what string // one sentence for people
	run  func(ctx context.Context, b *bench) error
}

func sections() []section {
	return []section{
		{"warm", "a call whose cell waits, and the floors below it", warmSection},
		{"cold", "a call in a cell of its own, and what it takes without hotcell", coldSection},
		{"throughput", "calls per second, with so many callers at a time", throughputSection},
		{"relay", "how fast what a cell says is checked, numbered and delivered", relaySection},
		{"memory", "what supervisors hold", memorySection},
		{"growth", "a call in a cell that costs nothing, with more and more history and skills behind it", growthSection},
		{"catalogue", "1,000 skills in a folder and 10,000 custom ones of 400 principals", catalogueSection},
		{"console", "pages of the web console over HTTP, with 100,000 calls and 1,000 skills behind them", consoleSection},
		{"tunnel", "connections out of a cell that has no network, and the same program on this machine's loopback", tunnelSection},
		{"doors", "a call in a cell that costs nothing, through the doors", doorSection},
	}
}

// everySection are those of all runs.
func everySection() []section { return append(sections(), clusterSections()...) }

// all runs the sections that are wanted. One that fails as a whole does not keep the next ones from running.
func (b *bench) all(ctx context.Context) error {
	var failed []error
	wanted := sections()
	if b.kube {
		wanted = clusterSections()
	}
	for _, s := range wanted {
		if ctx.Err() != nil {
			return errors.Join(append(failed, ctx.Err())...)
		}
		if err := s.run(ctx, b); err != nil {
			failed = append(failed, fmt.Errorf("section %s: %w", s.name, err))
		}
	}
	return errors.Join(failed...)
}

// wants reports whether a contender of a section is to be measured.
func (b *bench) wants(section, name string) bool { return b.only.MatchString(section + ": " + name) }

// say tells whoever waits how far the run is.
func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.log, "bench: "+format+"\n", args...) }
