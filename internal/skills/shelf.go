package skills

import (
	"context"

	"github.com/hotcell/hotcell/internal/a2e"
)

// Shelf is what each caller may see and use of the skills. It is safe for concurrent use.
type Shelf interface {
	// View returns the skills as a caller sees them now. A skill keeps its value as long as it does not change.
	View(ctx context.Context, who a2e.Caller) (View, error)
}

// View is one caller's catalog. What it does not find the caller can't see, whether it is there or not.
type View interface {
	// What List returns of custom skills may be without instructions, files and compiled schemas, since there can be thousands
	// of them: whoever calls or reads one finds it by its name.
	Catalog
	// Allows reports whether the caller's agent may use a skill of the catalog.
	Allows(s *Skill) bool
}

// Lookup is c.Find without the suggestion, which takes its time where there are many skills.
func Lookup(c Catalog, name string) *Skill {
	if l, ok := c.(interface{ Lookup(name string) *Skill }); ok {
		return l.Lookup(name)
	}
	s, _ := c.Find(name)
	return s
}

// Open is the shelf on which everybody may see and use everything.
func Open(c Catalog) Shelf { return open{c} }

type open struct{ Catalog }

func (o open) View(context.Context, a2e.Caller) (View, error) { return o, nil }
func (o open) Lookup(name string) *Skill                      { return Lookup(o.Catalog, name) }
func (open) Allows(*Skill) bool                               { return true }
