package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/curator"
	door "github.com/hotcell/hotcell/internal/rest"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/skills/watch"
)

// How large the catalogue is: skills in a folder, principals, and what each of these has, which is the most that one may.
const (
	shippedSkills = 1_000
	owners        = 400
	ownSkills     = 25
	groups        = 20 // of the principals; whoever looks is in all of them
)

// The rows of the catalogue.
var (
	catalogueScan   = fmt.Sprintf("start-up scan of %s skills and %s custom ones", thousands(shippedSkills), thousands(owners*ownSkills))
	catalogueReload = fmt.Sprintf("a changed bundle of %s is read again", thousands(shippedSkills))
	catalogueList   = fmt.Sprintf("list page of %s skills over HTTP", thousands(seen))
	catalogueAfter  = "list page over HTTP after somebody wrote a skill"
	catalogueOne    = "one custom skill over HTTP"
	catalogueFind   = "lookup of a custom skill for a call"
	catalogueRemote = "lookup of a shipped skill for a call"
)

// seen are the skills that whoever looks sees.
const seen = shippedSkills + ownSkills*(groups+1)

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// catalogueSection measures the catalogue with 1,000 skills in a folder and 10,000 custom ones, as a front door uses it.
func catalogueSection(ctx context.Context, b *bench) error {
	wanted := false
	for _, name := range []string{catalogueScan, catalogueReload, catalogueList, catalogueAfter, catalogueOne, catalogueFind, catalogueRemote} {
		wanted = wanted || b.wants("catalogue", name)
	}
	if !wanted {
		return nil
	}
	l, err := b.largeCatalogue(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = l.unreal.close() }()
	if err := l.scans(ctx, b); err != nil {
		return err
	}
	if err := l.reloads(ctx, b); err != nil {
		return err
	}
	return l.looks(ctx, b)
}

// large is a catalogue as large as it has to bear.
type large struct {
	*unreal
	dir     string // of the shipped skills
	shipped *skills.Library
	curator *curator.Curator
	who     a2e.Caller
}

func (b *bench) largeCatalogue(ctx context.Context) (*large, error) {
	dir, err := b.yard.folder()
	if err != nil {
		return nil, err
	}
	l := &large{dir: filepath.Join(dir, "skills"), who: a2e.Caller{Principal: "user-0", Groups: map[string]string{}}}
	for i := range groups {
		l.who.Groups[fmt.Sprint("group-", i)] = "member"
	}
	for i := range shippedSkills {
		if err := l.ship(i, "first"); err != nil {
			return nil, err
		}
	}
	if l.shipped, err = l.load(); err != nil {
		return nil, err
	}
	if l.unreal, err = fakeSupervisor(dir, 1, speaker); err != nil {
		return nil, err
	}
	l.curator = curator.New(curator.Config{Shipped: l.shipped, Store: l.log})
	b.say("catalogue: writing %s custom skills", thousands(owners*ownSkills))
	return l, l.populate(ctx)
}

func (l *large) load() (*skills.Library, error) {
	return skills.Load([]skills.Source{skills.Dir(skills.SourceProject, l.dir)}, nil)
}

// ship writes one of the skills in the folder.
func (l *large) ship(i int, about string) error {
	dir := filepath.Join(l.dir, skillNumber(i))
	if err := os.MkdirAll(filepath.Join(dir, "references"), 0o755); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "references/more.md"), []byte(strings.Repeat("More about it.\n", 100)), 0o644),
		os.WriteFile(filepath.Join(dir, "main.py"), []byte(program), 0o644),
		os.WriteFile(filepath.Join(dir, "skill.yaml"), []byte("input_schema: {type: object, properties: {text: {type: string}}, required: [text]}\n"), 0o644),
		l.describe(i, about),
	)
}

func (l *large) describe(i int, about string) error {
	text := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n%s", skillNumber(i), about, strings.Repeat("Do it well.\n", 50))
	return os.WriteFile(filepath.Join(l.dir, skillNumber(i), "SKILL.md"), []byte(text), 0o644)
}

// populate gives each principal what it may have.
func (l *large) populate(ctx context.Context) error {
	custom := l.curator.Custom()
	for i := range owners {
		who, principal := a2e.Caller{Principal: fmt.Sprint("user-", i)}, int64(0)
		if i >= owners-groups {
			var err error
			if who, principal, err = l.group(ctx, i-(owners-groups)); err != nil {
				return err
			}
		}
		for k := range ownSkills {
			if _, err := custom.Create(ctx, who, principal, draft(i, k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// group is the owner of one of the groups, and the group's number.
func (l *large) group(ctx context.Context, i int) (who a2e.Caller, principal int64, err error) {
	who = a2e.Caller{Principal: "owner", Groups: map[string]string{fmt.Sprint("group-", i): "owner"}}
	all, err := l.curator.Principals(ctx, who)
	if err != nil {
		return who, 0, err
	}
	return who, all[len(all)-1].ID, nil
}

func ownName(owner, k int) string { return fmt.Sprintf("own-%d-%d", owner, k) }

func draft(owner, k int) catalog.Draft {
	name, about, body := ownName(owner, k), "What somebody knows about something.", strings.Repeat("Do it well.\n", 50)
	files := map[string]string{"references/more.md": "More about it.\n"}
	return catalog.Draft{Name: &name, Description: &about, Body: &body, Files: &files, Provenance: "human"}
}

// scans measures how long a daemon needs at its start to know all skills.
func (l *large) scans(ctx context.Context, b *bench) error {
	var took []float64
	for range max(2, b.rounds/8) {
		began := time.Now()
		lib, err := l.load()
		if err == nil { // what there is of custom skills is learnt with the first caller
			_, err = curator.New(curator.Config{Shipped: lib, Store: l.log}).View(ctx, l.who)
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		took = append(took, ms(time.Since(began)))
		if n := len(lib.List()); n != shippedSkills {
			return fmt.Errorf("%d skills were found, expected %d", n, shippedSkills)
		}
	}
	b.report.add("catalogue", catalogueScan, unitMS, took...)
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// reloads measures how long it takes from a change on disk until calls get it.
func (l *large) reloads(ctx context.Context, b *bench) error {
	watching, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { watch.Run(watching, l.shipped, watch.Options{}) })
	var took []float64
	for round := range b.rounds + 1 {
		about, i := fmt.Sprint("changed ", round), round%shippedSkills
		began := time.Now()
		if err := l.describe(i, about); err != nil {
			return err
		}
		for l.shipped.Lookup(skillNumber(i)).Description != about {
			if err := rest(ctx, 200*time.Microsecond); err != nil || time.Since(began) > limit {
				return errors.Join(err, errors.New("a change never arrived"))
			}
		}
		if round > 0 { // in the first one the watcher begins
			took = append(took, ms(time.Since(began)))
		}
	}
	b.report.add("catalogue", catalogueReload, unitMS, took...)
	return nil
}

// looks measures what callers do.
func (l *large) looks(ctx context.Context, b *bench) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	handler := door.New(door.Options{Control: l.unreal, Auth: always(l.who), Reader: l.curator, Custom: l.curator.Custom()})
	serving, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { _ = door.Serve(serving, ln, handler, slog.New(slog.DiscardHandler)) })
	base := "http://" + ln.Addr().String() + "/api/v1/skills"
	version := 0
	for _, row := range []struct {
		name, unit string
		before     func() error // is not counted
		look       func() error
	}{
		{catalogueList, unitMS, nil, func() error { return get(ctx, base, seen) }},
		{catalogueAfter, unitMS, func() error { version++; return l.write(ctx, version) }, func() error { return get(ctx, base, seen) }},
		{catalogueOne, unitMS, nil, func() error { return get(ctx, base+"/"+ownName(0, 7), 0) }},
		{catalogueFind, unitUS, nil, func() error { return l.find(ctx, ownName(0, 7)) }},
		{catalogueRemote, unitUS, nil, func() error { return l.find(ctx, skillNumber(7)) }},
	} {
		if err := b.look(ctx, row.name, row.unit, row.before, row.look); err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
	}
	return nil
}

func (b *bench) look(ctx context.Context, name, unit string, before, look func() error) error {
	if !b.wants("catalogue", name) {
		return nil
	}
	var took []float64
	for round := range 5*b.rounds + 1 {
		if before != nil {
			if err := before(); err != nil {
				return err
			}
		}
		began := time.Now()
		if err := look(); err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		d := time.Since(began)
		if round == 0 {
			continue
		}
		if unit == unitUS {
			took = append(took, float64(d)/float64(time.Microsecond))
		} else {
			took = append(took, ms(d))
		}
	}
	b.report.add("catalogue", name, unit, took...)
	return nil
}

// write changes a skill of somebody whose skills whoever looks sees.
func (l *large) write(ctx context.Context, version int) error {
	who, principal, err := l.group(ctx, 0)
	if err != nil {
		return err
	}
	body := fmt.Sprintf("Version %d.\n", version)
	_, err = l.curator.Custom().Update(ctx, who, principal, ownName(owners-groups, 3), catalog.AnyRevision, catalog.Draft{Body: &body, Provenance: "human"})
	return err
}

func (l *large) find(ctx context.Context, name string) error {
	view, err := l.curator.View(ctx, l.who)
	if err != nil {
		return err
	}
	if s, _ := view.Find(name); s == nil {
		return fmt.Errorf("there is no skill %s", name)
	}
	return nil
}

// get fetches a page, on which so many skills are to be.
func get(ctx context.Context, url string, count int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(resp.Body)
	err = errors.Join(err, resp.Body.Close())
	if err != nil || resp.StatusCode != http.StatusOK {
		return errors.Join(err, fmt.Errorf("%s: %s", url, resp.Status))
	}
	if n := strings.Count(string(text), `"slug":`); count > 0 && n != count {
		return fmt.Errorf("%s: %d skills, expected %d", url, n, count)
	}
	return nil
}

// always is who comes through the door.
type always a2e.Caller

// Authenticate implements [auth.Authenticator].
func (a always) Authenticate(context.Context, auth.Credentials) (auth.Identity, error) {
	who := auth.Identity{Principal: a.Principal, Scopes: []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}}
	for group, role := range a.Groups {
		who.Groups = append(who.Groups, auth.Membership{Group: group, Role: auth.Role(role)})
	}
	return who, nil
}
