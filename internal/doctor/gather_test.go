package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/sandbox"
)

// answering are sources that all answer at once, of a host with its engine on it.
func answering() Sources {
	f := reference()
	return Sources{
		Engine:  func(context.Context) (sandbox.EngineFacts, error) { return *f.Engine, nil },
		Host:    func(context.Context, string) Host { return f.Host },
		Image:   func(context.Context, string) Image { return Image{ID: "sha256:1", Size: 1} },
		Cell:    func(context.Context, []Image) Cell { return f.Cell },
		Groups:  func(context.Context) string { return "" },
		Things:  func(context.Context) ([]sandbox.Listed, error) { return nil, nil },
		Volumes: func(context.Context) (map[string]int64, error) { return map[string]int64{}, nil },
		Owners:  func() ([]instance.Info, error) { return nil, nil },
	}
}

func TestGather(t *testing.T) {
	from := answering()
	roots := []string{}
	host := from.Host
	from.Host = func(ctx context.Context, root string) Host { roots = append(roots, root); return host(ctx, root) }
	f := Gather(t.Context(), reference().Settings, from)
	if r := Examine(f); !r.OK {
		t.Errorf("%+v", r)
	}
	if len(f.Images) != 2 || f.Cell.Probe == nil || f.Engine == nil {
		t.Errorf("%+v", f)
	}
	if roots[len(roots)-1] != "/var/lib/docker" {
		t.Errorf("looked at %q", roots)
	}
	elsewhere := *reference().Engine
	elsewhere.Host = "farm"
	from.Engine = func(context.Context) (sandbox.EngineFacts, error) { return elsewhere, nil }
	roots = nil
	Gather(t.Context(), reference().Settings, from)
	if len(roots) != 1 || roots[0] != "" {
		t.Errorf("looked for the folder of an engine elsewhere: %q", roots)
	}
}

// Whoever hangs, also against its context, the examination ends within half a minute and names nobody else.
func TestWhoeverHangs(t *testing.T) {
	deaf := make(chan struct{})
	hang := func() { <-deaf }
	for name, change := range map[string]func(*Sources){
		"engine": func(s *Sources) {
			s.Engine = func(context.Context) (sandbox.EngineFacts, error) { hang(); return sandbox.EngineFacts{}, nil }
		},
		"things": func(s *Sources) {
			s.Things = func(context.Context) ([]sandbox.Listed, error) { hang(); return nil, nil }
		},
		"volumes": func(s *Sources) {
			s.Volumes = func(context.Context) (map[string]int64, error) { hang(); return nil, nil }
		},
		"image":  func(s *Sources) { s.Image = func(context.Context, string) Image { hang(); return Image{} } },
		"cell":   func(s *Sources) { s.Cell = func(context.Context, []Image) Cell { hang(); return Cell{} } },
		"groups": func(s *Sources) { s.Groups = func(context.Context) string { hang(); return "" } },
		"all but the engine": func(s *Sources) {
			s.Things = func(context.Context) ([]sandbox.Listed, error) { hang(); return nil, nil }
			s.Volumes = func(context.Context) (map[string]int64, error) { hang(); return nil, nil }
			s.Image = func(context.Context, string) Image { hang(); return Image{} }
			s.Cell = func(context.Context, []Image) Cell { hang(); return Cell{} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				deaf = make(chan struct{})
				from := answering()
				change(&from)
				began := time.Now()
				r := Examine(Gather(t.Context(), reference().Settings, from))
				if took := time.Since(began); took >= 30*time.Second {
					t.Errorf("it took %s", took)
				}
				close(deaf)
				if c := r.Check("engine"); (c.Level == Fail) != (name == "engine") {
					t.Errorf("%+v", c)
				}
				if c := r.Check("cell"); name == "cell" && (c.Level != Fail || !strings.Contains(c.Found, "no answer within")) {
					t.Errorf("%+v", c)
				}
			})
		})
	}
}

// A source that stops when it is told gets its own last word.
func TestLastWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := answering()
		from.Cell = func(ctx context.Context, _ []Image) Cell {
			<-ctx.Done()
			time.Sleep(3 * time.Second) // it tidies up
			return Cell{Failed: "its own words"}
		}
		f := Gather(t.Context(), reference().Settings, from)
		if f.Cell.Failed != "its own words" {
			t.Errorf("%+v", f.Cell)
		}
	})
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	from := answering()
	from.Engine = func(ctx context.Context) (sandbox.EngineFacts, error) {
		cancel()
		<-ctx.Done()
		return sandbox.EngineFacts{}, errors.New("told to stop")
	}
	if f := Gather(ctx, reference().Settings, from); f.NoEngine != "told to stop" {
		t.Errorf("%+v", f)
	}
}
