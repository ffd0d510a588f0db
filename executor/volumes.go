package executor

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/sandbox"
)

// Volumes bounds what stays on an engine of volumes with bundles that nobody uses. A zero field is the default that its
// comment names. The next call of a skill whose volume is gone waits until there is another.
type Volumes struct {
	Idle   time.Duration // that of a custom skill goes so long after its last use, for each revision has its own; 0: 15m
	Custom int           // of custom skills, beside those that have just been used; 0: 64
	All    int           // of all skills, beside those that have just been used; 0: 1024
}

func (v Volumes) filled() Volumes {
	return Volumes{cmp.Or(v.Idle, 15*time.Minute), cmp.Or(v.Custom, 64), cmp.Or(v.All, 1024)}
}

// bundle is a skill's folder as cells have it.
func bundle(skill *skills.Skill, target string) sandbox.Tree {
	name := sandbox.TreeBundle
	if skill.Custom() {
		name = sandbox.TreeCustom
	}
	return sandbox.Tree{Name: name, Digest: skill.Bundle.Digest, Target: target, FS: skill.Bundle.FS}
}

// mostUses bounds how many trees are remembered; of more it is known when their volumes were made.
const mostUses = 8192

// uses is when this supervisor last made or took a cell with which trees, by digest.
type uses struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func (u *uses) note(now time.Time, digests ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, d := range digests {
		if _, known := u.last[d]; d != "" && (known || len(u.last) < mostUses) {
			u.last[d] = now
		}
	}
}

// of returns what is known of the listed volumes, and forgets the others unless they may be about to come.
func (u *uses) of(all []sandbox.Listed, now time.Time) map[string]time.Time {
	there := map[string]bool{}
	for _, l := range all {
		there[l.Labels[sandbox.LabelDigest]] = true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.last, func(digest string, at time.Time) bool { return !there[digest] && now.Sub(at) > creationGrace })
	return maps.Clone(u.last)
}

// surplus returns why volumes with bundles go that are not too old, by id. It is a pure function of what is known: used is
// when trees were last used here. Whether others use a volume is the engine's to say: it gives away none that is in use.
func surplus(all []sandbox.Listed, now time.Time, used map[string]time.Time, most Volumes) map[string]string {
	type idle struct {
		id   string
		last time.Time
	}
	why := map[string]string{}
	var bundles, customs []idle
	for _, l := range all {
		if l.Kind != "volume" || l.Tree != sandbox.TreeBundle && l.Tree != sandbox.TreeCustom || volumeGarbage(l, now) != (judgement{}) {
			continue
		}
		one := idle{l.ID, l.Created}
		if at := used[l.Labels[sandbox.LabelDigest]]; at.After(one.last) {
			one.last = at
		}
		known, since := !one.last.IsZero(), now.Sub(one.last)
		switch {
		case known && since < min(creationGrace, most.Idle): // somebody may be about to use it
			continue
		case l.Tree == sandbox.TreeCustom && known && since > most.Idle:
			why[l.ID] = "it is a custom skill's, and was not used lately"
			continue
		case l.Tree == sandbox.TreeCustom:
			customs = append(customs, one)
		}
		bundles = append(bundles, one)
	}
	excess := func(list []idle, most int, because string) {
		slices.SortFunc(list, func(a, b idle) int { return cmp.Or(b.last.Compare(a.last), cmp.Compare(a.id, b.id)) })
		for _, one := range list[min(most, len(list)):] {
			why[one.id] = because
		}
	}
	excess(bundles, most.All, "there are too many bundles that nobody uses")
	excess(customs, most.Custom, "there are too many bundles of custom skills that nobody uses")
	return why
}
