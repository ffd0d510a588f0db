package mcphost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

func uris(t *testing.T, s *mcp.ClientSession) (list []string) {
	t.Helper()
	for r, err := range s.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r.URI)
	}
	return list
}

func read(s *mcp.ClientSession, uri string) (*mcp.ResourceContents, error) {
	res, err := s.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, err
	}
	return res.Contents[0], nil
}

func sum(s string) string {
	b := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(b[:])
}

// notFoundCode is what a client is told of what is not there, in the revision of a test.
func notFoundCode(t *testing.T) int64 {
	if strings.Contains(t.Name(), statelessRevision) {
		return -32602
	}
	return -32002
}

// The files of skills are resources, to the byte, for who may see and call the skill.
func TestSkillsAreResources(t *testing.T) {
	doors(t, func(t *testing.T, open func(*rig, auth.Identity, *mcp.ClientOptions) *mcp.ClientSession) {
		r := newRig(t, skill("a", "scripts/main.py", "print('é')\r\n", "empty.txt", "", "pic.png", "\x89PNG\x00\xff", "odd name #1?.md", "x"),
			skill("hers").of("alice"), skill("his").of("bob"), skill("off"))
		r.shelf.denied["bot off"] = true
		hosted := skill("skill-catalog")
		hosted.entry.Hosted = true
		r.shelf.put(hosted)
		s := open(r, auth.Identity{Principal: "alice", Agent: "bot"}, nil)
		want := []string{
			"skill://a/SKILL.md", "skill://a/empty.txt", "skill://a/odd%20name%20%231%3F.md", "skill://a/pic.png", "skill://a/scripts/main.py",
			"skill://hers/SKILL.md",
		}
		if diff := cmp.Diff(want, uris(t, s)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for uri, c := range map[string]struct{ mime, content string }{
			want[0]: {"text/markdown", string(r.shelf.skills[0].files[skillFile].Data)},
			want[1]: {"text/plain", ""}, want[2]: {"text/markdown", "x"}, want[3]: {"image/png", "\x89PNG\x00\xff"},
			want[4]: {"text/x-python", "print('é')\r\n"},
		} {
			got, err := read(s, uri)
			if err != nil || got.Text+string(got.Blob) != c.content || got.MIMEType != c.mime || got.URI != uri {
				t.Errorf("%s: %+v, %v", uri, got, err)
			}
		}
		for _, uri := range []string{
			"skill://his/SKILL.md", "skill://none/SKILL.md", "skill://off/SKILL.md", "skill://skill-catalog/SKILL.md", "skill://a", "skill://a/", "skill:///SKILL.md",
			"skill://a/../a/SKILL.md", "skill://a/%2e%2e/SKILL.md", "skill://a/%zz", "skill://a/nothing", "SKILL.md", "", "file:///etc/passwd",
			"skill://a/scripts", "skill://A/SKILL.md", "skill://a/" + strings.Repeat("x", 5000), "hotcell:changed",
			"hotcell://calls//artifacts/x", "hotcell://calls/x/artifacts/", "hotcell://calls/a/b/artifacts/x", "hotcell://calls/none/artifacts/x",
		} {
			if strings.Contains(t.Name(), "http_"+statelessRevision) && uri == "" {
				continue // there a header has the address
			}
			if c, err := read(s, uri); code(err) != notFoundCode(t) || !errorIs(err, "Resource not found") {
				t.Errorf("%.40s: %+v, %v", uri, c, err)
			}
		}
	})
}

func TestWhatAResourceSaysOfItself(t *testing.T) {
	r := newRig(t, skill("word-count", "run.sh", "echo"))
	s := overStdio(t, r, alice, revisions[0], nil)
	list, err := s.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const digest = "io.modelcontextprotocol.skills/digest"
	main := string(r.shelf.skills[0].files[skillFile].Data)
	want := []*mcp.Resource{
		{URI: "skill://word-count/SKILL.md", Name: "word-count", Title: "Word count", Description: "Does word-count.", MIMEType: "text/markdown",
			Size: int64(len(main)), Meta: mcp.Meta{digest: sum(main)}},
		{URI: "skill://word-count/run.sh", Name: "word-count/run.sh", MIMEType: "text/x-shellscript", Size: 4, Meta: mcp.Meta{digest: sum("echo")}},
	}
	if diff := cmp.Diff(want, list.Resources); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	templates, err := s.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 2 {
		t.Errorf("%v, %v", templates, err)
	}
}

func TestResourcesComeInPages(t *testing.T) {
	var want []string
	r := newRig(t)
	for i := range 60 {
		f := skill(fmt.Sprintf("s-%02d", i))
		want = append(want, skillURI(f.entry.Definition.Name, skillFile))
		for j := range i % 12 {
			name := fmt.Sprintf("f-%02d.md", j)
			f.files[name] = skill("x").files[skillFile]
			want = append(want, skillURI(f.entry.Definition.Name, name))
		}
		r.shelf.skills = append(r.shelf.skills, f)
	}
	s := overStdio(t, r, alice, revisions[0], nil)
	if diff := cmp.Diff(want, uris(t, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := s.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: "!"}); code(err) != -32602 {
		t.Errorf("got %v", err)
	}
}

// The extension for skills: whole manifests with digests of what is read.
func TestSkillsExtension(t *testing.T) {
	doors(t, func(t *testing.T, open func(*rig, auth.Identity, *mcp.ClientOptions) *mcp.ClientSession) {
		large := strings.Repeat("x", catalog.MaxRead+1)
		r := newRig(t, skill("a", "x.md", "text", "large.md", large), skill("his").of("bob"))
		hidden := skill("dots")
		r.shelf.put(hidden)
		s := open(r, alice, nil)
		if s.InitializeResult().Capabilities.Extensions[skillsExtension] == nil || s.InitializeResult().Capabilities.Resources == nil {
			t.Errorf("capabilities %+v", s.InitializeResult().Capabilities)
		}
		res, err := mcp.CallCustomMethod[*listSkillsParams, *listSkillsResult](t.Context(), s, "skills/list", &listSkillsParams{})
		if err != nil {
			t.Fatal(err)
		}
		main := string(r.shelf.find(a2e.Caller{}, "a").files[skillFile].Data)
		want := skillEntry{
			URI: "skill://a/SKILL.md", Frontmatter: map[string]any{"name": "a", "description": "Does a."},
			Resources: []skillResource{
				{"skill://a/SKILL.md", sum(main), int64(len(main))}, {"skill://a/large.md", sum(large), int64(len(large))}, {"skill://a/x.md", sum("text"), 4},
			},
		}
		if len(res.Skills) != 2 || res.Kind != "complete" || res.CacheScope != "private" {
			t.Fatalf("got %+v", res)
		}
		if diff := cmp.Diff(want, res.Skills[0]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		one, err := mcp.CallCustomMethod[*getSkillParams, *getSkillResult](t.Context(), s, "skills/get", &getSkillParams{URI: want.URI})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, one.Skill); diff != "" || one.Kind != "complete" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, uri := range []string{"skill://his/SKILL.md", "skill://none/SKILL.md", "skill://a/x.md", "skill://a", "a", ""} {
			if _, err := mcp.CallCustomMethod[*getSkillParams, *getSkillResult](t.Context(), s, "skills/get", &getSkillParams{URI: uri}); code(err) != -32602 {
				t.Errorf("%s: %v", uri, err)
			}
		}
		if _, err := read(s, "skill://a/large.md"); code(err) != notFoundCode(t) { // 50 KB at most
			t.Errorf("got %v", err)
		}
	})
}

func TestSkillsComeInPages(t *testing.T) {
	r := newRig(t)
	for i := range skillsPage + 1 {
		r.shelf.skills = append(r.shelf.skills, skill(fmt.Sprintf("s-%03d", i)))
	}
	tooMany := skill("z-too-many")
	for i := range mostFiles {
		tooMany.files[fmt.Sprint(i)] = tooMany.files[skillFile]
	}
	r.shelf.put(tooMany)
	s := overStdio(t, r, alice, revisions[0], nil)
	seen, cursor := 0, ""
	for pages := 0; pages == 0 || cursor != ""; pages++ {
		res, err := mcp.CallCustomMethod[*listSkillsParams, *listSkillsResult](t.Context(), s, "skills/list", &listSkillsParams{Cursor: cursor})
		if err != nil || pages > 2 {
			t.Fatal(pages, err)
		}
		seen, cursor = seen+len(res.Skills), res.NextCursor
	}
	if seen != skillsPage+1 {
		t.Errorf("%d skills", seen)
	}
	if _, err := mcp.CallCustomMethod[*getSkillParams, *getSkillResult](t.Context(), s, "skills/get", &getSkillParams{URI: "skill://z-too-many/SKILL.md"}); code(err) != -32602 {
		t.Errorf("got %v", err)
	}
}

// partial is a skill of which a file is in no bundle, as with custom skills that have dot files.
type partial struct{ *shelf }

func (p partial) Skill(ctx context.Context, who a2e.Caller, slug string, principal int64) (*catalog.Detail, error) {
	d, err := p.shelf.Skill(ctx, who, slug, principal)
	if err == nil {
		d.Files = append(d.Files, catalog.File{Path: ".note", Bytes: 5}, catalog.File{Path: ".gone", Bytes: 1})
	}
	return d, err
}

func (p partial) File(ctx context.Context, who a2e.Caller, slug, path string, principal int64) ([]byte, error) {
	if path == ".note" {
		return []byte(who.Principal), nil
	}
	return p.shelf.File(ctx, who, slug, path, principal)
}

// What is in no bundle is never taken from what was computed for somebody else.
func TestDigestsOfFilesThatAreInNoBundle(t *testing.T) {
	r := newRig(t, skill("a"))
	r.opt.Catalog = partial{r.shelf}
	for range 2 {
		for _, who := range []string{"alice", "carol"} {
			s := overStdio(t, r, auth.Identity{Principal: who}, revisions[0], nil)
			list, err := s.ListResources(t.Context(), nil)
			if err != nil || len(list.Resources) != 2 || list.Resources[1].Meta["io.modelcontextprotocol.skills/digest"] != sum(who) {
				t.Errorf("%s: %v, %v", who, list, err)
			}
		}
	}
}

func TestArtifacts(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", mostEmbedded/16) + "\xff"
	doors(t, func(t *testing.T, open func(*rig, auth.Identity, *mcp.ClientOptions) *mcp.ClientSession) {
		r := answering(t, func(_ context.Context, _ *a2e.CallRequest, say say) *a2e.CallResponse {
			say(a2e.KindArtifact, chunk("dir/é #1.txt", "text/plain", "hello ", false))
			say(a2e.KindArtifact, chunk("pic.png", "image/png", "\x89\x00", true))
			say(a2e.KindArtifact, chunk("dir/é #1.txt", "text/plain", "world", true))
			say(a2e.KindArtifact, chunk("empty", "text/plain", "", true))
			for i := 0; i < len(big); i += 100_000 {
				say(a2e.KindArtifact, chunk("big.bin", "application/octet-stream", big[i:min(i+100_000, len(big))], i+100_000 >= len(big)))
			}
			say(a2e.KindArtifact, chunk("lost", "text/plain", "x", false))
			return done(map[string]any{"ok": true})
		})
		s := open(r, alice, nil)
		res := call(t, s, "echo", nil)
		uri := "hotcell://calls/call1/artifacts/"
		want := []mcp.Content{
			&mcp.TextContent{Text: `{"ok":true}`},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri + "dir/%C3%A9%20%231.txt", MIMEType: "text/plain", Text: "hello world"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri + "pic.png", MIMEType: "image/png", Blob: []byte("\x89\x00")}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri + "empty", MIMEType: "text/plain", Blob: []byte{}}},
			&mcp.ResourceLink{URI: uri + "big.bin", Name: "big.bin", MIMEType: "application/octet-stream", Size: ptr(int64(len(big)))},
			&mcp.TextContent{Text: `artifact "lost" is incomplete`},
		}
		if diff := cmp.Diff(want, res.Content); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for name, content := range map[string]string{"dir/%C3%A9%20%231.txt": "hello world", "big.bin": big, "empty": "", "pic.png": "\x89\x00"} {
			got, err := read(s, uri+name)
			if err != nil || got.Text+string(got.Blob) != content {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, name := range []string{"lost", "none", "dir", "../call1/artifacts/empty"} {
			if _, err := read(s, uri+name); code(err) != notFoundCode(t) {
				t.Errorf("%s: %v", name, err)
			}
		}
		other := open(r, auth.Identity{Principal: "bob", Scopes: []auth.Scope{auth.Admin}}, nil)
		_, theirs := read(other, uri+"empty")
		_, none := read(other, "hotcell://calls/nocall/artifacts/empty")
		if code(theirs) != notFoundCode(t) || code(none) != code(theirs) {
			t.Errorf("somebody else's artifact: %v, none: %v", theirs, none)
		}
	})
}

// Artifacts of several megabytes are read whole; beyond a bound the client is told where else they are.
func TestLargeArtifacts(t *testing.T) {
	size := 5 << 20
	r := answering(t, func(_ context.Context, _ *a2e.CallRequest, say say) *a2e.CallResponse {
		for i := 0; i < size; i += 512 << 10 {
			say(a2e.KindArtifact, chunk("f", "application/octet-stream", strings.Repeat("\xfe", 512<<10), i+512<<10 >= size))
		}
		return done(nil)
	})
	for _, over := range []func(*testing.T, *rig, auth.Identity, string, *mcp.ClientOptions) *mcp.ClientSession{overStdio, overHTTP} {
		s := over(t, r, alice, revisions[0], nil)
		link := call(t, s, "echo", nil).Content[0].(*mcp.ResourceLink)
		got, err := read(s, link.URI)
		if err != nil || len(got.Blob) != size || *link.Size != int64(size) {
			t.Errorf("%v, %+v", err, link)
		}
	}
	s := overStdio(t, r, alice, revisions[0], nil)
	size = maxArtifact + 512<<10
	if _, err := read(s, call(t, s, "echo", nil).Content[0].(*mcp.ResourceLink).URI); !errorIs(err, "larger than 8388608 bytes") {
		t.Errorf("got %v", err)
	}
}

// What the journal has only in part is not given as if it were whole.
func TestArtifactsWithAGap(t *testing.T) {
	r := answering(t, func(_ context.Context, _ *a2e.CallRequest, say say) *a2e.CallResponse {
		for _, part := range []string{"one ", "two ", "three"} {
			say(a2e.KindArtifact, chunk("f", "text/plain", part, part == "three"))
		}
		return done(nil)
	})
	s := overStdio(t, r, alice, revisions[0], nil)
	call(t, s, "echo", nil)
	uri := "hotcell://calls/call1/artifacts/f"
	if got, err := read(s, uri); err != nil || got.Text != "one two three" {
		t.Fatalf("%+v, %v", got, err)
	}
	r.exec.mu.Lock()
	k := r.exec.journal["call1"]
	k.events = append(k.events[:1:1], k.events[2])
	r.exec.mu.Unlock()
	if got, err := read(s, uri); code(err) != notFoundCode(t) {
		t.Errorf("%+v, %v", got, err)
	}
}

// However much a call leaves behind, a result names a bounded number of it and holds a bounded part.
func TestManyArtifacts(t *testing.T) {
	a := newArtifacts()
	for i := range mostNamed + 7 {
		a.add(&a2e.Event{Data: chunk(fmt.Sprint(i), "text/plain", strings.Repeat("x", 10_000), false)})
		a.add(&a2e.Event{Data: chunk(fmt.Sprint(i), "text/plain", "end", true)})
	}
	content, held, links := a.content("c", "2025-11-25"), 0, 0
	for _, c := range content {
		switch c := c.(type) {
		case *mcp.EmbeddedResource:
			held += len(c.Resource.Text)
		case *mcp.ResourceLink:
			links++
		}
	}
	if held > allEmbedded || held < allEmbedded-20_000 || links == 0 || len(content) != mostNamed+1 {
		t.Errorf("%d blocks, %d bytes, %d links", len(content), held, links)
	}
	if last := content[mostNamed].(*mcp.TextContent).Text; last != "and 7 more artifacts" {
		t.Errorf("the last says %q", last)
	}
	if old := a.content("c", "2025-03-26"); strings.Contains(fmt.Sprintf("%T", old[mostNamed-1]), "Link") {
		t.Error("a revision without links got one")
	}
}

func TestAddressesCanBeReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[a-zA-Z0-9 /%é-]{1,20}`).Draw(t, "call")
		name := rapid.StringN(1, 40, 200).Draw(t, "name")
		if call, got, ok := parseArtifact(artifactURI(id, name)); !ok || call != id || got != name {
			t.Errorf("%q %q become %q: %q %q", id, name, artifactURI(id, name), call, got)
		}
		file := rapid.StringMatching(`[^\n]{1,40}`).Draw(t, "file")
		if slug, got, ok := parseSkill(skillURI("a-b", file)); !ok || slug != "a-b" || got != file {
			t.Errorf("%q becomes %q: %q %q", file, skillURI("a-b", file), slug, got)
		}
	})
}

func FuzzAddresses(f *testing.F) {
	for _, seed := range []string{"skill://a/SKILL.md", "hotcell://calls/x/artifacts/y", "skill://a/%2e%2e/x", "hotcell://calls/%2F/artifacts/%00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		if slug, file, ok := parseSkill(uri); ok && (!toolName.MatchString(slug) || file == "") {
			t.Errorf("%q: %q %q", uri, slug, file)
		}
		if call, name, ok := parseArtifact(uri); ok && (call == "" || name == "") {
			t.Errorf("%q: %q %q", uri, call, name)
		}
	})
}

// An answer that is given again has the artifacts too, as far as it holds them, and links to the others.
func TestArtifactsOfAnAnswerThatIsGivenAgain(t *testing.T) {
	r := answering(t, func(context.Context, *a2e.CallRequest, say) *a2e.CallResponse {
		resp := done("x")
		for _, data := range []map[string]any{chunk("whole", "text/plain", "all", true), chunk("part", "text/plain", "beg", false)} {
			resp.Data.Events = append(resp.Data.Events, a2e.Event{Kind: a2e.KindArtifact, Data: data})
		}
		return resp
	})
	res := call(t, overStdio(t, r, alice, revisions[0], nil), "echo", nil)
	uri := "hotcell://calls/call1/artifacts/"
	want := []mcp.Content{
		&mcp.TextContent{Text: "x"}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri + "whole", MIMEType: "text/plain", Text: "all"}},
		&mcp.ResourceLink{URI: uri + "part", Name: "part", MIMEType: "text/plain"},
	}
	if diff := cmp.Diff(want, res.Content); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
