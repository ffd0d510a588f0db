package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/store"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
)

// unreal is a supervisor whose cells cost next to nothing: what is left of a call is hotcell's own share. Its journal is
// real.
type unreal struct {
	*executor.Supervisor
	log *store.Store
}

// fakeSupervisor wires one with so many skills and a journal in dir.
func fakeSupervisor(dir string, count int, life fake.Program) (*unreal, error) {
	library, err := skills.Load([]skills.Source{{Label: skills.SourceProject, FS: manySkills(count), Path: "bench"}}, nil)
	if err != nil {
		return nil, err
	}
	log, err := openJournal(filepath.Join(dir, "hotcell.db"))
	if err != nil {
		return nil, err
	}
	runner := sandbox.Tree{
		Name: "runner", Digest: fmt.Sprintf("%064x", 1), Target: wall.DirRunner, FS: fstest.MapFS{"runner": {Mode: 0o755}},
	}
	super, err := executor.New(executor.Config{
		Driver: fake.New(life), Images: everyImage{}, Skills: library, Instance: "bench", Journal: log,
		Runner:        func(string) (sandbox.Tree, error) { return runner, nil },
		DefaultImages: map[string]string{"python": "image"}, EmbedEvents: true, RunDir: filepath.Join(dir, "uids"),
	})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return &unreal{super, log}, nil
}

func manySkills(count int) fstest.MapFS {
	all := fstest.MapFS{}
	for i := range count {
		name := skillNumber(i)
		all[name+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: number " + fmt.Sprint(i) + "\n---\nRun it.\n"), Mode: 0o644}
		all[name+"/skill.yaml"] = &fstest.MapFile{Data: []byte("input_schema: {type: object, properties: {text: {type: string}}, required: [text]}\nlimits: {output: 32Mi}\n"), Mode: 0o644}
		all[name+"/main.py"] = &fstest.MapFile{Data: []byte(program), Mode: 0o644}
	}
	return all
}

func skillNumber(i int) string { return fmt.Sprintf("bench-%d", i) }

// call calls one of the skills.
func (u *unreal) call(ctx context.Context, skill int) (t timing, err error) {
	return timed(ctx, u.Supervisor, skill)
}

// timed makes one call behind a handler, and tells when its first event and its answer came.
func timed(ctx context.Context, h a2e.Handler, skill int) (t timing, err error) {
	began := time.Now()
	answer := h.Call(ctx, a2e.Caller{Door: "bench"}, &a2e.CallRequest{Name: skillNumber(skill), Arguments: map[string]any{"text": text}},
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
	return t, nil
}

func (u *unreal) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(u.Drain(ctx), u.log.Close())
}

// everyImage has all images.
type everyImage struct{}

func (everyImage) Resolve(_ context.Context, ref string, _ images.PullPolicy) (images.Image, error) {
	return images.Image{Ref: ref, ID: "sha256:" + fmt.Sprintf("%064x", 7), OS: "linux", Arch: "amd64"}, nil
}

const exitLine = `{"type":"cell/exit","exit_code":0,"oom_kills":0}` + "\n"

// speaker is the life of a fake cell that says one thing and succeeds.
func speaker(_ context.Context, _ *sandbox.Spec, stdin io.Reader, stdout, _ io.Writer) int {
	in, ok := asked(stdin, stdout)
	if !ok {
		return 1
	}
	_, _ = io.WriteString(stdout, `{"type":"skill/event","kind":"status","data":{"message":"here"}}`+"\n"+
		`{"type":"skill/result","success":true,"data":42}`+"\n"+exitLine)
	_, _ = in.ReadString('\n')
	return 0
}

// flooder is the life of one that floods first.
func flooder(_ context.Context, _ *sandbox.Spec, stdin io.Reader, stdout, _ io.Writer) int {
	in, ok := asked(stdin, stdout)
	if !ok {
		return 1
	}
	line := floodLine(1 << 10)
	for range floodLines / 8 {
		if _, err := io.WriteString(stdout, line); err != nil {
			return 1
		}
	}
	_, _ = io.WriteString(stdout, `{"type":"skill/result","success":true,"data":42}`+"\n"+exitLine)
	_, _ = in.ReadString('\n')
	return 0
}

// asked says ready and waits for the request.
func asked(stdin io.Reader, stdout io.Writer) (*bufio.Reader, bool) {
	_, _ = io.WriteString(stdout, `{"type":"cell/ready","protocol":1}`+"\n")
	in := bufio.NewReader(stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil, false
		}
		if wall.TypeOf(line) == wall.TypeRequest {
			return in, true
		}
	}
}
