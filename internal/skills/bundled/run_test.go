package bundled_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/skills/bundled"
)

// frame is a line of a skill.
type frame struct {
	Type      string         `json:"type"`
	Kind      string         `json:"kind"`
	Data      any            `json:"data"`
	Success   bool           `json:"success"`
	Summary   string         `json:"summary"`
	Error     string         `json:"error"`
	ErrorCode string         `json:"error_code"`
	Retryable *bool          `json:"retryable"`
	at        time.Time      // when it arrived
	event     map[string]any // Data of an event
}

// outcome is all that a run said.
type outcome struct {
	result frame
	events []frame
	report string
}

func library(t *testing.T) *skills.Library {
	t.Helper()
	l, err := skills.LoadWith([]skills.Source{{Label: skills.SourceCore, FS: bundled.FS(), Path: "bundled"}}, builtins{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// builtins is the toolbox of a host with the built-in tools alone.
type builtins struct{}

func (builtins) Tool(name string) skills.Found {
	if name != "time" && name != "calculator" {
		return skills.Found{Missing: "there is no tool " + name}
	}
	return skills.Found{Tools: []skills.Tool{{Name: name, Source: skills.ToolBuiltin}}}
}

func (builtins) Toolkit(name string) skills.Found {
	return skills.Found{Missing: "there is no toolkit " + name}
}

func (builtins) Version() uint64 { return 1 }

// run starts a bundled skill as a cell would: the request on stdin, lines on stdout. input is the folder of input files.
func run(t *testing.T, name string, args map[string]any, input string) outcome {
	t.Helper()
	skill, _ := library(t).Find(name)
	if skill == nil {
		t.Fatalf("no skill %q", name)
	}
	if _, err := skill.Arguments(args); err != nil {
		t.Fatal(err)
	}
	request, err := json.Marshal(map[string]any{"type": "skill/call/req", "name": name, "arguments": args})
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	frames := execute(t, name, append(request, '\n'), "HOTCELL_OUT="+out, "HOTCELL_INPUT="+input)
	return judge(t, skill, frames, filepath.Join(out, "report.md"))
}

func execute(t *testing.T, name string, request []byte, env ...string) []frame {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "python3", "-B", "-S", filepath.Join(name, "scripts", "main.py"))
	cmd.Stdin = bytes.NewReader(request)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var frames []frame
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		frames = append(frames, parse(t, line))
	}
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v, stderr:\n%s", err, stderr.String())
	}
	return frames
}

func parse(t *testing.T, line []byte) frame {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	f := frame{at: time.Now()}
	if err := d.Decode(&f); err != nil {
		t.Fatalf("not a frame: %q", line)
	}
	f.event, _ = f.Data.(map[string]any)
	return f
}

// judge checks what holds for every run: events, then one result that fits the schema, progress that rises.
func judge(t *testing.T, skill *skills.Skill, frames []frame, report string) outcome {
	t.Helper()
	if len(frames) == 0 || frames[len(frames)-1].Type != "skill/result" {
		t.Fatalf("no result at the end: %+v", frames)
	}
	o := outcome{result: frames[len(frames)-1], events: frames[:len(frames)-1]}
	last := int64(-1)
	for _, f := range o.events {
		if f.Type != "skill/event" {
			t.Errorf("unexpected frame %+v", f)
		}
		if f.Kind != "progress" {
			continue
		}
		pct, err := f.event["pct"].(json.Number).Int64()
		if err != nil || pct <= last || pct > 100 {
			t.Errorf("progress %v after %d", f.event, last)
		}
		last = pct
	}
	if !o.result.Success {
		return o
	}
	if last != 100 {
		t.Errorf("the progress ends at %d", last)
	}
	if err := skill.CheckOutput(o.result.Data); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Error(err)
	}
	o.report = string(text)
	return o
}

func count(events []frame, kind string) int {
	n := 0
	for _, f := range events {
		if f.Kind == kind {
			n++
		}
	}
	return n
}
