package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"time"
)

// timing is one run of a contender: to its first output, to its last, and until nothing of it was left.
type timing struct{ first, done, gone time.Duration }

// contender is one way to run the program.
type contender struct {
	name string
	run  func(ctx context.Context) (timing, error)
}

// limit bounds one run of one contender.
const limit = time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Getenv("BENCH_JSON")); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer, file string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	rounds := flags.Int("n", 30, "rounds")
	runner := flags.String("runner", "cmd/hotcell/embed/hotcell-runner-"+runtime.GOARCH, "the runner that make build made")
	if err := flags.Parse(args); err != nil {
		return err
	}
	raw, err := newRaw()
	if err != nil {
		return err
	}
	defer raw.close()
	hot, err := newHotcell(*runner)
	if err != nil {
		return err
	}
	defer hot.close()
	ahead, err := newWaiting(*runner)
	if err != nil {
		return err
	}
	defer ahead.close()
	contenders := []contender{
		{hotcellCold, hot.call}, {rawEngine, raw.cell}, {dockerRun, dockerCLI},
		{hotcellWarm, ahead.call(framesSkill)}, {rawAttach, raw.attached},
		{hotcellPrestart, ahead.call(prestartSkill)}, {hotcellChild, ahead.call(childSkill)},
	}
	samples, err := race(ctx, contenders, *rounds)
	if err != nil {
		return err
	}
	rep := summarise(samples)
	rep.print(stdout)
	if file == "" {
		return nil
	}
	return rep.save(file)
}

// race runs the contenders in turn, one warm-up round and then the counted ones, so that a machine whose speed drifts
// is as unfair to one as to another.
func race(ctx context.Context, contenders []contender, rounds int) (map[string][]timing, error) {
	samples := map[string][]timing{}
	for round := range rounds + 1 {
		for _, c := range contenders {
			t, err := bounded(ctx, c)
			if err != nil {
				return nil, fmt.Errorf("%s, round %d: %w", c.name, round, err)
			}
			if round > 0 {
				samples[c.name] = append(samples[c.name], t)
			}
		}
	}
	return samples, nil
}

func bounded(ctx context.Context, c contender) (timing, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return c.run(ctx)
}
