package curator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// catalogTool is the skill that lists the others.
const catalogTool = "skill-catalog"

const (
	aboutSkill   = "Reads skills: knowledge and instructions for tasks, on demand. read returns one file of a skill, SKILL.md unless another is named; files lists them all."
	aboutCatalog = "Lists the skills that can be used here, with what each is for."

	skillSchema = `{"type":"object","additionalProperties":false,"properties":{` +
		`"action":{"type":"string","enum":["read","files"],"default":"read"},` +
		`"name":{"type":"string","description":"of the skill"},` +
		`"filename":{"type":"string","description":"for read: a file of the skill as files lists it; left out: SKILL.md"}}}`
	catalogSchema = `{"type":"object","additionalProperties":false,"properties":{` +
		`"query":{"type":"string","maxLength":200,"description":"only skills whose name, description or tags have this text"}}}`
)

// Bounds of the listing that models get with a tool.
const (
	mostListedSkills = 200
	listedLength     = 80 // characters of a description
	mostListings     = 256
)

// HostedOptions is what [Hosted] works with.
type HostedOptions struct {
	Reader    catalog.Reader
	Custom    catalog.Custom
	Agents    *Agents
	Approvals *Approvals
}

// Hosted serves the catalog's own skills: skill, manage_skill and skill-catalog. It is safe for concurrent use.
type Hosted struct {
	opt HostedOptions

	mu       sync.Mutex
	version  uint64
	listings map[string]string // by caller
}

var _ a2e.Plugin = (*Hosted)(nil)

// NewHosted returns the catalog's own skills.
func NewHosted(opt HostedOptions) *Hosted {
	return &Hosted{opt: opt, listings: map[string]string{}}
}

// ListSkills implements [a2e.Plugin]. What an agent has switched off is not there.
func (h *Hosted) ListSkills(ctx context.Context, who a2e.Caller) ([]a2e.Definition, error) {
	defs := []a2e.Definition{definition(catalogTool, aboutCatalog, catalogSchema)}
	for _, tool := range []struct {
		name, about, schema string
	}{{catalog.SkillToolName, aboutSkill, skillSchema}, {manageTool, aboutManage, manageSchema}} {
		uses, err := h.opt.Agents.uses(ctx, who, tool.name)
		switch {
		case err != nil:
			return nil, err
		case !uses:
			continue
		}
		about := tool.about
		if tool.name == catalog.SkillToolName {
			listing, err := h.listing(ctx, who)
			if err != nil {
				return nil, err
			}
			about += listing
		}
		defs = append(defs, definition(tool.name, about, tool.schema))
	}
	return defs, nil
}

func definition(name, about, schema string) a2e.Definition {
	category := "catalog"
	return a2e.Definition{
		Name: name, Version: "1.0.0", Description: about, Triggers: []string{}, Status: a2e.StatusPublished, InputSchema: json.RawMessage(schema),
		OutputSchema: json.RawMessage("{}"), Arguments: []string{}, Source: "system", Category: &category, Tags: []string{"skills"},
		Metadata: map[string]any{ReadOnly: name != manageTool},
	}
}

// listing is what a model is told of the skills that its caller may read: name and the beginning of the description of each.
func (h *Hosted) listing(ctx context.Context, who a2e.Caller) (string, error) {
	version, key := h.opt.Reader.Version(), callerKey(who)
	h.mu.Lock()
	if h.version != version || len(h.listings) >= mostListings {
		h.version = version
		clear(h.listings)
	}
	known, ok := h.listings[key]
	h.mu.Unlock()
	if ok {
		return known, nil
	}
	all, err := h.readable(ctx, who)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if len(all) == 0 {
		b.WriteString("\nNo skill is available.")
	} else {
		b.WriteString("\nAvailable skills:")
	}
	for _, s := range all[:min(len(all), mostListedSkills)] {
		fmt.Fprintf(&b, "\n- %s: %s", s.Name, beginning(s.Description))
	}
	if more := len(all) - mostListedSkills; more > 0 {
		fmt.Fprintf(&b, "\n(and %d more: %s lists them)", more, catalogTool)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.version == version {
		h.listings[key] = b.String()
	}
	return b.String(), nil
}

// callerKey tells callers apart that may see different things.
func callerKey(who a2e.Caller) string {
	key := fmt.Sprintf("%q %q", who.Principal, who.Agent)
	for _, group := range slices.Sorted(maps.Keys(who.Groups)) {
		key += fmt.Sprintf(" %q", group)
	}
	return key
}

// beginning is a description on one line, cut to about so many characters.
func beginning(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	r := []rune(text)
	if len(r) <= listedLength {
		return text
	}
	return strings.TrimRight(string(r[:listedLength-1]), " ") + "…"
}

// readable lists the skills that a caller sees and its agent may use, each name once.
func (h *Hosted) readable(ctx context.Context, who a2e.Caller) ([]catalog.Summary, error) {
	all, err := h.opt.Reader.Skills(ctx, who, 0)
	if err != nil {
		return nil, err
	}
	return slices.CompactFunc(all, func(a, b catalog.Summary) bool { return a.Name == b.Name }), nil
}

// ExecuteSkill implements [a2e.Plugin].
func (h *Hosted) ExecuteSkill(ctx context.Context, who a2e.Caller, ex a2e.Execution) (*a2e.Result, error) {
	switch ex.Name {
	case catalog.SkillToolName:
		return h.read(ctx, who, ex.Arguments)
	case manageTool:
		return h.manage(ctx, who, ex)
	case catalogTool:
		return h.list(ctx, who, ex.Arguments)
	}
	return nil, a2e.Errorf(a2e.UnknownSkill, "unknown skill %q", shown(ex.Name))
}

// mostFound is how many skills one answer of skill-catalog lists.
const mostFound = 1000

// list runs skill-catalog.
func (h *Hosted) list(ctx context.Context, who a2e.Caller, args map[string]any) (*a2e.Result, error) {
	all, err := h.opt.Reader.Callable(ctx, who)
	if err != nil {
		return nil, err
	}
	query, _ := args["query"].(string)
	query = strings.ToLower(strings.TrimSpace(query))
	found, left := []any{}, 0
	for _, e := range all {
		d := e.Definition
		text := strings.ToLower(d.Name + "\n" + d.Description + "\n" + strings.Join(d.Tags, "\n"))
		switch {
		case d.Name == catalogTool || query != "" && !strings.Contains(text, query):
		case len(found) == mostFound:
			left++
		default:
			about, _, _ := strings.Cut(d.Description, "\n")
			found = append(found, map[string]any{"name": d.Name, "description": about, "tags": slices.Clone(d.Tags), "category": d.Category})
		}
	}
	data := map[string]any{"skills": found}
	if left > 0 {
		data["more"] = left
	}
	return &a2e.Result{Success: true, Data: data, Summary: fmt.Sprintf("%d skills", len(found))}, nil
}

// answered is a catalog's error as a call's answer.
func answered(err error) error {
	var e *catalog.Error
	if !errors.As(err, &e) {
		return err
	}
	code := a2e.SkillError
	switch e.Code {
	case catalog.Forbidden:
		code = a2e.Unauthorized
	case catalog.ValidationError, catalog.SkillInvalid:
		code = a2e.SchemaViolation
	}
	return a2e.Errorf(code, "%s", e.Message).With("skill_code", string(e.Code)).Permanent()
}
