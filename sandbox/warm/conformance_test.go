package warm

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
	"github.com/hotcell/hotcell/sandbox/sandboxtest"
)

// suiteProgram runs the suite's program, with the trees of the spec as its files.
func suiteProgram(ctx context.Context, spec *sandbox.Spec, stdin io.Reader, stdout, stderr io.Writer) int {
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

// A pool that has nothing to give is the driver behind it.
func TestConformance(t *testing.T) {
	open := func(faults fake.Faults) func(*testing.T) sandbox.Driver {
		return func(*testing.T) sandbox.Driver {
			d := fake.New(suiteProgram)
			d.SetFaults(faults)
			return New(d, Options{Max: 4})
		}
	}
	sandboxtest.Run(t, sandboxtest.Options{
		New: open(fake.Faults{Start: func(spec *sandbox.Spec) error {
			if spec.OCI.Process.Args[0] != "/program" {
				return &sandbox.StartError{ExitCode: 127, Message: "no such program"}
			}
			return nil
		}}),
		Cut: open(fake.Faults{CutStdout: 1000}),
		Spec: func(t *testing.T, program string, args ...string) *sandbox.Spec {
			spec := sandboxtest.NewSpec(append([]string{"/program", program}, args...)...)
			spec.Key = t.Name()
			spec.Again = func(time.Duration) (*sandbox.Spec, func(), error) {
				return nil, nil, errors.New("none for another call")
			}
			return spec
		},
	})
}

// A leased cell keeps the contract of a sandbox, as far as one can that has started.
func TestALeasedCellIsASandbox(t *testing.T) {
	bothWays(t, func(t *testing.T, open func(fake.Program, Options) *bench) {
		b := open(answer, Options{Max: 2})
		defer b.close()
		leased := func() sandbox.Sandbox {
			spec := b.spec("s", "b", "p")
			b.call(spec)
			time.Sleep(time.Second)
			b.waiting()
			box, _ := b.warm.Lease(spec.Key)
			if box == nil {
				t.Fatal("no cell waits")
			}
			return box
		}
		box := leased()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := errors.Join(box.Start(t.Context()), box.Start(t.Context())); err != nil || box.Start(ended) == nil {
			t.Errorf("start: %v, and with an ended context: %v", err, box.Start(ended))
		}
		if _, err := box.Wait(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("wait: %v", err)
		}
		streams := box.Stdio()
		io.WriteString(streams.Stdin, "hello\n")
		if said, err := io.ReadAll(streams.Stdout); err != nil || string(said) != ready+"got hello\n" {
			t.Errorf("%q, %v", said, err)
		}
		if said, err := io.ReadAll(streams.Stderr); err != nil || len(said) > 0 {
			t.Errorf("stderr %q, %v", said, err)
		}
		for range 2 {
			if exit, err := box.Wait(t.Context()); err != nil || exit.Code != 0 {
				t.Errorf("wait: %+v, %v", exit, err)
			}
		}
		if err := errors.Join(box.Kill(t.Context()), box.Destroy(t.Context()), box.Destroy(t.Context())); err != nil {
			t.Error(err)
		}

		box = leased()
		if err := box.Kill(t.Context()); err != nil {
			t.Error(err)
		}
		if exit, err := box.Wait(t.Context()); err != nil || exit.Code != 137 {
			t.Errorf("wait: %+v, %v", exit, err)
		}
		if err := box.Destroy(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
