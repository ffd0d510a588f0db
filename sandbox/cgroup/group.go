package cgroup

import (
	"context"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

// Group is the control group around one cell. A nil group is of a cell that has none: it sees nothing and removes
// nothing.
type Group struct {
	m     *Manager
	kind  kind
	cell  string
	limit int64
	ring  *ring // v1 alone
	own   bool  // we made the group, and remove it

	ctx    context.Context // ends with the group
	cancel context.CancelFunc
	work   sync.WaitGroup // who listens to the ring

	mu        sync.Mutex
	path      string
	container string // the group that the engine makes; "": not yet
	watch     *watch // of a group that is not our own
	rung      uint64 // how often it rang before the container started, or nothing came of it
	kills     int64
	atLimit   bool
	used      sandbox.Usage
	throttled time.Duration
	killed    bool // the first process died of SIGKILL
	verified  bool // the container was seen in here
	last      sandbox.Evidence
	over      bool // no process is left: last is how it ended
	removed   bool
}

func newGroup(m *Manager, cell string, limit int64) *Group {
	g := &Group{m: m, kind: m.kind, cell: cell, limit: limit, own: !m.systemd}
	if g.own {
		g.path = path.Join(m.instancePath(), cell)
	}
	g.last.Confidence = sandbox.ConfidenceNone
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// Path is the path of a group of our own, for an engine: "/hotcell/<instance>/<cell>". It is "" where the engine's is looked
// at instead.
func (g *Group) Path() string {
	if !g.own {
		return ""
	}
	return g.path
}

// Starting is called before the engine starts the container with this id.
func (g *Group) Starting(container string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.container = path.Join(g.path, container); !g.own {
		g.path = scopePath(container)
		g.container = g.path
	}
	if g.ring != nil {
		g.rung = g.ring.take() // not ours: nothing of ours could be killed
	}
}

// Started is called once the engine has started the container. Where none of its processes is in a group of our own, the
// engine's control groups are not this host's, and the manager switches itself off.
func (g *Group) Started() {
	if g == nil {
		return
	}
	seen := g.see()
	if g.own {
		if !seen {
			g.m.switchOff("a container that should have been in " + g.path + " is not: the engine's control groups are not this host's")
		}
		return
	}
	w, err := newWatch(g.m.mounts.unified, g.path, "memory.events")
	if err != nil {
		return // it is gone already
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.removed {
		w.close()
		return
	}
	g.watch = w
	g.follow(w)
}

// see reports whether a process was ever seen in the group.
func (g *Group) see() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.verified = g.verified || g.kind.entered(g.path)
	return g.verified
}

// Evidence reads what the kernel tells of the cell so far; killed says whether its first process is known to have died of
// SIGKILL. It is complete once the cell has ended, whether or not the engine has cleaned up. After Remove it is what was
// last read.
func (g *Group) Evidence(killed bool) sandbox.Evidence {
	none := sandbox.Evidence{Confidence: sandbox.ConfidenceNone}
	if g == nil {
		return none
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over || g.removed || g.container == "" {
		return g.last
	}
	if g.verified = g.verified || g.kind.entered(g.path); !g.verified {
		return none
	}
	g.killed = g.killed || killed
	g.last = g.read()
	return g.last
}

// Ended is [Group.Evidence] of a cell whose processes have all ended, and whose groups are all there still: what it says
// stands.
func (g *Group) Ended(killed bool) sandbox.Evidence {
	ev := g.Evidence(killed)
	if g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.over = ev.Confidence == sandbox.ConfidenceKernel
	}
	return ev
}

func (g *Group) read() sandbox.Evidence {
	sure := g.sample()
	if !g.own && !sure && g.kills == 0 {
		return sandbox.Evidence{Confidence: sandbox.ConfidenceNone}
	}
	g.atLimit = g.atLimit || g.kind.atLimit(g.path, g.limit)
	s := signs{AtLimit: g.atLimit, Kills: g.kills, Sure: sure, Killed: g.killed}
	s.Rang = g.ring != nil && g.ring.rung() > g.rung
	g.note()
	ev := sandbox.Evidence{Confidence: sandbox.ConfidenceKernel, Usage: g.used}
	ev.Usage.Throttled = g.throttled
	ev.OOMKilled, ev.Pressure = s.verdict()
	return ev
}

// note keeps what the cell has used so far. A group that is gone, or about to be, says nothing.
func (g *Group) note() {
	now := g.kind.usage(g.path)
	g.used.MemoryPeak = max(g.used.MemoryPeak, now.MemoryPeak)
	g.used.CPU = max(g.used.CPU, now.CPU)
	g.used.PIDsPeak = max(g.used.PIDsPeak, now.PIDsPeak)
}

// sample reads what only the container's own group tells, while it is there, and reports whether it is.
func (g *Group) sample() bool {
	n, ok := g.kind.kills(g.container)
	if n > g.kills {
		g.kills = n
		g.atLimit = g.atLimit || g.kind.atLimit(g.path, g.limit)
	}
	if t, ok := g.kind.throttled(g.container); ok {
		g.throttled = max(g.throttled, t)
	}
	if !g.own {
		g.note()
	}
	return ok
}

// How a ring is followed up: the kill comes a moment after it, or later where many groups are out of memory at once, for
// the kernel kills for one at a time. The looks are close together at first, since a runtime removes a container's group
// some 10 ms after its end at the earliest.
const (
	firstLook = 200 * time.Microsecond
	closeLook = 8 * time.Millisecond
	slowLook  = 50 * time.Millisecond
	lastLook  = 30 * time.Second
)

// defaultSettle is how long after a ring a cell has to live on for the ring to have meant nothing.
const defaultSettle = 2 * time.Second

// listen follows the ring, until the group ends: on v1 a kill is counted in the container's group alone, which may be gone
// soon after.
func (g *Group) listen() {
	if g.ring == nil {
		return
	}
	g.work.Go(func() {
		for seen, ok := g.ring.next(0); ok; seen, ok = g.ring.next(seen) {
			g.pursue(seen)
		}
	})
}

// pursue looks for the kill that a ring announced, until it was seen, or the container is gone, or it is long past.
func (g *Group) pursue(rung uint64) {
	began := time.Now()
	for pause := firstLook; ; {
		age := time.Since(began)
		if !g.looked(rung, age > g.m.settle) || age > lastLook {
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-g.ctx.Done():
			timer.Stop()
			return
		}
		pause = min(2*pause, closeLook)
		if age > g.m.settle {
			pause = slowLook
		}
	}
}

// looked samples once and reports whether to look again.
func (g *Group) looked(rung uint64, settled bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.removed || g.container == "" {
		return false
	}
	before := g.kills
	there := g.sample()
	if there && settled {
		g.rung = max(g.rung, rung)
	}
	return g.kills == before && (there || !g.kind.entered(g.path))
}

// givenUp reports whether the group was to be removed.
func (g *Group) givenUp() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.removed
}

// Remove kills what is left in the group and removes it from every tree. After an error it may be called again.
func (g *Group) Remove() error {
	if g == nil {
		return nil
	}
	_ = g.Evidence(false) // the last look
	g.mu.Lock()
	g.removed = true
	var within []string
	if name, ok := strings.CutPrefix(g.container, g.path+"/"); ok {
		within = append(within, name)
	}
	g.mu.Unlock()
	if g.ring != nil {
		g.ring.close() // before the removal, which rings it
	}
	if g.watch != nil {
		g.watch.close()
	}
	g.cancel()
	g.work.Wait()
	if g.own {
		if err := g.m.destroy(g.path, within...); err != nil {
			return err
		}
	}
	g.m.forget(g)
	return nil
}
