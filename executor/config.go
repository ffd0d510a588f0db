package executor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/hotcell/hotcell/executor/admission"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/trace"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

// Config is what a [Supervisor] works with. Driver, Images, Skills, Runner and Instance are required; a zero value elsewhere means
// the default that its comment names.
type Config struct {
	Driver sandbox.Driver
	Images images.Store
	Skills skills.Catalog
	Shelf  skills.Shelf // what each caller sees and may use; nil: everybody all of Skills

	// Plugins serve skills in this process, beside those that run in cells. A name that the shelf has is the shelf's skill,
	// and one that several plugins have is the first one's.
	Plugins []a2e.Plugin

	// Runner returns the file tree that holds the runner for an engine's architecture ("amd64", "arm64"). The file is
	// named "runner" and the tree's target is [wall.DirRunner].
	Runner func(arch string) (sandbox.Tree, error)

	// Engine returns the file tree that holds the engine for an architecture, which cells of the kinds js and agent have
	// beside the runner. The file is named "engine" and the tree's target is [wall.DirEngine]. Nil: there is none.
	Engine func(arch string) (sandbox.Tree, error)

	// Services are what calls may use outside of their cells. Each is asked about each call, in this order.
	Services []service.Service
	Models   bool // one of Services decides about a caller's llm_override; where none does, it is refused

	Policy        policies.Policy        // the operator's
	Pull          images.PullPolicy      // missing
	AllowImage    func(ref string) error // says no to an image by name; nil: all may be used
	DefaultImages map[string]string      // by a skill's Run.Kind, for bundles that name no image

	// Tenant returns whose the cells of a caller's calls are, where tenants are kept apart, and "" for those that are nobody's in
	// particular. An error is the call's end. Nil: they are nobody's.
	Tenant func(who a2e.Caller) (string, error)

	Quota admission.Quota // what each principal may have
	Spent Spent           // keeps what they used of it in a day; nil: that is known as long as this process lives

	MaxCells     int           // cells at once; 0: twice the engine's processors, at least 4
	MaxMemory    int64         // bytes reserved by cells at once; 0: 3/4 of the engine's memory
	MaxQueue     int           // calls that wait; 0: 1024
	Volumes      Volumes       // that stay while nobody uses them
	QueueTimeout time.Duration // longest wait for a share of the host, and once more for a turn to start a cell; 0: 30s
	PullTimeout  time.Duration // longest image pull; 0: 5m
	Patience     time.Duration // for a listener that takes no event, once its call has ended; 0: 1m

	EmbedEvents bool         // put the events into SkillResult.events as well
	Observer    Observer     // metrics; nil: none
	Tracer      trace.Tracer // keeps what each call does and how long it takes; nil: nobody does

	Audit audit.Log // takes the transcripts of agent skills; nil: nobody keeps them

	Journal Journal // nil: calls are known as long as this process lives
	Keeps   bool    // it is kept what calls are asked, for whoever may see them

	// Owners tells which supervisors of this data folder live; nil: no other is known.
	Owners Owners

	Instance string // this supervisor's id, [a-z0-9]
	Host     string // the host's boot id, for labels; "": unknown
	RunDir   string // for lock files that supervisors on this host share; "": uids are not shared between supervisors
	Log      *slog.Logger
}

// Owners knows the supervisors that share a data folder.
type Owners interface {
	// Alive reports whether the supervisor with this id lives. It is not known for one that never was here: what such a
	// one owns is garbage only once it has expired.
	Alive(instance string) (alive, known bool)
	// Poisoned replaces what this supervisor tells others about its cells that will not die, by name.
	Poisoned(cells []string) error
}

// Spent keeps what principals use within a day, by the number of a slice of time.
type Spent interface {
	// Spend adds to it. It returns at once.
	Spend(principal string, slice int64, cpu time.Duration, memory int64)
	// Spent tells all that is kept since a slice.
	Spent(ctx context.Context, since int64, tell func(principal string, slice int64, cpu time.Duration, memory int64)) error
}

// Observer is told what happens, for metrics. Its methods must return at once.
type Observer interface {
	CallObserver
	CellObserver
	SweepObserver
	QueueDepth(n int)
	InFlight(n int)
}

// CallObserver is told of calls, and of the traces that they belong to: their ids, "" where nobody can look one up.
type CallObserver interface {
	CallAccepted(door string)
	// CallEnded is given the name of the skill that was found, "custom" for somebody's own and "" where none was.
	CallEnded(skill string, end control.Call, trace string)
	Phase(phase string, took time.Duration, trace string)    // queue, prepare, lease, start, run, teardown
	Resolved(outcome string, took time.Duration)             // an image: ok, unavailable, engine_unavailable, cancelled
	Relayed(events int, bytes int64, dropped, truncated int) // what came out of a call's cell
	Undelivered(events int)                                  // that its listener did not take
}

// CellObserver is told of the cells of calls.
type CellObserver interface {
	CellCreated()
	CellDestroyed()
	Poisoned(n int) // how many will not die
}

// SweepObserver is told what was left behind and is cleared away.
type SweepObserver interface {
	Reaped(kind string)
	Swept(ok bool)
}

func (c *Config) check() error {
	switch {
	case c.Driver == nil:
		return errors.New("executor: no sandbox driver")
	case c.Images == nil:
		return errors.New("executor: no image store")
	case c.Skills == nil:
		return errors.New("executor: no skills")
	case c.Instance == "":
		return errors.New("executor: no instance")
	case c.Runner == nil:
		return errors.New("executor: no runner")
	}
	return nil
}

func (c *Config) fill() {
	if c.Shelf == nil {
		c.Shelf = skills.Open(c.Skills)
	}
	if c.Pull == "" {
		c.Pull = images.PullMissing
	}
	if c.Tenant == nil {
		c.Tenant = func(a2e.Caller) (string, error) { return "", nil }
	}
	if c.AllowImage == nil {
		c.AllowImage = func(string) error { return nil }
	}
	c.Volumes = c.Volumes.filled()
	if c.MaxQueue == 0 {
		c.MaxQueue = 1024
	}
	if c.QueueTimeout == 0 {
		c.QueueTimeout = 30 * time.Second
	}
	if c.PullTimeout == 0 {
		c.PullTimeout = 5 * time.Minute
	}
	if c.Patience == 0 {
		c.Patience = time.Minute
	}
	if c.Observer == nil {
		c.Observer = Blind
	}
	if c.Audit == nil {
		c.Audit = audit.Nobody
	}
	if c.Journal == nil {
		c.Journal = Forgetful
	}
	if c.Host == "" {
		c.Host = "unknown"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

// Blind is the observer of who has none.
var Blind Observer = blind{}

type blind struct{}

func (blind) CallAccepted(string)                    {}
func (blind) CallEnded(string, control.Call, string) {}
func (blind) Phase(string, time.Duration, string)    {}
func (blind) Resolved(string, time.Duration)         {}
func (blind) Relayed(int, int64, int, int)           {}
func (blind) Undelivered(int)                        {}
func (blind) CellCreated()                           {}
func (blind) CellDestroyed()                         {}
func (blind) Poisoned(int)                           {}
func (blind) Reaped(string)                          {}
func (blind) Swept(bool)                             {}
func (blind) QueueDepth(int)                         {}
func (blind) InFlight(int)                           {}
