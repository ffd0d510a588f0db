package sandboxtest

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

// What not every driver can show; see [Options.Has].
const (
	// FeatureIsolation: cells run on a kernel, so that the probes of testdata/program mean something, and memory is
	// limited.
	FeatureIsolation = "isolation"
	// FeatureImages: Create looks for the image that a spec names.
	FeatureImages = "images"
)

// Options say how the suite reaches a driver.
type Options struct {
	// New makes a driver. Run closes it.
	New func(t *testing.T) sandbox.Driver
	// Spec returns a spec, best made from [NewSpec], whose process runs the program with that word and arguments.
	Spec func(t *testing.T, program string, args ...string) *sandbox.Spec
	// Has reports whether the driver has a feature. Nil means none.
	Has func(feature string) bool
	// Cut makes a driver whose next cell's stdout breaks off within the output of "flood 1048576". Nil skips that test.
	Cut func(t *testing.T) sandbox.Driver
	// Differs names the rows of the test Isolation in which a driver's cells differ, with the reason: what its Create refuses
	// unless the operator accepts it. Such a row is told of, and is no failure.
	Differs map[string]string
	// Within bounds each test; 60 s if zero.
	Within time.Duration
}

// Run tests a driver. Each test makes a driver of its own and destroys all its cells.
func Run(t *testing.T, o Options) {
	if o.Within == 0 {
		o.Within = time.Minute
	}
	tests := []struct {
		name    string
		feature string
		test    func(*suite)
	}{
		{"Capabilities", "", (*suite).capabilities},
		{"EarlyOutput", "", (*suite).earlyOutput},
		{"Interrupted", "", (*suite).interrupted},
		{"Diverted", "", (*suite).diverted},
		{"StdinEOF", "", (*suite).stdinEOF},
		{"StdinClosedBeforeStart", "", (*suite).stdinClosedBeforeStart},
		{"TwoStreams", "", (*suite).twoStreams},
		{"LargeOutput", "", (*suite).largeOutput},
		{"CutOutput", "", (*suite).cutOutput},
		{"ExitCodes", "", (*suite).exitCodes},
		{"Environment", "", (*suite).environment},
		{"Kill", "", (*suite).kill},
		{"WaitByMany", "", (*suite).waitByMany},
		{"WaitDeadline", "", (*suite).waitDeadline},
		{"Destroy", "", (*suite).destroy},
		{"DestroyRunning", "", (*suite).destroyRunning},
		{"DestroyUnstarted", "", (*suite).destroyUnstarted},
		{"StartTwice", "", (*suite).startTwice},
		{"StartFails", "", (*suite).startFails},
		{"Unsupported", "", (*suite).unsupported},
		{"NoImage", FeatureImages, (*suite).noImage},
		{"List", "", (*suite).list},
		{"Remove", "", (*suite).remove},
		{"Concurrent", "", (*suite).concurrent},
		{"Trees", "", (*suite).trees},
		{"Isolation", FeatureIsolation, (*suite).isolation},
		{"OutOfMemory", FeatureIsolation, (*suite).outOfMemory},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.feature != "" && (o.Has == nil || !o.Has(tt.feature)) {
				t.Skipf("the driver does not claim %s", tt.feature)
			}
			ctx, cancel := context.WithTimeout(context.Background(), o.Within)
			t.Cleanup(cancel)
			s := &suite{T: t, o: o, ctx: ctx}
			if tt.name != "CutOutput" {
				s.driver = s.open(o.New)
			}
			tt.test(s)
		})
	}
}

// suite is one test's driver and deadline.
type suite struct {
	*testing.T
	o      Options
	ctx    context.Context
	driver sandbox.Driver
}

func (s *suite) open(newDriver func(*testing.T) sandbox.Driver) sandbox.Driver {
	s.Helper()
	d := newDriver(s.T)
	s.Cleanup(func() {
		if err := d.Close(); err != nil {
			s.Errorf("close: %v", err)
		}
	})
	return d
}

// create makes a cell that is destroyed when the test ends.
func (s *suite) create(spec *sandbox.Spec) sandbox.Sandbox {
	s.Helper()
	cell, err := s.driver.Create(s.ctx, spec)
	if err != nil {
		s.Fatalf("create: %v", err)
	}
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := cell.Destroy(ctx); err != nil {
			s.Errorf("destroy: %v", err)
		}
	})
	return cell
}

func (s *suite) start(program string, args ...string) sandbox.Sandbox {
	s.Helper()
	cell := s.create(s.o.Spec(s.T, program, args...))
	if err := cell.Start(s.ctx); err != nil {
		s.Fatalf("start: %v", err)
	}
	return cell
}

// output is all that a cell wrote, and how its streams ended (nil for io.EOF).
type output struct {
	stdout, stderr       string
	stdoutErr, stderrErr error
}

// read reads both streams to their ends at the same time.
func (s *suite) read(cell sandbox.Sandbox) output {
	s.Helper()
	io1, io2 := cell.Stdio().Stdout, cell.Stdio().Stderr
	var out output
	done := make(chan struct{})
	go func() {
		defer close(done)
		data, err := io.ReadAll(io2)
		out.stderr, out.stderrErr = string(data), err
	}()
	data, err := io.ReadAll(io1)
	out.stdout, out.stdoutErr = string(data), err
	<-done
	return out
}

func (s *suite) wait(cell sandbox.Sandbox) sandbox.Exit {
	s.Helper()
	exit, err := cell.Wait(s.ctx)
	if err != nil {
		s.Fatalf("wait: %v", err)
	}
	if exit.At.IsZero() {
		s.Errorf("exit has no time")
	}
	return exit
}

// run runs a program to its end with an empty stdin.
func (s *suite) run(spec *sandbox.Spec) (output, sandbox.Exit) {
	s.Helper()
	cell := s.create(spec)
	if err := cell.Start(s.ctx); err != nil {
		s.Fatalf("start: %v", err)
	}
	if err := cell.Stdio().Stdin.Close(); err != nil {
		s.Fatalf("close stdin: %v", err)
	}
	out := s.read(cell)
	if out.stdoutErr != nil || out.stderrErr != nil {
		s.Errorf("streams ended with %v, %v: expected an orderly end", out.stdoutErr, out.stderrErr)
	}
	return out, s.wait(cell)
}

func (s *suite) equal(what, got, want string) {
	s.Helper()
	if got != want {
		s.Errorf("%s: got %.300q, want %.300q", what, got, want)
	}
}

// ended reports whether a stream's error is one of the two ends that the contract knows.
func ended(err error) bool { return err == nil || errors.Is(err, io.ErrUnexpectedEOF) }
