package mcphost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/catalog"
)

// skillFile is the file that makes a folder a skill.
const skillFile = "SKILL.md"

// What the extension for skills allows one skill to have: hosts need not take more.
const (
	mostFiles = 512
	mostBytes = 16 << 20
)

// manifest is a skill with the digests of its files.
type manifest struct {
	skill *catalog.Detail
	files []digested
}

// digested is a file of a skill: what is read of it has this digest.
type digested struct {
	path   string
	digest string // "sha256:" and lower-case hex
	size   int64
}

// slugs returns the names of the skills that the caller may both read and call, sorted, and what they are.
func (p *peer) slugs(ctx context.Context) ([]string, mark, error) {
	entries, err := p.host.opt.Catalog.Callable(ctx, p.who)
	if err != nil {
		return nil, mark{}, err
	}
	callable := make(map[string]bool, len(entries))
	for _, e := range entries {
		callable[e.Definition.Name] = true
	}
	readable, err := p.host.opt.Catalog.Skills(ctx, p.who, 0)
	if err != nil {
		return nil, mark{}, err
	}
	var slugs []string
	var all []any
	for _, s := range readable {
		if callable[s.Slug] && toolName.MatchString(s.Slug) {
			slugs, all = append(slugs, s.Slug), append(all, s.Slug, s.Digest, s.Files)
		}
	}
	slices.Sort(slugs)
	m, err := markOf(all)
	return slices.Compact(slugs), m, err
}

// behind returns the slugs that are left behind one, or from it on.
func behind(slugs []string, slug string, from bool) []string {
	i, found := slices.BinarySearch(slugs, slug)
	if found && !from {
		i++
	}
	return slugs[i:]
}

// manifest describes a skill. One that is gone by now, or that has more than may be served, has no files.
func (p *peer) manifest(ctx context.Context, slug string) (manifest, error) {
	d, err := p.host.opt.Catalog.Skill(ctx, p.who, slug, 0)
	if isMissing(err) {
		return manifest{}, nil
	}
	if err != nil {
		return manifest{}, err
	}
	files, err := p.digests(ctx, d)
	return manifest{skill: d, files: files}, err
}

// rest returns the files behind one of them, if the skill is the one that a page broke off in.
func (m manifest) rest(broken bool, file string) []digested {
	if !broken {
		return m.files
	}
	i := slices.IndexFunc(m.files, func(f digested) bool { return f.path == file })
	return m.files[i+1:]
}

// resource is a file in a list.
func (m manifest) resource(f digested, main bool) *mcp.Resource {
	r := &mcp.Resource{
		URI: skillURI(m.skill.Slug, f.path), Name: m.skill.Slug + "/" + f.path, MIMEType: mimeOf(f.path), Size: f.size,
		Meta: mcp.Meta{"io.modelcontextprotocol.skills/digest": f.digest},
	}
	if main {
		r.Name, r.Title, r.Description = m.skill.Slug, title(m.skill.Slug), m.skill.Description
	}
	return r
}

// digests returns the digests of all files of a skill, SKILL.md first. One that has more than may be served gets none.
func (p *peer) digests(ctx context.Context, d *catalog.Detail) ([]digested, error) {
	total := int64(0)
	for _, f := range d.Files {
		total += f.Bytes
	}
	if d.BundleFS == nil || len(d.Files) > mostFiles || total > mostBytes {
		return nil, nil
	}
	if files, ok := p.host.digests.known(d); ok {
		return files, nil
	}
	files, whole := make([]digested, 0, len(d.Files)), true
	for _, f := range d.Files {
		b, err := fs.ReadFile(d.BundleFS, f.Path)
		if err != nil { // a custom skill's file that no cell gets
			whole = false
			b, err = p.host.opt.Catalog.File(ctx, p.who, d.Slug, f.Path, 0)
		}
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(b)
		files = append(files, digested{path: f.Path, digest: "sha256:" + hex.EncodeToString(sum[:]), size: int64(len(b))})
	}
	if whole {
		p.host.digests.learn(d, files)
	}
	return files, nil
}

// digests remembers what was computed, by the digest of the bundle. It knows nothing of files that are not in one.
type digests struct {
	mu    sync.Mutex
	of    map[string][]digested
	files int // in of
}

// mostDigests is how many files' digests are remembered.
const mostDigests = 50_000

func newDigests() *digests { return &digests{of: map[string][]digested{}} }

// known returns the digests of the very files that a skill lists.
func (c *digests) known(d *catalog.Detail) ([]digested, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	files, ok := c.of[d.Digest]
	same := slices.EqualFunc(files, d.Files, func(a digested, b catalog.File) bool { return a.path == b.Path && a.size == b.Bytes })
	return files, ok && same && d.Digest != ""
}

func (c *digests) learn(d *catalog.Detail, files []digested) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files += len(files); c.files > mostDigests {
		c.of, c.files = map[string][]digested{}, len(files)
	}
	c.of[d.Digest] = files
}
