package mcphost

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a catalogue in memory. A skill belongs to everybody, or to one principal.
type shelf struct {
	mu      sync.Mutex
	skills  []*fakeSkill
	version uint64
	err     error
	denied  map[string]bool // by agent and slug: not on the agent's allowlist
}

type fakeSkill struct {
	entry catalog.Entry
	owner string // "": everybody's
	files fstest.MapFS
}

// put adds a skill, or replaces the one of its name.
func (s *shelf) put(f *fakeSkill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skills = slices.DeleteFunc(s.skills, func(o *fakeSkill) bool { return o.entry.Definition.Name == f.entry.Definition.Name })
	s.skills = append(s.skills, f)
	slices.SortFunc(s.skills, func(a, b *fakeSkill) int { return strings.Compare(a.entry.Definition.Name, b.entry.Definition.Name) })
	s.version++
}

func (s *shelf) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skills = slices.DeleteFunc(s.skills, func(o *fakeSkill) bool { return o.entry.Definition.Name == name })
	s.version++
}

// skill makes a skill of everybody's with a SKILL.md, and of other files, each a path and its content.
func skill(name string, files ...string) *fakeSkill {
	f := &fakeSkill{files: fstest.MapFS{skillFile: {Data: []byte("---\nname: " + name + "\ndescription: Does " + name + ".\n---\nHow to " + name + ".\n")}}}
	f.entry.Definition = a2e.Definition{
		Name: name, Version: "1.0.0", Description: "Does " + name + ".", InputSchema: json.RawMessage(`{}`), OutputSchema: json.RawMessage(`{}`),
	}
	f.entry.ReadOnly = true
	for i := 0; i+1 < len(files); i += 2 {
		f.files[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return f
}

// of makes it a principal's own.
func (f *fakeSkill) of(principal string) *fakeSkill { f.owner = principal; return f }

func (f *fakeSkill) visible(who a2e.Caller) bool { return f.owner == "" || f.owner == who.Principal }

func (f *fakeSkill) detail() *catalog.Detail {
	d := &catalog.Detail{
		Summary:     catalog.Summary{Name: f.entry.Definition.Name, Slug: f.entry.Definition.Name, Description: f.entry.Definition.Description},
		Frontmatter: map[string]any{"name": f.entry.Definition.Name, "description": f.entry.Definition.Description}, BundleFS: f.files,
	}
	sum := sha256.New()
	for _, name := range append([]string{skillFile}, f.others()...) {
		d.Files = append(d.Files, catalog.File{Path: name, Bytes: int64(len(f.files[name].Data))})
		fmt.Fprintf(sum, "%s %q\n", name, f.files[name].Data)
	}
	d.Digest = hex.EncodeToString(sum.Sum(nil))
	d.Summary.Digest, d.Summary.Files = d.Digest, len(d.Files)
	return d
}

func (f *fakeSkill) others() (names []string) {
	for name := range f.files {
		if name != skillFile {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s *shelf) seen(who a2e.Caller) ([]*fakeSkill, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*fakeSkill
	for _, f := range s.skills {
		if f.visible(who) {
			list = append(list, f)
		}
	}
	return list, s.err
}

func (s *shelf) find(who a2e.Caller, slug string) *fakeSkill {
	list, _ := s.seen(who)
	for _, f := range list {
		if f.entry.Definition.Name == slug {
			return f
		}
	}
	return nil
}

func (s *shelf) Skills(_ context.Context, who a2e.Caller, _ int64) ([]catalog.Summary, error) {
	list, err := s.seen(who)
	var all []catalog.Summary
	for _, f := range list {
		if !f.entry.Hosted {
			all = append(all, f.detail().Summary)
		}
	}
	return all, err
}

func (s *shelf) Skill(_ context.Context, who a2e.Caller, slug string, _ int64) (*catalog.Detail, error) {
	if f := s.find(who, slug); f != nil && !f.entry.Hosted {
		return f.detail(), nil
	}
	return nil, &catalog.Error{Code: catalog.SkillNotFound}
}

func (s *shelf) File(_ context.Context, who a2e.Caller, slug, path string, _ int64) ([]byte, error) {
	if f := s.find(who, slug); f != nil && !f.entry.Hosted {
		if b, err := fs.ReadFile(f.files, path); err == nil && len(b) <= catalog.MaxRead {
			return b, nil
		}
	}
	return nil, &catalog.Error{Code: catalog.SkillFileNotFound}
}

func (s *shelf) allows(agent, slug string) bool { return !s.denied[agent+" "+slug] }

func (s *shelf) Callable(_ context.Context, who a2e.Caller) ([]catalog.Entry, error) {
	list, err := s.seen(who)
	var all []catalog.Entry
	for _, f := range list {
		if s.allows(who.Agent, f.entry.Definition.Name) {
			all = append(all, f.entry)
		}
	}
	return all, err
}

func (s *shelf) Version() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

func (s *shelf) Principals(context.Context, a2e.Caller) ([]catalog.Principal, error) { return nil, nil }

// executor answers calls with a script, and keeps their events as a journal does.
type executor struct {
	shelf *shelf
	run   func(ctx context.Context, req *a2e.CallRequest, say func(kind string, data map[string]any)) *a2e.CallResponse

	mu      sync.Mutex
	saw     []a2e.Caller
	reqs    []*a2e.CallRequest
	journal map[string]*kept
}

// kept is a call in the journal.
type kept struct {
	principal string
	events    []a2e.Event
}

func (e *executor) Discover(context.Context, a2e.Caller, *a2e.DiscoverRequest) ([]a2e.Definition, error) {
	return nil, nil
}

func (e *executor) Call(ctx context.Context, who a2e.Caller, req *a2e.CallRequest, w a2e.EventWriter) *a2e.CallResponse {
	e.mu.Lock()
	e.saw, e.reqs = append(e.saw, who), append(e.reqs, req)
	id := fmt.Sprintf("call%d", len(e.reqs))
	k := &kept{principal: who.Principal}
	if e.journal == nil {
		e.journal = map[string]*kept{}
	}
	e.journal[id] = k
	e.mu.Unlock()
	if e.shelf.find(who, req.Name) == nil {
		return a2e.Failure(req.ID, req.Name, a2e.Errorf(a2e.UnknownSkill, "no skill is named %q", req.Name), 0)
	}
	if !e.shelf.allows(who.Agent, req.Name) {
		return a2e.Failure(req.ID, req.Name, a2e.Errorf(a2e.Unauthorized, "agent %s may not use %s", who.Agent, req.Name), 0)
	}
	resp := e.run(ctx, req, func(kind string, data map[string]any) {
		e.mu.Lock()
		ev := a2e.Event{Kind: kind, Data: data, Seq: len(k.events), ReqID: req.ID}
		k.events = append(k.events, ev)
		e.mu.Unlock()
		_ = w.WriteEvent(ctx, &ev)
	})
	resp.ID, resp.ReqID, resp.Name = id, req.ID, req.Name
	return resp
}

func (e *executor) last() (a2e.Caller, *a2e.CallRequest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.saw[len(e.saw)-1], e.reqs[len(e.reqs)-1]
}

func (e *executor) Of(principal string) control.Control {
	return journal{executor: e, principal: principal}
}

func (e *executor) List(context.Context, int) ([]control.Call, error) { return nil, nil }
func (e *executor) Show(context.Context, string) (control.Call, *a2e.CallResponse, error) {
	return control.Call{}, nil, control.ErrNotFound
}
func (e *executor) Cancel(context.Context, string) error { return control.ErrNotFound }
func (e *executor) Events(context.Context, string, int) ([]a2e.Event, error) {
	return nil, fmt.Errorf("the door read everybody's events")
}

type journal struct {
	*executor
	principal string
}

// Events gives few events at once, as a journal does.
func (j journal) Events(_ context.Context, id string, from int) ([]a2e.Event, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	k := j.journal[id]
	if k == nil || k.principal != j.principal {
		return nil, control.ErrNotFound
	}
	rest := k.events[min(from, len(k.events)):]
	return slices.Clone(rest[:min(2, len(rest))]), nil
}

func done(data any) *a2e.CallResponse {
	return &a2e.CallResponse{Data: &a2e.Result{Success: true, Data: data, DurationMS: 7}}
}

func failed(e *a2e.Error) *a2e.CallResponse { return a2e.Failure("", "", e, 0) }

// chunk is an artifact event's data.
func chunk(name, mime, content string, final bool) map[string]any {
	return map[string]any{"name": name, "mime": mime, "chunk": base64.StdEncoding.EncodeToString([]byte(content)), "final": final}
}

// rig is a host with all that it needs.
type rig struct {
	*Host
	shelf *shelf
	exec  *executor
}

func newRig(t *testing.T, skills ...*fakeSkill) *rig {
	t.Helper()
	r := &rig{shelf: &shelf{denied: map[string]bool{}}}
	for _, f := range skills {
		r.shelf.put(f)
	}
	r.exec = &executor{shelf: r.shelf, run: func(context.Context, *a2e.CallRequest, func(string, map[string]any)) *a2e.CallResponse {
		return done(nil)
	}}
	var err error
	r.Host, err = New(Options{Handler: r.exec, Catalog: r.shelf, Control: r.exec, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}
