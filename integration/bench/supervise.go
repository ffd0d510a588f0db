package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// crowd is how many cells wait and how many calls run while a supervisor's memory is looked at.
const crowd = 32

// cellMemory has a child be a supervisor, and tells it what to do: first with nothing, then with cells that wait, then with
// as many calls beside them.
func (b *bench) cellMemory(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "supervise", b.runner)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	cmd.Stderr = b.log
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	held, answers := map[string]float64{}, bufio.NewReader(out)
	for _, word := range []string{"empty", "wait", "run"} {
		b.say("memory: a supervisor, %s", word)
		_, _ = fmt.Fprintln(in, word)
		line, err := answers.ReadString('\n')
		if err != nil {
			_ = in.Close()
			return errors.Join(err, cmd.Wait())
		}
		if held[word], err = strconv.ParseFloat(strings.TrimSpace(line), 64); err != nil {
			_ = in.Close()
			return errors.Join(err, cmd.Wait())
		}
	}
	_ = in.Close()
	if b.wants("memory", rssWaiting) {
		b.report.add("memory", rssWaiting, unitKB, (held["wait"]-held["empty"])/crowd/1e3)
	}
	if b.wants("memory", rssRunning) {
		b.report.add("memory", rssRunning, unitKB, (held["run"]-held["wait"])/crowd/1e3)
	}
	return cmd.Wait()
}

// supervise is the child. It answers each word with the memory that it then holds.
func supervise(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) (err error) {
	if len(args) != 1 {
		return fmt.Errorf("expected the runner's file, got %q", args)
	}
	y := newYard(args[0])
	y.idle, y.places, y.cells = 20*time.Second, crowd, 4*crowd
	defer func() { err = errors.Join(err, y.close()) }()
	s, err := y.site(onDocker, true)
	if err != nil {
		return err
	}
	ctx, hangUp := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer hangUp()
	steps := s.steps(ctx, &running)
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		if err := errors.Join(steps[lines.Text()](), rest(ctx, time.Second)); err != nil {
			return err
		}
		debug.FreeOSMemory()
		held, err := memory(os.Getpid(), "RssAnon")
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(stdout, held); err != nil {
			return err
		}
	}
	return nil
}

// steps are what the child is told to do.
func (s *site) steps(ctx context.Context, running *sync.WaitGroup) map[string]func() error {
	return map[string]func() error{
		"empty": func() error { // after as many calls as will be, so that what stays is there
			if err := s.holdSome(ctx, crowd); err != nil {
				return err
			}
			return await(ctx, func() bool { // cells that are still being destroyed would count as memory of nothing
				ready, starting, leaving := s.Pool.Count()
				return s.busy.Load() == 0 && ready+starting+leaving == 0
			})
		},
		"wait": func() error {
			if err := s.holdSome(ctx, crowd); err != nil {
				return err
			}
			return await(ctx, func() bool { return s.busy.Load() == 0 && len(s.Pool.Waiting(names[holdSkill])) == crowd })
		},
		"run": func() error {
			if err := s.hold(ctx, crowd, running); err != nil {
				return err
			}
			return await(ctx, func() bool { return len(s.Pool.Waiting(names[holdSkill])) == crowd })
		},
	}
}

// holdSome makes so many calls at a time and ends them once all run.
func (s *site) holdSome(ctx context.Context, n int) error {
	ctx, hangUp := context.WithCancel(ctx)
	var running sync.WaitGroup
	err := s.hold(ctx, n, &running)
	hangUp()
	running.Wait()
	return err
}

// hold makes calls that run until ctx ends, and returns once all of them do.
func (s *site) hold(ctx context.Context, n int, running *sync.WaitGroup) error {
	up := make(chan error, 2*n)
	for range n {
		running.Go(func() {
			answer := s.Call(ctx, a2e.Caller{Door: "bench"}, &a2e.CallRequest{Name: names[holdSkill]},
				a2e.EventWriterFunc(func(context.Context, *a2e.Event) error {
					up <- nil
					return nil
				}))
			if answer.Error != nil {
				up <- answer.Error
			}
		})
	}
	for range n {
		if err := <-up; err != nil {
			return err
		}
	}
	return nil
}
