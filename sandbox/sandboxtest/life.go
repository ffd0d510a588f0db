package sandboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/sandbox"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

func (s *suite) exitCodes() {
	for _, code := range []int{0, 1, 3, 126, 137, 255} {
		_, exit := s.run(s.o.Spec(s.T, "exit", fmt.Sprint(code)))
		if exit.Code != code || exit.Evidence.OOMKilled {
			s.Errorf("exit %d: got %+v", code, exit)
		}
	}
}

// ready waits until the program "sleep" runs.
func (s *suite) ready(cell sandbox.Sandbox) {
	s.Helper()
	line := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(cell.Stdio().Stdout, line); err != nil {
		s.Fatalf("wait for the program: %v", err)
	}
}

func (s *suite) kill() {
	cell := s.start("sleep")
	s.ready(cell)
	if err := cell.Kill(s.ctx); err != nil {
		s.Fatalf("kill: %v", err)
	}
	exit := s.wait(cell)
	if exit.Code != 137 || exit.Evidence.OOMKilled {
		s.Errorf("exit after a kill: %+v", exit)
	}
	if out := s.read(cell); !ended(out.stdoutErr) || !ended(out.stderrErr) {
		s.Errorf("streams ended with %v, %v", out.stdoutErr, out.stderrErr)
	}
	if err := cell.Kill(s.ctx); err != nil {
		s.Errorf("kill of a stopped cell: %v", err)
	}
}

func (s *suite) waitByMany() {
	cell := s.start("cat")
	exits := make([]sandbox.Exit, 8)
	errs := make([]error, len(exits))
	var all sync.WaitGroup
	for i := range exits {
		all.Go(func() { exits[i], errs[i] = cell.Wait(s.ctx) })
	}
	if err := cell.Stdio().Stdin.Close(); err != nil {
		s.Fatal(err)
	}
	s.read(cell)
	all.Wait()
	late := s.wait(cell)
	for i := range exits {
		if errs[i] != nil || exits[i] != late {
			s.Errorf("waiter %d: got %+v, %v, want %+v", i, exits[i], errs[i], late)
		}
	}
}

func (s *suite) waitDeadline() {
	cell := s.start("sleep")
	s.ready(cell)
	ctx, cancel := context.WithTimeout(s.ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := cell.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		s.Errorf("wait with a deadline on a running cell: %v", err)
	}
	if err := cell.Kill(s.ctx); err != nil {
		s.Fatal(err)
	}
	s.wait(cell)
}

// destroy: any number of times, at the same time too.
func (s *suite) destroy() {
	cell := s.start("print", "hello")
	s.read(cell)
	s.wait(cell)
	errs := make([]error, 4)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = cell.Destroy(s.ctx) })
	}
	all.Wait()
	if err := errors.Join(append(errs, cell.Destroy(s.ctx))...); err != nil {
		s.Error(err)
	}
	if exit, err := cell.Wait(s.ctx); err != nil || exit.Code != 0 {
		s.Errorf("wait after the end and destroy: %+v, %v", exit, err)
	}
	if err := cell.Kill(s.ctx); err != nil {
		s.Errorf("kill after destroy: %v", err)
	}
	s.absent(cell.ID())
}

// destroyRunning: the process dies, readers and waiters are let go.
func (s *suite) destroyRunning() {
	cell := s.start("sleep")
	s.ready(cell)
	read := make(chan output, 1)
	waited := make(chan error, 1)
	var all sync.WaitGroup
	all.Go(func() { read <- s.read(cell) })
	all.Go(func() { _, err := cell.Wait(s.ctx); waited <- err })
	if err := cell.Destroy(s.ctx); err != nil {
		s.Fatal(err)
	}
	all.Wait()
	if out := <-read; !ended(out.stdoutErr) || !ended(out.stderrErr) {
		s.Errorf("streams ended with %v, %v", out.stdoutErr, out.stderrErr)
	}
	if err := <-waited; errors.Is(err, context.DeadlineExceeded) {
		s.Errorf("wait went on after destroy: %v", err)
	}
	s.absent(cell.ID())
}

func (s *suite) destroyUnstarted() {
	cell := s.create(s.o.Spec(s.T, "print", "never"))
	if err := cell.Destroy(s.ctx); err != nil {
		s.Fatal(err)
	}
	if err := cell.Start(s.ctx); err == nil {
		s.Error("a destroyed cell started")
	}
	if _, err := cell.Wait(s.ctx); err == nil || s.ctx.Err() != nil {
		s.Errorf("wait for a cell that never started: %v", err)
	}
	if out := s.read(cell); out.stdout != "" || !ended(out.stdoutErr) {
		s.Errorf("output of a cell that never started: %+v", out)
	}
	s.absent(cell.ID())
}

func (s *suite) startTwice() {
	cell := s.start("print", "once")
	if err := cell.Start(s.ctx); err == nil {
		s.Error("a cell started twice")
	}
	s.equal("stdout", s.read(cell).stdout, "once\n")
	s.wait(cell)
}

func (s *suite) startFails() {
	spec := s.o.Spec(s.T, "print", "never")
	spec.OCI.Process.Args = []string{"/nowhere/program"}
	cell := s.create(spec)
	err := cell.Start(s.ctx)
	var start *sandbox.StartError
	if !errors.As(err, &start) || !errors.Is(err, sandbox.ErrStartFailed) {
		s.Fatalf("start of a program that is not there: %v", err)
	}
	if start.ExitCode != 127 || start.OOM || start.Message == "" || strings.Contains(start.Message, "\n") {
		s.Errorf("start error %+v", start)
	}
	if out := s.read(cell); out.stdout+out.stderr != "" || !ended(out.stdoutErr) {
		s.Errorf("output of a cell that did not start: %+v", out)
	}
	if _, err := cell.Wait(s.ctx); err == nil || s.ctx.Err() != nil {
		s.Errorf("wait for a cell that did not start: %v", err)
	}
}

// unsupported: what cannot be enforced is refused before anything exists.
func (s *suite) unsupported() {
	for name, change := range map[string]func(*sandbox.Spec){
		"bind mount": func(spec *sandbox.Spec) {
			spec.OCI.Mounts = append(spec.OCI.Mounts, specs.Mount{Destination: "/host", Type: "bind", Source: "/"})
		},
		"host network": func(spec *sandbox.Spec) {
			var rest []specs.LinuxNamespace
			for _, ns := range spec.OCI.Linux.Namespaces {
				if ns.Type != specs.NetworkNamespace {
					rest = append(rest, ns)
				}
			}
			spec.OCI.Linux.Namespaces = rest
		},
		"capabilities": func(spec *sandbox.Spec) {
			spec.OCI.Process.Capabilities = &specs.LinuxCapabilities{Bounding: []string{"CAP_NET_RAW"}}
		},
		"hook": func(spec *sandbox.Spec) {
			spec.OCI.Hooks = &specs.Hooks{Poststart: []specs.Hook{{Path: "/bin/true"}}}
		},
	} {
		spec := s.o.Spec(s.T, "print", "never")
		change(spec)
		cell, err := s.driver.Create(s.ctx, spec)
		if !errors.Is(err, sandbox.ErrUnsupported) || cell != nil {
			s.Errorf("%s: got %v, want %v", name, err, sandbox.ErrUnsupported)
		}
		s.absentName(spec.Name)
	}
}

func (s *suite) noImage() {
	spec := s.o.Spec(s.T, "print", "never")
	spec.Image.ID = "sha256:" + strings.Repeat("0", 64)
	cell, err := s.driver.Create(s.ctx, spec)
	if !errors.Is(err, sandbox.ErrNotFound) || cell != nil {
		s.Errorf("create from an image that is not there: %v, want %v", err, sandbox.ErrNotFound)
	}
}

// concurrent: cells that live at the same time do not mix.
func (s *suite) concurrent() {
	const cells = 8
	var all sync.WaitGroup
	for i := range cells {
		cell := s.create(s.o.Spec(s.T, "cat"))
		all.Go(func() {
			text := fmt.Sprintf("cell %d\n", i)
			if err := cell.Start(s.ctx); err != nil {
				s.Errorf("start %d: %v", i, err)
				return
			}
			stdin := cell.Stdio().Stdin
			if _, err := io.WriteString(stdin, text); err != nil {
				s.Errorf("write %d: %v", i, err)
			}
			_ = stdin.Close() // what counts is what comes back
			s.equal("stdout", s.read(cell).stdout, text)
			if exit, err := cell.Wait(s.ctx); err != nil || exit.Code != 0 {
				s.Errorf("cell %d: %+v, %v", i, exit, err)
			}
		})
	}
	all.Wait()
}

func tree(content map[string][]byte) sandbox.Tree {
	files := make(fstest.MapFS)
	for path, data := range content {
		files[path] = &fstest.MapFile{Data: data, Mode: 0o640}
	}
	digest, _ := json.Marshal(content) // a map of byte slices
	return sandbox.Tree{Name: "test", Digest: sum(digest), Target: "/skill", FS: fs.FS(files)}
}
