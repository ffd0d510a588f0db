package a2ahost

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

const (
	mediaJSON = "application/json"
	mediaText = "text/plain"
)

// catalogue is the skill that lists the others. It is always there: a card has at least one skill.
const catalogue = "skill-catalog"

// Bounds of what is remembered of callers' skills.
const (
	mostViews  = 64     // callers
	mostInView = 20_000 // skills, of all of them
)

// skill is what this door knows of a skill.
type skill struct {
	catalog.Entry
	id      string
	in, out []string // media types
	input   shape
	output  shape
	local   bool // answered by this door itself
}

// shelf is the skills that one caller may use, by name.
type shelf struct {
	list []*skill
	byID map[string]*skill

	barred func(name string) *skill // one that the caller can see and not call, or nil; nil: nobody looks
}

// views remembers shelves as long as the catalogue does not change.
type views struct {
	mu      sync.Mutex
	version uint64
	byWhom  map[string]*shelf
	skills  int // in all of them
}

// shelf returns what a caller may use.
func (h *Host) shelf(ctx context.Context, who a2e.Caller) (*shelf, error) {
	version, whom := h.skills.Version(), whose(who)
	h.views.mu.Lock()
	known := h.views.byWhom[whom]
	if h.views.version != version {
		known = nil
	}
	h.views.mu.Unlock()
	if known != nil {
		return known, nil
	}
	entries, err := h.skills.Callable(ctx, who)
	if err != nil {
		return nil, err
	}
	s := newShelf(entries)
	h.views.mu.Lock()
	defer h.views.mu.Unlock()
	if v := &h.views; v.byWhom == nil || v.version != version || len(v.byWhom) >= mostViews || v.skills > mostInView {
		v.version, v.byWhom, v.skills = version, map[string]*shelf{}, 0
	}
	h.views.byWhom[whom] = s
	h.views.skills += len(s.list)
	return s, nil
}

// named is the shelf for one message, which may name skills beyond it: the caller's principal can see them, and its agent may
// not use them, or they are blocked. They are called all the same, since why not is the supervisor's to say (protocols decision
// 30), as it does behind the other doors.
func (h *Host) named(ctx context.Context, who a2e.Caller, s *shelf) *shelf {
	own := *s
	who.Agent = "" // whose allowlist hides what it does not have
	own.barred = func(name string) *skill {
		d, err := h.skills.Skill(ctx, who, catalog.Fold(name), 0)
		if err != nil || d.Status == a2e.StatusCreated || d.Status == a2e.StatusArchived {
			return nil
		}
		return newSkill(catalog.Entry{Definition: a2e.Definition{Name: d.Name, InputSchema: json.RawMessage("{}")}})
	}
	return &own
}

// whose tells callers apart who may see different skills.
func whose(who a2e.Caller) string {
	b, _ := json.Marshal([]any{who.Principal, who.Agent, who.Groups, who.Admin}) // maps are written in order
	return string(b)
}

func newShelf(entries []catalog.Entry) *shelf {
	s := &shelf{byID: map[string]*skill{}}
	for _, e := range entries {
		if s.byID[e.Definition.Name] == nil && e.Definition.Status == a2e.StatusPublished {
			s.add(newSkill(e))
		}
	}
	if s.byID[catalogue] == nil {
		own := newSkill(ownCatalogue())
		own.local = true
		s.add(own)
	}
	slices.SortFunc(s.list, func(a, b *skill) int { return strings.Compare(a.id, b.id) })
	return s
}

func (s *shelf) add(one *skill) {
	s.list = append(s.list, one)
	s.byID[one.id] = one
}

// find returns the skill of that name, however it is spelt (protocols decision 19), or nil.
func (s *shelf) find(name string) *skill {
	if one := s.byID[name]; one != nil {
		return one
	}
	name = strings.ToLower(strings.TrimSpace(name))
	if one := s.byID[name]; one != nil {
		return one
	}
	return s.byID[strings.ReplaceAll(name, "_", "-")]
}

// tools are the skills of the host that serve skills, and that nobody means who names none.
var tools = []string{catalogue, "skill", "manage_skill"}

// only returns the one skill that there is, or nil.
func (s *shelf) only() *skill {
	var only *skill
	for _, one := range s.list {
		if slices.Contains(tools, one.id) {
			continue
		}
		if only != nil {
			return nil
		}
		only = one
	}
	return only
}

// triggered returns the skill whose trigger is in a text; of several triggers the longest one counts. Nil where none is, or
// where two skills claim the same.
func (s *shelf) triggered(text string) *skill {
	text = strings.ToLower(text)
	var best *skill
	longest := 0
	for _, one := range s.list {
		for _, t := range one.Definition.Triggers {
			t = strings.ToLower(strings.TrimSpace(t))
			if t == "" || len(t) < longest || !strings.Contains(text, t) {
				continue
			}
			switch {
			case len(t) > longest:
				best, longest = one, len(t)
			case best != one:
				best = nil
			}
		}
	}
	return best
}

// newSkill works out a skill's media types: those that it declares, or by its schemas (protocols decision 27).
func newSkill(e catalog.Entry) *skill {
	s := &skill{Entry: e, id: e.Definition.Name, input: shapeOf(e.Definition.InputSchema), output: shapeOf(e.Definition.OutputSchema)}
	s.in, s.out = modes(e.InputModes, s.input), modes(e.OutputModes, s.output)
	return s
}

func modes(declared []string, by shape) []string {
	var out []string
	for _, m := range declared {
		if m = strings.ToLower(strings.TrimSpace(m)); m != "" && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	switch {
	case len(out) > 0:
		return out
	case by.open || by.text != "":
		return []string{mediaJSON, mediaText}
	}
	return []string{mediaJSON}
}

// shape is what is read of a schema.
type shape struct {
	open  bool              // anything goes
	names []string          // of the properties, sorted
	text  string            // the one property that takes plain text; "": none
	media map[string]string // properties that take a text of a media type
	files map[string]string // properties that take a file: its content in base64, or its address
}

// The forms in which a property takes a file.
const (
	fileBytes   = "raw"
	fileAddress = "url"
)

// property is what is read of a property's schema.
type property struct {
	Type     any    `json:"type"`
	Format   string `json:"format"`
	Encoding string `json:"contentEncoding"`
	Media    string `json:"contentMediaType"`
}

func shapeOf(schema json.RawMessage) shape {
	var s struct {
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		More       any                        `json:"additionalProperties"`
	}
	if json.Unmarshal(schema, &s) != nil || s.Type == nil && len(s.Properties) == 0 {
		return shape{open: true}
	}
	if s.Type == "string" {
		return shape{text: "."} // of a result that is a text itself
	}
	out := shape{open: len(s.Properties) == 0 && s.Type == "object" && s.More != false, names: slices.Sorted(maps.Keys(s.Properties))}
	var texts, needed []string
	for _, name := range out.names {
		var p property
		_ = json.Unmarshal(s.Properties[name], &p) // of another form: no text
		if !out.takes(name, p) {
			continue
		}
		texts = append(texts, name)
		if slices.Contains(s.Required, name) {
			needed = append(needed, name)
		}
	}
	switch {
	case len(texts) == 1:
		out.text = texts[0]
	case len(needed) == 1:
		out.text = needed[0]
	}
	return out
}

// takes notes what a property takes beside JSON, and reports whether that is plain text.
func (s *shape) takes(name string, p property) bool {
	switch {
	case p.Type != "string":
		return false
	case p.Encoding == "base64" || p.Format == "byte":
		s.file(name, fileBytes)
		return false
	case p.Format == "uri":
		s.file(name, fileAddress)
		return false
	case p.Media != "":
		s.medium(strings.ToLower(p.Media), name)
	}
	s.medium("text/"+strings.ToLower(name), name) // csv takes text/csv
	return true
}

func (s *shape) medium(media, name string) {
	if s.media == nil {
		s.media = map[string]string{}
	}
	if s.media[media] == "" {
		s.media[media] = name
	}
}

func (s *shape) file(name, form string) {
	if s.files == nil {
		s.files = map[string]string{}
	}
	s.files[name] = form
}

// matches reports whether a media type is one of a list, in which the ones may be "*/*" or "text/*".
func matches(media string, list []string) bool {
	media = strings.ToLower(media)
	major, _, _ := strings.Cut(media, "/")
	return slices.ContainsFunc(list, func(m string) bool {
		m, _, _ = strings.Cut(strings.ToLower(m), ";")
		m = strings.TrimSpace(m)
		return m == media || m == "*/*" || m == "*" || m == major+"/*"
	})
}

// ownCatalogue stands in for the skill that lists the others, where the host has none.
func ownCatalogue() catalog.Entry {
	return catalog.Entry{
		Definition: a2e.Definition{
			Name: catalogue, Version: "1.0.0", Status: a2e.StatusPublished, Source: "system",
			Description: "Lists the skills that can be called here, with what they take.", Tags: []string{"skills"},
			InputSchema:  json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"skills":{"type":"array"}},"required":["skills"]}`),
		},
		ReadOnly: true, Hosted: true, Shared: true,
	}
}

// answer is what the own catalogue says.
func (s *shelf) answer() map[string]any {
	rows := []map[string]any{}
	for _, one := range s.list {
		row := map[string]any{"name": one.id, "description": one.Definition.Description}
		if len(one.Definition.InputSchema) > 0 {
			row["input_schema"] = one.Definition.InputSchema
		}
		rows = append(rows, row)
	}
	return map[string]any{"skills": rows}
}

const whichSkill = "Which skill? Send its name as the text, or as metadata.skill_id, to this task."
