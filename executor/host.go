package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/policies"
)

// Bounds of one plugin.
const (
	mostHosted = 256 // executions at once, those that ignore their end among them; half of them a principal's
	mostListed = 1000
	mostKnown  = 256 // compiled skills and remarks that are remembered
	offerLimit = 5 * time.Second
	strayLimit = 5 * time.Second // for one that ignores its end, until nobody waits for it any more
)

// host is a plugin as the supervisor knows it.
type host struct {
	plugin a2e.Plugin
	room   *auth.Shares // one for each goroutine that is in the plugin's code

	mu       sync.Mutex
	compiled map[string]*compiled // by skill
	remarked map[string]bool      // what the log was told once
}

// compiled is a skill of a plugin and the manifest that it was made of.
type compiled struct {
	def   a2e.Definition
	skill *skills.Skill
}

func newHost(p a2e.Plugin) *host {
	return &host{plugin: p, room: auth.NewShares(mostHosted, mostHosted/2), compiled: map[string]*compiled{}, remarked: map[string]bool{}}
}

// once reports whether something is worth a line in the log, which it is once.
func (h *host) once(what string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.remarked[what] || len(h.remarked) >= mostKnown {
		return false
	}
	h.remarked[what] = true
	return true
}

var errNoRoom = fmt.Errorf("%d executions of this plugin are under way already, or %d for this caller", mostHosted, mostHosted/2)

// enter runs f, which is the plugin's code, in a goroutine of its own: it may panic, and it may ignore that ctx has ended.
// The channel is closed when f has ended; got holds what it returned by then.
func enter[T any](s *Supervisor, h *host, who a2e.Caller, what string, f func() (T, error)) (got func() (T, error), ended <-chan struct{}, err error) {
	leave, ok := h.room.Take(who.Principal, 1)
	if !ok {
		return nil, nil, errNoRoom
	}
	var value T
	fail := errBrokeOff // stands where f ends its goroutine instead of returning
	done := make(chan struct{})
	go func() { // nobody can end code that does not want to: who enters it waits as long as may be
		defer close(done)
		defer leave()
		defer func() {
			if r := recover(); r != nil {
				s.log.Error("a plugin panicked", "in", what, "panic", r, "stack", string(debug.Stack()))
				fail = errPanicked
			}
		}()
		value, fail = f()
	}()
	return func() (T, error) { return value, fail }, done, nil
}

var (
	errPanicked = errors.New("its code panicked: hotcell's log says where")
	errBrokeOff = errors.New("its code broke off without an answer")
)

// offers asks a plugin for the skills that a caller may see, the usable ones.
func (s *Supervisor) offers(ctx context.Context, h *host, who a2e.Caller) ([]*compiled, error) {
	ctx, cancel := context.WithTimeout(ctx, offerLimit)
	defer cancel()
	got, ended, err := enter(s, h, who, "ListSkills", func() ([]a2e.Definition, error) { return h.plugin.ListSkills(ctx, who) })
	if err != nil {
		return nil, err
	}
	select {
	case <-ended:
	case <-ctx.Done():
		return nil, fmt.Errorf("its list of skills did not come: %w", ctx.Err())
	}
	defs, err := got()
	if err != nil {
		return nil, err
	}
	var all []*compiled
	for _, def := range defs[:min(len(defs), mostListed)] {
		one, err := h.compile(def)
		switch {
		case err == nil:
			all = append(all, one)
		case h.once("bad " + clip(def.Name, 80)):
			s.log.Warn("a plugin's skill can't be used", "skill", clip(def.Name, 80), "error", err)
		}
	}
	return all, nil
}

var hostedName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// compile makes a skill of a manifest, or returns the one that it made of the same schemas before.
func (h *host) compile(def a2e.Definition) (*compiled, error) {
	if !hostedName.MatchString(def.Name) {
		return nil, errors.New("name: expected at most 64 letters, digits, - and _")
	}
	h.mu.Lock()
	old := h.compiled[def.Name]
	h.mu.Unlock()
	skill := &skills.Skill{
		Name: def.Name, Version: def.Version, Description: def.Description, Tags: def.Tags, Status: skills.Status(def.Status),
		Source: skills.SourceHosted, InputSchema: def.InputSchema, OutputSchema: def.OutputSchema,
	}
	if def.Category != nil {
		skill.Category = *def.Category
	}
	if skill.Status == "" {
		skill.Status = skills.Published
	}
	def.Status = string(skill.Status)
	if n := def.TimeoutSeconds; n != nil && *n > 0 {
		skill.Policy = policies.Policy{Timeout: time.Duration(min(*n, 1<<31)) * time.Second}
	}
	if old != nil && bytes.Equal(old.def.InputSchema, def.InputSchema) && bytes.Equal(old.def.OutputSchema, def.OutputSchema) {
		skill.Input, skill.Output, skill.ArgDefaults = old.skill.Input, old.skill.Output, old.skill.ArgDefaults
	} else if err := compileSchemas(skill); err != nil {
		return nil, err
	}
	one := &compiled{def, skill}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.compiled) >= mostKnown {
		clear(h.compiled)
	}
	h.compiled[def.Name] = one
	return one, nil
}

// compileSchemas reads the schemas of a manifest, and the defaults that the input schema gives arguments.
func compileSchemas(skill *skills.Skill) (err error) {
	if len(skill.InputSchema) > len("{}") {
		if skill.Input, err = skills.CompileSchema(skill.InputSchema, "arguments"); err != nil {
			return fmt.Errorf("input_schema: %w", err)
		}
		var in struct {
			Properties map[string]struct {
				Default any `json:"default"`
			} `json:"properties"`
		}
		if decode(skill.InputSchema, &in) == nil {
			skill.ArgDefaults = map[string]any{}
			for name, p := range in.Properties {
				if p.Default != nil {
					skill.ArgDefaults[name] = p.Default
				}
			}
		}
	}
	if len(skill.OutputSchema) > len("{}") {
		if skill.Output, err = skills.CompileSchema(skill.OutputSchema, "data"); err != nil {
			return fmt.Errorf("output_schema: %w", err)
		}
	}
	return nil
}

// hosted returns the skills of all plugins that a caller may use, without those whose names are taken: by the shelf, or by an
// earlier plugin.
func (s *Supervisor) hosted(ctx context.Context, who a2e.Caller, view skills.View) []*compiled {
	var all []*compiled
	taken := map[string]bool{}
	for _, h := range s.hosts {
		listed, err := s.offers(ctx, h, who)
		if err != nil {
			s.log.Error("a plugin's skills can't be listed", "error", err)
			continue
		}
		for _, one := range listed {
			name := one.skill.Name
			if !view.Allows(one.skill) {
				continue
			}
			if on := skills.Lookup(view, name); taken[name] || on != nil && on.Name == name {
				if h.once("taken " + name) {
					s.log.Warn("a plugin's skill is out of reach: another skill has its name, and comes first", "skill", name)
				}
				continue
			}
			taken[name] = true
			all = append(all, one)
		}
	}
	return all
}

// plugged finds a plugin's skill by its name, as it is written or in lower case; by what it means, with - for _, only where
// nothing else is meant. The error says that it can't be known, or that the skill is blocked.
func (s *Supervisor) plugged(ctx context.Context, who a2e.Caller, name string, exactly bool, slow func()) (*compiled, *host, *a2e.Error) {
	name = strings.TrimSpace(name)
	var near *compiled
	var nearHost *host
	var failed error
	for _, h := range s.hosts {
		slow()
		listed, err := s.offers(ctx, h, who)
		if err != nil {
			failed = err
			continue
		}
		for _, one := range listed {
			switch {
			case one.skill.Status != skills.Published && one.skill.Status != skills.Blocked:
			case one.skill.Name == name || one.skill.Name == strings.ToLower(name):
				return one, h, nil
			case near == nil && !exactly && folded(one.skill.Name) == folded(name):
				near, nearHost = one, h
			}
		}
	}
	if near == nil && failed != nil && !exactly {
		s.log.Error("a plugin's skills can't be listed", "error", failed)
		return nil, nil, unshelved()
	}
	return near, nearHost, nil
}

func folded(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }
