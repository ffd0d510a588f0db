package curator

import (
	"context"
	"log/slog"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

// Shipped is what everybody sees: the skills of folders.
type Shipped interface {
	skills.Catalog
	// Lookup is Find without a suggestion.
	Lookup(name string) *skills.Skill
	// Version changes whenever a skill may have.
	Version() uint64
}

// Principals numbers the principals.
type Principals interface {
	// Principal fails with [catalog.ErrNone], like PrincipalID.
	Principal(ctx context.Context, id int64) (catalog.Owner, error)
	PrincipalID(ctx context.Context, o catalog.Owner) (int64, error)
	// EnsurePrincipals gives a number to those that have none.
	EnsurePrincipals(ctx context.Context, owners []catalog.Owner) ([]int64, error)
}

// Records reads what the store has.
type Records interface {
	// CatalogVersion grows with each change to what principals own, whichever process makes it.
	CatalogVersion(ctx context.Context) (int64, error)
	// Holdings returns what changed since a version, and the version now.
	Holdings(ctx context.Context, since int64) ([]catalog.Holding, int64, error)
	// CustomSkill fails with [catalog.ErrNone].
	CustomSkill(ctx context.Context, principal int64, name string) (catalog.Record, error)
	// CustomNames returns the names of a principal's custom skills, sorted.
	CustomNames(ctx context.Context, principal int64) ([]string, error)
	CountCustomSkills(ctx context.Context, principal int64) (int, error)
	// PreviousCustomSkill fails with [catalog.ErrNone].
	PreviousCustomSkill(ctx context.Context, id int64) (catalog.Content, error)
	// Allowlist returns the agents of a principal that have a name on their allowlist.
	Allowlist(ctx context.Context, principal int64, name string) ([]catalog.AllowlistRow, error)
}

// Writes changes what the store has. Each is one transaction.
type Writes interface {
	// AddCustomSkill fails with [catalog.ErrFull] and [catalog.ErrTaken].
	AddCustomSkill(ctx context.Context, by catalog.Owner, r catalog.Record, most int) (catalog.Record, error)
	// ReplaceCustomSkill and DropCustomSkill fail with [catalog.ErrStale].
	ReplaceCustomSkill(ctx context.Context, by catalog.Owner, r catalog.Record, previous catalog.Content) (catalog.Record, error)
	DropCustomSkill(ctx context.Context, r catalog.Record) ([]catalog.AllowlistRow, error)
}

// Store keeps what principals own. Several processes may share it.
type Store interface {
	Principals
	Records
	Writes
}

// Gate decides what the agents of callers may use of what their principals see.
type Gate interface {
	// Gate returns what says whether a caller's agent may use the skill of a name; nil: no allowlist applies.
	Gate(ctx context.Context, who a2e.Caller) (func(name string) bool, error)
	// Group returns the group whose agent a caller speaks as: it sees what the group sees, whoever signed in. "" where it is no
	// group's.
	Group(ctx context.Context, who a2e.Caller) (string, error)
	// Version changes whenever an answer may have.
	Version() uint64
}

// Config is what a [Curator] works with.
type Config struct {
	Shipped Shipped
	Store   Store
	Tools   skills.Toolbox // nil: the host has none
	Code    []string       // principals whose skills may carry code: alice, group:team, *; none: nobody's
	Log     *slog.Logger   // nil: none
}

// Curator is the catalog of a host. It is safe for concurrent use once its fields are set.
type Curator struct {
	Gate    Gate         // nil: no allowlist applies to anybody
	Plugins []a2e.Plugin // that serve skills without a cell

	shipped Shipped
	store   Store
	tools   skills.Toolbox
	code    []string
	log     *slog.Logger

	roster  *roster
	shelf   cache
	glances cache
	room    int64 // of what one list tells of custom skills, in bytes
}

var (
	_ skills.Shelf   = (*Curator)(nil)
	_ catalog.Reader = (*Curator)(nil)
)

// New returns a curator.
func New(c Config) *Curator {
	if c.Tools == nil {
		c.Tools = skills.NoTools
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	cur := &Curator{shipped: c.Shipped, store: c.Store, tools: c.Tools, code: c.Code, log: c.Log, room: mostListed}
	cur.shelf.most, cur.glances.most = cacheBytes, glanceBytes
	cur.roster = newRoster(c.Store, cur.forget)
	return cur
}

// loadLimit is how long one look into the store may take where nobody says.
const loadLimit = 10 * time.Second

// brief is a context for what has to be done whether somebody still waits or not.
func brief(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), loadLimit)
}
