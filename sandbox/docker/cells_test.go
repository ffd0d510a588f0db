package docker

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

// start creates and starts a cell that is destroyed when the test ends.
func (r *real) start(t testing.TB, spec *sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	c, err := r.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func once(ctx context.Context, d *Driver, spec *sandbox.Spec) (string, error) {
	c, err := d.Create(ctx, spec)
	if err != nil {
		return "", err
	}
	if err := c.Start(ctx); err != nil {
		return "", errors.Join(err, c.Destroy(ctx))
	}
	out, err := io.ReadAll(c.Stdio().Stdout)
	_, werr := c.Wait(ctx)
	return string(out), errors.Join(err, werr, c.Destroy(ctx))
}

// A program that prints one line and exits at once: the line comes, each of 200 times.
func (r *real) earlyOutput(t *testing.T) {
	const runs, at = 200, 4
	jobs := make(chan int, runs)
	for i := range runs {
		jobs <- i
	}
	close(jobs)
	var all sync.WaitGroup
	for range at {
		all.Go(func() {
			for i := range jobs {
				if out, err := once(t.Context(), r.Driver, r.spec("print", "hello")); out != "hello\n" || err != nil {
					t.Errorf("run %d: %q, %v", i, out, err)
				}
			}
		})
	}
	all.Wait()
}

// What an image says of itself has no effect: no volume on the engine's disk, no health check, no labels that a sweep
// would believe.
func (r *real) hostileImage(t *testing.T) {
	c := r.start(t, r.spec("cat"))
	info, err := r.containers.ContainerInspect(t.Context(), c.ID())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range info.Mounts {
		t.Errorf("mount of %s at %s", m.Type, m.Destination)
	}
	if info.State.Health != nil || info.Config.Hostname != "cell" || info.Config.WorkingDir != "/" || info.Config.User != "65601:65601" {
		t.Errorf("health %v, config %+v", info.State.Health, info.Config)
	}
	all, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.ID == c.ID() && (l.Labels[sandbox.LabelExpires] != "" || l.Labels[sandbox.LabelCall] != "call-1") {
			t.Errorf("labels %v", l.Labels)
		}
	}
}

// A container of someone else whose image carries our labels is not ours.
func (r *real) foreignContainer(t *testing.T) {
	config, host, err := convert(r.spec("cat"), false)
	if err != nil {
		t.Fatal(err)
	}
	config.Labels = map[string]string{sandbox.LabelManaged: "1", sandbox.LabelKind: "cell", labelName: "other"}
	resp, err := r.containers.ContainerCreate(t.Context(), config, host, nil, nil, "hotcell-test-foreign")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.remove(context.Background(), resp.ID, "foreign"); err != nil {
			t.Error(err)
		}
	}()
	all, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.ID == resp.ID {
			t.Errorf("listed as %+v", l)
		}
	}
	if err := r.Remove(t.Context(), resp.ID); err != nil {
		t.Error(err)
	}
	if _, err := r.containers.ContainerInspect(t.Context(), resp.ID); err != nil {
		t.Errorf("it was removed: %v", err)
	}
}

func (r *real) notExecutable(t *testing.T) {
	spec := r.spec("x")
	spec.OCI.Process.Args = []string{"/bin/not-executable"}
	c, err := r.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	err = c.Start(t.Context())
	var start *sandbox.StartError
	if !errors.As(err, &start) || start.ExitCode != 126 {
		t.Errorf("start: %v", err)
	}
	if err := c.Destroy(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func (r *real) unknownRuntime(t *testing.T) {
	spec := r.spec("x")
	spec.Runtime = "no-such-runtime"
	if _, err := r.Create(t.Context(), spec); !errors.Is(err, sandbox.ErrUnsupported) || !strings.Contains(err.Error(), "no-such-runtime") {
		t.Errorf("create: %v", err)
	}
}

// A cell whose output is stuck waits for its reader, and is killed in good time all the same.
func (r *real) stuckOutput(t *testing.T) {
	c := r.start(t, r.spec("flood", "1000000000"))
	buf := make([]byte, 1000)
	if _, err := io.ReadFull(c.Stdio().Stdout, buf); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if exit, err := c.Wait(ctx); err == nil {
		t.Errorf("the cell ended with its output unread: %+v", exit)
	}
	begin := time.Now()
	if err := c.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exit, err := c.Wait(t.Context()); err != nil || exit.Code != 137 {
		t.Errorf("got %+v, %v", exit, err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("the kill took %v", took)
	}
	if _, err := io.ReadAll(c.Stdio().Stdout); err != io.ErrUnexpectedEOF {
		t.Errorf("output with a gap ended with %v", err)
	}
}
