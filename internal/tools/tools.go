package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
)

// Port is the name of the cell's port for tools.
const Port = "tools"

// Options is what [Tools] works with. Box and Skills or Shelf are required; a zero value elsewhere means the default that its
// comment names.
type Options struct {
	Box    *Box
	Skills skills.Catalog
	Shelf  skills.Shelf // what each caller sees and may use; nil: everybody all of Skills

	// Calls runs a call that a skill makes, in a cell of its own, and returns its answer, never nil. The context names the
	// skills around it ([service.Chain]) and ends with the calling skill's own call. Nil: no skill may call another.
	Calls func(ctx context.Context, who a2e.Caller, req *a2e.CallRequest) *a2e.CallResponse

	Log audit.Log // nil: nobody keeps one

	Depth  int // how many skills may lie around a nested call; 0: 3
	Nested int // nested calls of one outermost call, at whatever depth; 0: 32
	Uses   int // uses of tools by one call; 0: 1000
	AtOnce int // of them under way at the same time; 0: 8
}

// Tools is the service that gives skills the tools that they declare. It is safe for concurrent use.
type Tools struct {
	opt Options
}

var _ service.Service = (*Tools)(nil)

// New returns a service.
func New(opt Options) *Tools {
	if opt.Log == nil {
		opt.Log = audit.Nobody
	}
	if opt.Shelf == nil {
		opt.Shelf = skills.Open(opt.Skills)
	}
	for _, d := range []struct {
		field *int
		value int
	}{{&opt.Depth, 3}, {&opt.Nested, 32}, {&opt.Uses, 1000}, {&opt.AtOnce, 8}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return &Tools{opt: opt}
}

// tool is one thing that a call may use.
type tool interface {
	// definition is what the tool is at this moment; the error says why it is gone.
	definition() (wall.ToolDef, error)
	// use checks the arguments and does it. The data it returns is a JSON value.
	use(ctx context.Context, g *grant, args map[string]any) (any, error)
}

// Grant implements [service.Service]: nil for a skill that declares no tool. It connects to the MCP servers that the skill
// needs and may use, so that their tools are known: a server that does not answer costs the call, which may be tried again, and one
// that has not what the skill declares blocks it.
func (t *Tools) Grant(ask service.Ask) (service.Grant, error) {
	if len(ask.Skill.ToolNames)+len(ask.Skill.ToolkitNames) == 0 {
		return nil, nil
	}
	if err := t.opt.Box.Permits(ask.Skill); err != nil {
		return nil, err // before any server is asked
	}
	g := &grant{tools: t, ask: ask, byName: map[string]tool{}, room: make(chan struct{}, t.opt.AtOnce), desk: make(chan struct{}, desks*t.opt.AtOnce)}
	for _, name := range ask.Skill.ToolNames {
		if err := t.add(g, name, "tools"); err != nil {
			return nil, err
		}
	}
	for _, name := range ask.Skill.ToolkitNames {
		if err := t.add(g, name, "toolkits"); err != nil {
			return nil, err
		}
	}
	if len(g.names) > wall.MaxTools {
		return nil, blocked(ask.Skill.Name, fmt.Sprintf("it has %d tools, and a call can be told of %d: name those that it needs under tools", len(g.names), wall.MaxTools))
	}
	for _, name := range g.names {
		if def, err := g.byName[name].definition(); err == nil && def.Writes && !ask.Skill.Policy.Writes {
			return nil, blocked(ask.Skill.Name, fmt.Sprintf("%q writes, and this skill is read-only: set writes: true, or do without it", name))
		}
	}
	g.server = g.web()
	return g, nil
}

// add gives the grant what a name stands for. The library has looked at the names before, but not at what only a server
// knows.
func (t *Tools) add(g *grant, name, key string) error {
	if skill, ok := strings.CutPrefix(name, skills.SkillTool); ok && key == "tools" {
		g.give(name, &skillTool{tools: t, name: skill, who: g.ask.Who})
		return nil
	}
	box := t.opt.Box
	if b := box.builtins[name]; b != nil && key == "tools" {
		g.give(name, b)
		return nil
	}
	if server, _, ok := box.split(name); ok && box.servers[server] != nil {
		if err := reach(box.servers[server]); err != nil {
			return unavailable(g.ask.Skill.Name, name, err)
		}
	}
	found := box.Tool
	if key == "toolkits" {
		found = box.Toolkit
	}
	got := found(name)
	switch {
	case got.Missing != "":
		return blocked(g.ask.Skill.Name, key+": "+got.Missing)
	case got.Open:
		return unavailable(g.ask.Skill.Name, name, errors.New("its server has not told its tools"))
	}
	for _, f := range got.Tools {
		server, tool, _ := box.split(f.Name)
		g.give(f.Name, &remoteTool{server: box.servers[server], tool: tool})
	}
	return nil
}

// reach makes sure that a server has told its tools.
func reach(s *server) error {
	ctx, cancel := context.WithTimeout(s.base, connectTimeout+time.Second)
	defer cancel()
	_, err := s.ready(ctx)
	return err
}

func unavailable(skill, tool string, err error) error {
	return a2e.Errorf(a2e.RuntimeError, "skill %q needs %q: %w", skill, clip(tool), err).Because(a2e.ReasonToolUnavailable).Transient()
}

func blocked(skill, why string) error {
	return a2e.Errorf(a2e.RuntimeError, "skill %q is blocked: %s", skill, why).Because(a2e.ReasonBlocked)
}
