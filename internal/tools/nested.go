package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/clever"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
)

// skillTool is another skill as a tool.
type skillTool struct {
	tools *Tools
	name  string
	who   a2e.Caller // whose call declares it: what it may not see or use, its skills may not either
}

// lookLimit bounds how long it takes to see what a caller may use.
const lookLimit = 5 * time.Second

// anything is the schema of a skill that states none.
var anything = json.RawMessage(`{"type":"object"}`)

func (t *skillTool) definition() (wall.ToolDef, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookLimit)
	defer cancel()
	view, err := t.tools.opt.Shelf.View(ctx, t.who)
	if err != nil {
		return wall.ToolDef{}, fmt.Errorf("activation of %s%s: which skills there are can't be read", skills.SkillTool, t.name)
	}
	skill, _ := view.Find(t.name)
	switch {
	case skill == nil || skill.Name != t.name:
		return wall.ToolDef{}, &clever.ValueError{Err: fmt.Errorf("skill %q not found", t.name)}
	case !view.Allows(skill):
		return wall.ToolDef{}, &clever.PermissionError{Err: fmt.Errorf("skill %q is not in the allowed_skills list for this agent", t.name)}
	}
	def := wall.ToolDef{
		Name: skills.SkillTool + t.name, Description: skill.Description, InputSchema: anything, Writes: skill.Policy.Writes,
	}
	if len(skill.InputSchema) > 2 {
		def.InputSchema = skill.InputSchema
	}
	return def, nil
}

// use runs the skill in a cell of its own, for the same principal, inside of the call that asks for it.
func (t *skillTool) use(ctx context.Context, g *grant, args map[string]any) (any, error) {
	chain := append(slices.Clone(g.ask.Chain), g.ask.Skill.Name)
	way := func() string { return strings.Join(append(slices.Clone(chain), t.name), " → ") }
	switch {
	case slices.Contains(chain, t.name):
		return nil, &clever.ValueError{Err: fmt.Errorf("%s is a cycle of calls", way())}
	case len(chain) > t.tools.opt.Depth:
		return nil, &clever.PermissionError{Err: fmt.Errorf("%s: calls may be nested %d deep", way(), t.tools.opt.Depth)}
	case t.tools.opt.Calls == nil:
		return nil, fmt.Errorf("activation of %s%s: this host runs no nested calls", skills.SkillTool, t.name)
	}
	left := leftIn(ctx)
	if left == nil || left.Add(-1) < 0 {
		return nil, &clever.PermissionError{Err: fmt.Errorf("a call, with all that are nested in it, may call %d skills", t.tools.opt.Nested)}
	}
	quiet := false
	answer := t.tools.opt.Calls(service.Nested(ctx, chain), g.ask.Who, &a2e.CallRequest{
		Header: a2e.Header{Type: a2e.TypeCallRequest, ID: a2e.NewID(), Version: a2e.Version, TS: a2e.Now()},
		Name:   t.name, Arguments: args, CorrelationID: g.ask.Call, Streaming: &quiet,
	})
	switch {
	case answer.Error != nil:
		return nil, answer.Error
	case answer.Data == nil:
		return nil, nil
	}
	return answer.Data.Data, nil
}

// leftKey is the key under which a context carries how many calls may still be nested in the outermost one.
type leftKey struct{}

func leftIn(ctx context.Context) *atomic.Int64 {
	left, _ := ctx.Value(leftKey{}).(*atomic.Int64)
	return left
}

// withLeft returns a context that carries the budget of the outermost call: its own, if it is in none.
func withLeft(ctx context.Context, most int) context.Context {
	if leftIn(ctx) != nil {
		return ctx
	}
	left := &atomic.Int64{}
	left.Store(int64(most))
	return context.WithValue(ctx, leftKey{}, left)
}
