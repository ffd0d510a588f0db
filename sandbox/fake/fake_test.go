package fake

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/sandboxtest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program runs the suite's program, with the trees of the spec as its files.
func program(ctx context.Context, spec *sandbox.Spec, stdin io.Reader, stdout, stderr io.Writer) int {
	return sandboxtest.Program(sandboxtest.Process{
		Args: spec.OCI.Process.Args[1:], Env: spec.OCI.Process.Env, Stdin: stdin, Stdout: stdout, Stderr: stderr,
		ReadFile: func(name string) ([]byte, error) {
			for _, t := range spec.Trees {
				if rel, ok := strings.CutPrefix(name, t.Target+"/"); ok {
					f, err := t.FS.Open(path.Clean(rel))
					if err != nil {
						return nil, err
					}
					defer f.Close()
					return io.ReadAll(f)
				}
			}
			return nil, errors.ErrUnsupported
		},
		WriteFile: func(string, []byte) error { return errors.ErrUnsupported },
		Block:     func() { <-ctx.Done() },
	})
}

func missing(spec *sandbox.Spec) error {
	if spec.OCI.Process.Args[0] != "/program" {
		return &sandbox.StartError{ExitCode: 127, Message: "no such program"}
	}
	return nil
}

func TestConformance(t *testing.T) {
	open := func(f Faults) func(*testing.T) sandbox.Driver {
		return func(*testing.T) sandbox.Driver {
			d := New(program)
			d.SetFaults(f)
			return d
		}
	}
	sandboxtest.Run(t, sandboxtest.Options{
		New: open(Faults{Start: missing}),
		Cut: open(Faults{CutStdout: 1000}),
		Spec: func(t *testing.T, program string, args ...string) *sandbox.Spec {
			return sandboxtest.NewSpec(append([]string{"/program", program}, args...)...)
		},
	})
}

func started(t *testing.T, f Faults, args ...string) (*Driver, sandbox.Sandbox) {
	t.Helper()
	d := New(program)
	d.SetFaults(f)
	cell, err := d.Create(t.Context(), sandboxtest.NewSpec(append([]string{"/program"}, args...)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Remove(context.Background(), cell.ID()); err != nil {
			t.Error(err)
		}
	})
	if err := cell.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d, cell
}

func TestStats(t *testing.T) {
	d, cell := started(t, Faults{DestroyFails: 2}, "sleep")
	want := Stats{Created: 1, Started: 1, Live: 1}
	for range 2 {
		if err := cell.Destroy(t.Context()); err == nil {
			t.Error("destroy did not fail")
		}
		if got := d.Stats(); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	for range 2 {
		if err := cell.Destroy(t.Context()); err != nil {
			t.Error(err)
		}
	}
	want = Stats{Created: 1, Started: 1, Destroyed: 1}
	if got := d.Stats(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestKillBlocks(t *testing.T) {
	_, cell := started(t, Faults{KillBlocks: true}, "sleep")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := cell.Kill(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("kill: %v", err)
	}
	if _, err := cell.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the cell ended: %v", err)
	}
}

func TestEvidence(t *testing.T) {
	_, cell := started(t, Faults{OOMKilled: true}, "exit", "137")
	exit, err := cell.Wait(t.Context())
	if err != nil || exit.Code != 137 || !exit.Evidence.OOMKilled {
		t.Errorf("got %+v, %v", exit, err)
	}
}

func TestEngineGone(t *testing.T) {
	_, cell := started(t, Faults{EngineGone: true}, "print", "x")
	if _, err := cell.Wait(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("wait: %v", err)
	}
	if data, err := io.ReadAll(cell.Stdio().Stdout); err != io.ErrUnexpectedEOF || string(data) != "x\n" {
		t.Errorf("stdout %q, %v", data, err)
	}
}

func TestCreateLeaks(t *testing.T) {
	d := New(program)
	lost := errors.New("answer lost")
	d.SetFaults(Faults{CreateLeaks: true, Create: func(*sandbox.Spec) error { return lost }})
	if _, err := d.Create(t.Context(), sandboxtest.NewSpec("/program")); !errors.Is(err, lost) {
		t.Errorf("create: %v", err)
	}
	all, err := d.List(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("list: %v, %v", all, err)
	}
	if err := d.Remove(t.Context(), all[0].ID); err != nil {
		t.Error(err)
	}
	if s := d.Stats(); s.Live != 0 || s.Created != 0 || s.Destroyed != 1 {
		t.Errorf("got %+v", s)
	}
}

func TestStartsAnyhow(t *testing.T) {
	d := New(program)
	d.SetFaults(Faults{StartsAnyhow: true, Start: func(*sandbox.Spec) error { return sandbox.ErrUnavailable }})
	cell, err := d.Create(t.Context(), sandboxtest.NewSpec("/program", "sleep"))
	if err != nil {
		t.Fatal(err)
	}
	if err := cell.Start(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("start: %v", err)
	}
	if d.Stats().Started != 1 {
		t.Error("the program does not run")
	}
	if err := cell.Destroy(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStdinBlocks(t *testing.T) {
	_, cell := started(t, Faults{}, "sleep")
	wrote := make(chan error, 1)
	go func() {
		_, err := cell.Stdio().Stdin.Write(make([]byte, 2*pipeSize))
		wrote <- err
	}()
	if err := cell.Destroy(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-wrote; err == nil {
		t.Error("the write was not refused")
	}
}
