package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing/fstest"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/sandbox/warm"
)

const wordCountImage = "hotcell/word-count:1"

// The skills that wait: an image that speaks the wall itself, a Python that has been started ahead, and one that has not.
const (
	framesSkill   = "bench-frames"
	prestartSkill = "bench-prestart"
	childSkill    = "bench-child"
)

// waiting is a supervisor whose cells wait for their calls.
type waiting struct{ rig *rig.Rig }

func newWaiting(runner string) (*waiting, error) {
	frames := fstest.MapFS{
		framesSkill + "/SKILL.md":   {Data: []byte("---\nname: " + framesSkill + "\ndescription: counts words\n---\n"), Mode: 0o644},
		framesSkill + "/skill.yaml": {Data: []byte("run: {image: '" + wordCountImage + "', frames: true}\n"), Mode: 0o644},
	}
	r, err := rig.New(rig.Options{
		Runner: runner, Instance: "benchwarm", Warm: warm.Options{Max: 8}, Remember: time.Minute,
		Skills: rig.Merge(frames,
			rig.PythonSkill(prestartSkill, "run: {prestart: true}\n", program), rig.PythonSkill(childSkill, "", program)),
	})
	if err != nil {
		return nil, err
	}
	return &waiting{r}, nil
}

// warm is a call of a skill for which a cell waits. Waiting for that is not part of it.
func (w *waiting) call(skill string) func(context.Context) (timing, error) {
	return func(ctx context.Context) (t timing, err error) {
		if err := w.await(ctx, skill); err != nil {
			return t, err
		}
		began := time.Now()
		answer := w.rig.Call(ctx, a2e.Caller{Door: "bench"}, &a2e.CallRequest{Name: skill, Arguments: map[string]any{"text": text}},
			a2e.EventWriterFunc(func(context.Context, *a2e.Event) error {
				if t.first == 0 {
					t.first = time.Since(began)
				}
				return nil
			}))
		t.done = time.Since(began)
		if answer.Error != nil {
			return t, answer.Error
		}
		return t, w.await(ctx, skill) // the next contender must not run beside what is started ahead here
	}
}

const text = "what runs here cannot reach anything"

// await makes sure that a cell waits, with a first call if none ever did.
func (w *waiting) await(ctx context.Context, skill string) error {
	for tries := 0; len(w.rig.Pool.Waiting(skill)) == 0; tries++ {
		if tries == 0 {
			if answer := w.rig.Call(ctx, a2e.Caller{}, &a2e.CallRequest{Name: skill, Arguments: map[string]any{"text": text}}, nil); answer.Error != nil {
				return answer.Error
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	select { // what the last call left is being destroyed, which is not the next one's business
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(300 * time.Millisecond):
	}
	return nil
}

func (w *waiting) close() {
	if err := w.rig.Close(time.Minute); err != nil {
		fmt.Println("bench:", err)
	}
}

// attached is the floor: a container that was started before and waits on its stdin, one write, one read.
func (r *raw) attached(ctx context.Context) (t timing, err error) {
	made, err := r.cli.ContainerCreate(ctx, &container.Config{
		Image: wordCountImage, NetworkDisabled: true,
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
	}, &container.HostConfig{LogConfig: container.LogConfig{Type: "none"}, NetworkMode: "none"}, nil, nil, "")
	if err != nil {
		return t, err
	}
	defer func() {
		err = errors.Join(err, r.cli.ContainerRemove(context.WithoutCancel(ctx), made.ID, container.RemoveOptions{Force: true}))
	}()
	att, err := r.cli.ContainerAttach(ctx, made.ID, container.AttachOptions{Stream: true, Stdin: true, Stdout: true})
	if err != nil {
		return t, err
	}
	defer att.Close()
	if err := r.cli.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		return t, err
	}
	out := bufio.NewReader(att.Reader)
	if _, err := out.ReadString('\n'); err != nil { // ready
		return t, fmt.Errorf("no ready line: %w", err)
	}
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	if _, err := io.WriteString(att.Conn, `{"type":"skill/call/req","arguments":{"text":"`+text+`"}}`+"\n"); err != nil {
		return t, err
	}
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			return t, fmt.Errorf("no output: %w", err)
		}
		if t.first == 0 {
			t.first = time.Since(began)
		}
		if strings.Contains(line, `"skill/result"`) {
			t.done = time.Since(began)
			return t, nil
		}
	}
}
