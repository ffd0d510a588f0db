package curator

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

// AgentStore keeps agents. Several processes may share it.
type AgentStore interface {
	Principals
	CatalogVersion(ctx context.Context) (int64, error)
	// AgentHoldings returns what changed since a version, and the version now.
	AgentHoldings(ctx context.Context, since int64) ([]catalog.AgentHolding, int64, error)
	// Agent fails with [catalog.ErrNone].
	Agent(ctx context.Context, id int64) (catalog.AgentRecord, error)
	// AddAgent fails with [catalog.ErrFull] and [catalog.ErrTaken], the others with [catalog.ErrNone] and [catalog.ErrStale].
	AddAgent(ctx context.Context, by catalog.Owner, r catalog.AgentRecord, most int) (catalog.AgentRecord, error)
	// ChangeAgent tells change what the agent inherits where it has no list of its own; an error of change is the answer.
	ChangeAgent(ctx context.Context, id, match int64, change func(r *catalog.AgentRecord, inherited *[]string) (changed bool, err error)) (catalog.AgentRecord, error)
	// DropAgent fails with [catalog.ErrInUse], too.
	DropAgent(ctx context.Context, id, match int64, owner catalog.Owner) error
	SetAgentDefault(ctx context.Context, principal, match int64, allowed *[]string) (int64, error)
}

// mostAgents is how many agents a principal may have.
const mostAgents = 100

// Where an allowlist comes from.
const (
	fromAgent     = "agent"
	fromPrincipal = "principal"
	fromDefault   = "default"
)

// Agents are the agents of a host and what they may use. It is safe for concurrent use.
type Agents struct {
	store AgentStore
	tools func() []catalog.ToolInfo
	book  *agentBook
}

var (
	_ catalog.Agents = (*Agents)(nil)
	_ Gate           = (*Agents)(nil)
)

// NewAgents returns the agents that a store has. tools lists the host's tools beside those of the catalog itself; nil: none.
func NewAgents(store AgentStore, tools func() []catalog.ToolInfo) *Agents {
	if tools == nil {
		tools = func() []catalog.ToolInfo { return nil }
	}
	return &Agents{store: store, tools: tools, book: newAgentBook(store)}
}

// Gate implements [Gate].
func (a *Agents) Gate(ctx context.Context, who a2e.Caller) (func(name string) bool, error) {
	if who.Agent == "" {
		return nil, nil
	}
	seen, err := a.book.look(ctx)
	if err != nil {
		return nil, err
	}
	s, _ := seen.speaker(who)
	switch {
	case s == nil:
		return nil, nil
	case !s.Tools[catalog.SkillToolName]:
		return func(string) bool { return false }, nil
	}
	return func(name string) bool { return s.allowed[catalog.Fold(name)] }, nil
}

// Group implements [Gate].
func (a *Agents) Group(ctx context.Context, who a2e.Caller) (string, error) {
	if who.Agent == "" {
		return "", nil
	}
	seen, err := a.book.look(ctx)
	if err != nil {
		return "", err
	}
	if _, pack := seen.speaker(who); pack != nil && pack.Owner.Kind == catalog.KindGroup {
		return pack.Owner.Name, nil
	}
	return "", nil
}

// Version implements [Gate].
func (a *Agents) Version() uint64 {
	ctx, cancel := brief(context.Background())
	defer cancel()
	seen, err := a.book.look(ctx)
	if err != nil {
		return 0
	}
	return uint64(seen.version)
}

// uses reports whether the agent that a caller speaks as has a tool switched on. Who speaks as no agent that is known has all.
func (a *Agents) uses(ctx context.Context, who a2e.Caller, tool string) (bool, error) {
	if who.Agent == "" {
		return true, nil
	}
	seen, err := a.book.look(ctx)
	if err != nil {
		return false, err
	}
	s, _ := seen.speaker(who)
	return s == nil || s.Tools[tool], nil
}

// List implements [catalog.Agents].
func (a *Agents) List(ctx context.Context, who a2e.Caller) ([]catalog.Agent, error) {
	seen, err := a.book.look(ctx)
	if err != nil {
		return nil, err
	}
	packs := seen.of(who)
	if who.Admin {
		packs = seen.everybody()
	}
	all := []catalog.Agent{}
	for _, pack := range packs {
		for _, r := range pack.Agents {
			all = append(all, *a.present(r))
		}
	}
	slices.SortFunc(all, func(x, y catalog.Agent) int { return cmp.Compare(x.ID, y.ID) })
	return all, nil
}

// present is a record as callers see it: with all tools that there are, and those that were and are on.
func (a *Agents) present(r catalog.AgentRecord) *catalog.Agent {
	out := &catalog.Agent{
		ID: r.ID, Name: r.Name, Principal: r.Principal, Created: r.Created, Updated: r.Updated, Revision: r.Revision, Tools: []catalog.Toggle{},
	}
	known := map[string]bool{}
	for _, t := range a.all() {
		known[t.Name] = true
		out.Tools = append(out.Tools, catalog.Toggle{Tool: t.Name, Enabled: r.Tools[t.Name]})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
		if !known[name] && r.Tools[name] {
			out.Tools = append(out.Tools, catalog.Toggle{Tool: name, Enabled: true})
		}
	}
	return out
}

// Show implements [catalog.Agents].
func (a *Agents) Show(ctx context.Context, who a2e.Caller, id int64) (*catalog.Agent, error) {
	r, _, err := a.readable(ctx, who, id)
	if err != nil {
		return nil, err
	}
	return a.present(r), nil
}

// ID implements [catalog.Agents].
func (a *Agents) ID(ctx context.Context, who a2e.Caller, name string) (int64, error) {
	seen, err := a.book.look(ctx)
	if err != nil {
		return 0, err
	}
	s := seen.byName(who, name)
	if s == nil {
		return 0, noAgent(name)
	}
	return s.ID, nil
}

// Create implements [catalog.Agents]. All of its tools are off.
func (a *Agents) Create(ctx context.Context, who a2e.Caller, principal int64, name string) (*catalog.Agent, error) {
	if err := people(who); err != nil {
		return nil, err
	}
	if principal < 0 {
		return nil, refuse(catalog.ValidationError, "principal_id: expected the number of a principal.")
	}
	if principal > 0 {
		owner, err := a.store.Principal(ctx, principal)
		if errors.Is(err, catalog.ErrNone) || err == nil && !governs(who, owner) {
			return nil, noControl()
		}
		if err != nil {
			return nil, err
		}
	}
	name = strings.TrimSpace(name)
	if !auth.Name(name) || strings.Trim(name, "0123456789") == "" {
		return nil, refuse(catalog.ValidationError, "name: expected at most 128 letters, digits and . _ - : @ + | /, a letter or digit first, and not digits alone.")
	}
	r, err := a.store.AddAgent(ctx, self(who), catalog.AgentRecord{Principal: principal, Name: name}, mostAgents)
	switch {
	case errors.Is(err, catalog.ErrTaken):
		return nil, refuse(catalog.AgentTaken, "This principal has an agent named '%s' already.", shown(name))
	case errors.Is(err, catalog.ErrFull):
		return nil, refuse(catalog.ValidationError, "This principal already has the maximum of %d agents. Delete one before creating another.", mostAgents)
	case err != nil:
		return nil, err
	}
	a.book.again(ctx)
	return a.present(r), nil
}

// Delete implements [catalog.Agents].
func (a *Agents) Delete(ctx context.Context, who a2e.Caller, id, match int64) error {
	r, owner, err := a.writable(ctx, who, id)
	if err != nil {
		return err
	}
	switch err := a.store.DropAgent(ctx, id, match, owner); {
	case errors.Is(err, catalog.ErrInUse):
		return refuse(catalog.AgentInUse, "Tokens that can still be used are bound to agent '%s'. Revoke them before deleting it.", shown(r.Name))
	case err != nil:
		return a.explain(err, r.Name)
	}
	a.book.again(ctx)
	return nil
}

// readable returns an agent and whose it is, if the caller sees it.
func (a *Agents) readable(ctx context.Context, who a2e.Caller, id int64) (catalog.AgentRecord, catalog.Owner, error) {
	r, err := a.store.Agent(ctx, id)
	var owner catalog.Owner
	if err == nil {
		owner, err = a.store.Principal(ctx, r.Principal)
	}
	if errors.Is(err, catalog.ErrNone) || err == nil && !who.Admin && role(who, owner) == "" {
		return r, owner, refuse(catalog.AgentNotFound, "Agent '%d' not found.", id)
	}
	return r, owner, err
}

// writable returns the same if the caller may change it.
func (a *Agents) writable(ctx context.Context, who a2e.Caller, id int64) (catalog.AgentRecord, catalog.Owner, error) {
	r, owner, err := a.readable(ctx, who, id)
	if err == nil {
		err = people(who)
	}
	if err == nil && !governs(who, owner) {
		err = noControl()
	}
	return r, owner, err
}

// governs reports whether a caller may change the agents of a principal.
func governs(who a2e.Caller, owner catalog.Owner) bool { return who.Admin || writes(role(who, owner)) }

// people refuses who speaks as an agent: no agent says what agents may use.
func people(who a2e.Caller) error {
	if who.Agent != "" {
		return refuse(catalog.Forbidden, "An identity that speaks as an agent changes no agents and decides about no approvals.")
	}
	return nil
}

func noControl() error {
	return refuse(catalog.Forbidden, "Changing the agents of a principal requires to be that principal, or owner or admin of that group.")
}

func noAgent(name string) error {
	return refuse(catalog.AgentNotFound, "Agent '%s' not found.", shown(name))
}

// explain turns what the store says of a write into what callers are told.
func (a *Agents) explain(err error, name string) error {
	switch {
	case errors.Is(err, catalog.ErrNone):
		return noAgent(name)
	case errors.Is(err, catalog.ErrStale):
		return refuse(catalog.Conflict, "Agent '%s' has changed meanwhile: read it again.", shown(name))
	}
	return err
}

// principalOf is the principal that a caller's agent works for, 0 where no agent is known: the caller's own.
func (a *Agents) principalOf(ctx context.Context, who a2e.Caller) (int64, error) {
	seen, err := a.book.look(ctx)
	if err != nil {
		return 0, err
	}
	if _, pack := seen.speaker(who); pack != nil {
		return pack.ID, nil
	}
	return 0, nil
}
