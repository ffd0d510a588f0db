package curator

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// agentBook knows the agents of all principals, so that no call waits for the store to know what it may use.
type agentBook struct {
	sight[agentPicture]
	store AgentStore
}

func newAgentBook(store AgentStore) *agentBook {
	b := &agentBook{store: store}
	b.update = b.after
	return b
}

// agentPicture is the book at one version. It never changes.
type agentPicture struct {
	version int64
	owners  map[catalog.Owner]*agentPack
	ids     map[int64]*agentPack
}

// agentPack is what one principal has. It never changes.
type agentPack struct {
	catalog.AgentHolding
	agents map[string]*agentState
}

// agentState is an agent and what it may use: its own list, else that of its principal, else nothing.
type agentState struct {
	catalog.AgentRecord
	allowed map[string]bool
}

// after is the picture that follows an old one.
func (b *agentBook) after(ctx context.Context, old *agentPicture) (*agentPicture, error) {
	if old == nil {
		old = &agentPicture{owners: map[catalog.Owner]*agentPack{}, ids: map[int64]*agentPack{}}
	}
	version, err := b.store.CatalogVersion(ctx)
	if err != nil || version == old.version {
		return old, err
	}
	held, version, err := b.store.AgentHoldings(ctx, old.version)
	if err != nil {
		return nil, err
	}
	next := &agentPicture{version: version, owners: maps.Clone(old.owners), ids: maps.Clone(old.ids)}
	for _, h := range held {
		next.enter(h)
	}
	return next, nil
}

func (p *agentPicture) enter(h catalog.AgentHolding) {
	if len(h.Agents) == 0 && h.Default == nil {
		delete(p.ids, h.ID)
		delete(p.owners, h.Owner)
		return
	}
	pack := &agentPack{AgentHolding: h, agents: make(map[string]*agentState, len(h.Agents))}
	for _, r := range h.Agents {
		s := &agentState{AgentRecord: r, allowed: map[string]bool{}}
		for _, name := range entries(cmp.Or(r.Allowed, h.Default)) {
			s.allowed[name] = true
		}
		pack.agents[r.Name] = s
	}
	p.ids[h.ID], p.owners[h.Owner] = pack, pack
}

func entries(list *[]string) []string {
	if list == nil {
		return nil
	}
	return *list
}

// of returns what a caller sees, its own first, and then what its groups have, in the order of their names.
func (p *agentPicture) of(who a2e.Caller) (packs []*agentPack) {
	if own := p.owners[self(who)]; own != nil {
		packs = append(packs, own)
	}
	for _, group := range slices.Sorted(maps.Keys(who.Groups)) {
		if have := p.owners[catalog.Owner{Kind: catalog.KindGroup, Name: group}]; have != nil {
			packs = append(packs, have)
		}
	}
	return packs
}

// speaker is the agent that a caller speaks as: its own of that name, else the first of its groups'. Nil where there is none.
func (p *agentPicture) speaker(who a2e.Caller) (*agentState, *agentPack) {
	if who.Agent == "" {
		return nil, nil
	}
	for _, pack := range p.of(who) {
		if s := pack.agents[who.Agent]; s != nil {
			return s, pack
		}
	}
	return nil, nil
}

// everybody returns all packs, in the order of their numbers.
func (p *agentPicture) everybody() []*agentPack {
	return slices.SortedFunc(maps.Values(p.ids), func(a, b *agentPack) int { return cmp.Compare(a.ID, b.ID) })
}

// byName finds an agent of those that a caller sees.
func (p *agentPicture) byName(who a2e.Caller, name string) *agentState {
	packs := p.of(who)
	if who.Admin {
		packs = append(packs, p.everybody()...)
	}
	for _, pack := range packs {
		if s := pack.agents[strings.TrimSpace(name)]; s != nil {
			return s
		}
	}
	return nil
}
