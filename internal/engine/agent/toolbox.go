package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"github.com/hotcell/hotcell/internal/engine"
	"github.com/hotcell/hotcell/internal/wall"
)

const (
	maxListed  = 100      // files named in the prompt
	maxContent = 64 << 10 // bytes of a tool's answer that the model gets
	atOnce     = 4        // tools that run at the same time
	maxName    = 64       // bytes of a tool's name, by the providers' rule
)

// toolbox is what the model may use: the host tools of the lease, and the files of the cell.
type toolbox struct {
	gate          *engine.Tools
	bundle, input *engine.Files
	defs          []toolDef
	run           map[string]func(context.Context, json.RawMessage) (string, error)
}

func openToolbox(cfg *engine.Config, lease *wall.Lease) (*toolbox, error) {
	b := &toolbox{gate: cfg.Tools(), run: map[string]func(context.Context, json.RawMessage) (string, error){}}
	var err error
	if b.bundle, err = engine.OpenFiles(cfg.Path(wall.DirSkill), wall.DirSkill); err != nil {
		return nil, err
	}
	if b.input, err = engine.OpenFiles(cfg.Path(wall.DirInput), wall.DirInput); err != nil {
		b.close()
		return nil, err
	}
	if others, _ := b.others(1); len(others) > 0 {
		b.add(readTool("read_skill_file", "Read a text file that belongs to this skill.", b.bundle))
	}
	if files, _ := b.input.List(1); len(files) > 0 {
		b.add(readTool("read_input_file", "Read a text file that came with this call.", b.input))
	}
	for _, t := range lease.Tools {
		b.add(toolDef{t.Name, t.Description, object(t.InputSchema)}, b.host(t.Name))
	}
	return b, nil
}

func (b *toolbox) close() {
	b.gate.Close()
	for _, f := range []*engine.Files{b.bundle, b.input} {
		if f != nil {
			f.Close()
		}
	}
}

var unsafe = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// add enters a tool under a name that providers accept and no other has.
func (b *toolbox) add(def toolDef, run func(context.Context, json.RawMessage) (string, error)) {
	base := unsafe.ReplaceAllString(def.name, "_")
	base = base[:min(len(base), maxName-4)]
	def.name = base
	for n := 2; b.run[def.name] != nil; n++ {
		def.name = fmt.Sprintf("%s_%d", base, n)
	}
	b.defs = append(b.defs, def)
	b.run[def.name] = run
}

func (b *toolbox) host(name string) func(context.Context, json.RawMessage) (string, error) {
	return func(ctx context.Context, arguments json.RawMessage) (string, error) {
		data, err := b.gate.Call(ctx, name, arguments)
		return string(data), err
	}
}

// use runs the tools of one reply, several at once. What fails is the model's to know.
func (b *toolbox) use(ctx context.Context, calls []toolCall) []result {
	results := make([]result, len(calls))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, c := range calls {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			content, err := b.one(ctx, c)
			results[i] = result{call: c, content: engine.Clip(content, maxContent), failed: err != nil}
		})
	}
	all.Wait()
	return results
}

func (b *toolbox) one(ctx context.Context, c toolCall) (string, error) {
	run := b.run[c.name]
	arguments := json.RawMessage(c.arguments)
	var err error
	var content string
	switch {
	case run == nil:
		err = &engine.ToolError{Tool: c.name, Code: "unknown_tool", Message: "there is no such tool"}
	case len(arguments) > 0 && !json.Valid(arguments):
		err = &engine.ToolError{Tool: c.name, Code: "invalid_arguments", Message: "the arguments are no JSON; they may have been cut short"}
	default:
		content, err = run(ctx, arguments)
	}
	if err != nil {
		answer := map[string]string{"error": err.Error()}
		var te *engine.ToolError
		if errors.As(err, &te) {
			answer = map[string]string{"error": te.Message, "code": te.Code}
		}
		text, _ := engine.Marshal(answer) // strings
		return string(text), err
	}
	return content, nil
}
