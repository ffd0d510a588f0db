package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/skills"
)

// Bounds on what is kept of a request.
const (
	mostArgs   = 64 << 10      // bytes of arguments as JSON
	mostWeight = 40 * mostArgs // decoded: what weighs more is longer for sure
	shortArgs  = 1 << 10       // what is kept here, too, after the call's end: the journal may not have it yet
	mostFiles  = 10_000        // input files that are counted
)

// keepRequest keeps what a call was asked, in the background: once, as soon as it is known which skill it is for.
func (s *Supervisor) keepRequest(c *call, inputs fs.FS) {
	if c.asking {
		return
	}
	c.asking = true
	if !s.cfg.Keeps {
		return
	}
	req, skill, override, files := c.req, c.ran.skill, c.override != nil, countFiles(inputs)
	s.tidying.Go(func() {
		r := requested(req, skill, override, files)
		c.mu.Lock()
		if c.answer == nil || len(r.Args) <= shortArgs {
			c.asked = r
		}
		c.mu.Unlock()
		if !c.taking.wait().in() {
			return
		}
		if raw, err := json.Marshal(r); err == nil {
			s.journal.Ask(c.id, raw)
		}
	})
}

// requested is what is kept of a request. What may be secret is not.
func requested(req *a2e.CallRequest, skill *skills.Skill, override bool, files int) *control.Request {
	r := &control.Request{Files: files}
	if req.Timeout != nil && *req.Timeout > 0 {
		r.Timeout = time.Duration(min(*req.Timeout, 1<<31)) * time.Second
	}
	var missing []string
	args, why := keptArgs(req.Arguments, skill)
	if r.Args = args; why != "" {
		missing = append(missing, why)
	}
	if files > 0 {
		missing = append(missing, fmt.Sprintf("of its input files, %d, none is kept", files))
	}
	if override {
		missing = append(missing, "its llm_override is not kept")
	}
	r.Missing = strings.Join(missing, "; ")
	return r
}

// keptArgs returns the arguments that are kept, and why others are not.
func keptArgs(args map[string]any, skill *skills.Skill) (raw json.RawMessage, missing string) {
	if len(args) == 0 {
		return json.RawMessage("{}"), ""
	}
	if skill == nil {
		return nil, "its arguments are not kept: nobody knows which are secret, since no skill was found for them"
	}
	names, anywhere := secretNames(skill.InputSchema)
	if anywhere {
		return nil, "its arguments are not kept: the skill's input_schema has secrets where no property names them"
	}
	if weigh(args) > mostWeight {
		return nil, tooLarge
	}
	kept, cut := without(args, names)
	raw, err := json.Marshal(kept)
	switch {
	case err != nil:
		return nil, "its arguments have no JSON form"
	case len(raw) > mostArgs:
		return nil, tooLarge
	case len(cut) > 0:
		slices.Sort(cut)
		return raw, "secret arguments are not kept: " + strings.Join(slices.Compact(cut), ", ")
	}
	return raw, ""
}

var tooLarge = fmt.Sprintf("its arguments are not kept: they are longer than %d KiB", mostArgs>>10)

// without returns arguments without those of certain names, at any depth, and which names there were.
func without(args map[string]any, names map[string]bool) (kept map[string]any, cut []string) {
	if len(names) == 0 {
		return args, nil
	}
	var clean func(v any) any
	clean = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			own := make(map[string]any, len(v))
			for name, one := range v {
				if names[name] {
					cut = append(cut, name)
					continue
				}
				own[name] = clean(one)
			}
			return own
		case []any:
			own := make([]any, len(v))
			for i, one := range v {
				own[i] = clean(one)
			}
			return own
		}
		return v
	}
	kept, _ = clean(args).(map[string]any)
	return kept, cut
}

// secretNames returns the names of the properties that a schema calls secret, by writeOnly or by format: password. anywhere: it
// calls something secret that is not directly a property.
func secretNames(schema json.RawMessage) (names map[string]bool, anywhere bool) {
	if len(schema) == 0 || !strings.Contains(string(schema), "writeOnly") && !strings.Contains(string(schema), "password") && !strings.Contains(string(schema), `\u`) {
		return nil, false
	}
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return nil, true
	}
	names = map[string]bool{}
	refers := false // to what may be a secret property
	var look func(v any, property string)
	look = func(v any, property string) {
		switch v := v.(type) {
		case map[string]any:
			if v["writeOnly"] == true || v["format"] == "password" {
				names[property] = true
			}
			refers = refers || refersAnywhere(v)
			for key, one := range v {
				if all, ok := one.(map[string]any); ok && namesSchemas[key] {
					for name, one := range all {
						if key != "properties" {
							name = nowhere
						}
						look(one, name)
					}
					continue
				}
				look(one, nowhere)
			}
		case []any:
			for _, one := range v {
				look(one, nowhere)
			}
		}
	}
	look(root, nowhere)
	return names, names[nowhere] || refers && len(names) > 0
}

// namesSchemas are the keywords below which schemas have names that are no keywords.
var namesSchemas = map[string]bool{"properties": true, "patternProperties": true, "dependentSchemas": true, "$defs": true, "definitions": true}

// refersAnywhere reports whether a schema refers to another one that may be a property's. A definition that is secret counts wherever
// it is used.
func refersAnywhere(schema map[string]any) bool {
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		ref, ok := schema[key]
		if text, _ := ref.(string); !ok || text == "#" {
			continue
		} else if name := strings.TrimPrefix(strings.TrimPrefix(text, "#/$defs/"), "#/definitions/"); name == text || strings.ContainsAny(name, "/%") {
			return true
		}
	}
	return false
}

// nowhere is the name of what is no property: none has it.
const nowhere = "\xff"

// countFiles counts input files. Whoever cannot read them is told by the call.
func countFiles(inputs fs.FS) (n int) {
	if inputs == nil {
		return 0
	}
	_ = fs.WalkDir(inputs, ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || n == mostFiles {
			return fs.SkipAll
		}
		if d.Type().IsRegular() {
			n++
		}
		return nil
	})
	return n
}

// Request implements [control.Book].
func (s *Supervisor) Request(ctx context.Context, whose control.Whose, id string) (*control.Request, error) {
	c, r, err := s.look(ctx, id, whose)
	if err != nil {
		return nil, err
	}
	if c != nil {
		r.ID = c.id
		c.mu.Lock()
		asked := c.asked
		c.mu.Unlock()
		if asked != nil {
			return asked, nil
		}
	}
	raw, err := s.journal.Request(ctx, r.ID)
	switch {
	case err != nil:
		return nil, err
	case raw == nil && !s.cfg.Keeps:
		return &control.Request{Missing: "what calls are asked is not kept here: store.keep.requests says so"}, nil
	case raw == nil:
		return &control.Request{Missing: "it is not kept any more"}, nil
	}
	var kept control.Request
	return &kept, json.Unmarshal(raw, &kept)
}
