package mcphost

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// skillsPage is how many skills one answer lists.
const skillsPage = 100

// listSkillsParams, skillEntry and the others are the words of the extension for skills.
type listSkillsParams struct {
	mcp.ParamsBase
	Cursor string `json:"cursor,omitempty"`
}

type listSkillsResult struct {
	mcp.ResultBase
	mcp.Cacheable
	Kind       string       `json:"resultType"`
	Skills     []skillEntry `json:"skills"`
	NextCursor string       `json:"nextCursor,omitempty"`
}

type getSkillParams struct {
	mcp.ParamsBase
	URI string `json:"uri"`
}

type getSkillResult struct {
	mcp.ResultBase
	mcp.Cacheable
	Kind  string     `json:"resultType"`
	Skill skillEntry `json:"skill"`
}

// skillEntry is a skill with all its files.
type skillEntry struct {
	URI         string          `json:"uri"`
	Frontmatter map[string]any  `json:"frontmatter"`
	Resources   []skillResource `json:"resources"`
}

type skillResource struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// complete is what the extension wants each result to be.
const complete = "complete"

func (p *peer) skillsList(ctx context.Context, _ *mcp.ServerSession, params *listSkillsParams) (*listSkillsResult, error) {
	if params == nil { // the SDK's word for a request that has none
		params = &listSkillsParams{}
	}
	after, err := readCursor(params.Cursor)
	if err != nil {
		return nil, err
	}
	slugs, m, err := p.slugs(ctx)
	if err != nil {
		return nil, p.failed(ctx, "list skills", err)
	}
	p.saw(listResources, m)
	res := &listSkillsResult{Cacheable: cacheable, Kind: complete, Skills: []skillEntry{}}
	page := behind(slugs, after, false)
	if len(page) > skillsPage {
		page = page[:skillsPage]
		res.NextCursor = cursor(page[skillsPage-1])
	}
	for _, s := range page {
		m, err := p.manifest(ctx, s)
		if err != nil {
			return nil, p.failed(ctx, "list skills", err)
		}
		if len(m.files) > 0 {
			res.Skills = append(res.Skills, m.entry())
		}
	}
	return res, nil
}

func (p *peer) skillsGet(ctx context.Context, _ *mcp.ServerSession, params *getSkillParams) (*getSkillResult, error) {
	if params == nil {
		return nil, invalid("uri: expected that of a skill's SKILL.md")
	}
	slug, file, ok := parseSkill(params.URI)
	if !ok || len(params.URI) > maxURI || file != skillFile || !p.lists(ctx, slug) {
		return nil, notFound(params.URI, statelessRevision)
	}
	m, err := p.manifest(ctx, slug)
	switch {
	case err != nil:
		return nil, p.failed(ctx, "get skill", err)
	case len(m.files) == 0:
		return nil, notFound(params.URI, statelessRevision)
	}
	return &getSkillResult{Cacheable: cacheable, Kind: complete, Skill: m.entry()}, nil
}

func (m manifest) entry() skillEntry {
	e := skillEntry{URI: skillURI(m.skill.Slug, skillFile), Frontmatter: m.skill.Frontmatter}
	for _, f := range m.files {
		e.Resources = append(e.Resources, skillResource{URI: skillURI(m.skill.Slug, f.path), Digest: f.digest, Size: f.size})
	}
	return e
}
