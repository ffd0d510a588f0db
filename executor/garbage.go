package executor

import (
	"strconv"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

const (
	creationGrace = 2 * time.Minute    // for what this supervisor does not know of: somebody may still be making it
	cgroupAge     = time.Hour          // cgroups carry no expiry: so long after, no container comes into one that has none
	volumeAge     = 7 * 24 * time.Hour // volumes are a cache by content that all supervisors share
)

// standing is what this supervisor knows of a listed thing beside the thing itself.
type standing struct {
	ours   bool          // it is labelled with our instance
	inUse  bool          // it is one of our cells, or what belongs to one
	unused time.Duration // ours and not in use: for how long we have known that

	alive, known bool          // another owner; see [Owners]
	jumped       time.Duration // how far the clock has jumped ahead since the thing was first listed
}

// judgement says what becomes of a listed thing. The zero value keeps it.
type judgement struct {
	garbage string // why it is garbage; "": it is kept
	odd     string // what is not as hotcell makes it; such a thing is never touched because of its labels alone
}

// garbage decides whether a listed thing may be removed. It is a pure function of what is known; what is doubtful is kept.
// What a live supervisor owns is its own business, whatever the clock says: clocks jump, and then all has expired at once.
func garbage(l sandbox.Listed, now time.Time, st standing) judgement {
	switch l.Kind {
	case "volume":
		return volumeGarbage(l, now)
	case "instance":
		return instanceGarbage(l, st)
	case "cell", "fill", "cgroup":
	default:
		return judgement{odd: "its kind is none of hotcell's"}
	}
	switch {
	case l.Labels[sandbox.LabelInstance] == "":
		return judgement{odd: "it names no owner"}
	case st.ours && st.inUse:
		return judgement{}
	case st.ours && st.unused >= creationGrace:
		return judgement{garbage: "this supervisor does not use it"}
	case st.ours:
		return judgement{}
	case st.known && !st.alive:
		return judgement{garbage: "its supervisor is dead"}
	}
	at, ok := expires(l)
	switch {
	case !ok && l.Kind == "cgroup":
		return judgement{} // where its age is not known either; its owner's next start decides
	case !ok:
		return judgement{odd: "it does not say when it expires"}
	case !st.known && at < now.Add(-st.jumped).Unix():
		return judgement{garbage: "it has expired, and nobody here owns it"}
	}
	return judgement{}
}

// instanceGarbage is for what stands for a supervisor itself on an engine, and has no other end than its own.
func instanceGarbage(l sandbox.Listed, st standing) judgement {
	switch {
	case l.Labels[sandbox.LabelInstance] == "":
		return judgement{odd: "it names no owner"}
	case !st.ours && st.known && !st.alive:
		return judgement{garbage: "its supervisor is dead"}
	}
	return judgement{}
}

func volumeGarbage(l sandbox.Listed, now time.Time) judgement {
	switch {
	case l.Labels[sandbox.LabelManaged] != "1" || l.Labels[sandbox.LabelDigest] == "":
		return judgement{odd: "it does not say what it holds"}
	case l.Created.IsZero(): // not every engine tells
		return judgement{}
	case now.Sub(l.Created) > volumeAge:
		return judgement{garbage: "it is old"}
	}
	return judgement{}
}

// expires returns when a thing is garbage whoever owns it, in Unix seconds.
func expires(l sandbox.Listed) (int64, bool) {
	if l.Kind == "cgroup" {
		return l.Created.Add(cgroupAge).Unix(), !l.Created.IsZero()
	}
	at, err := strconv.ParseInt(l.Labels[sandbox.LabelExpires], 10, 64)
	return at, err == nil && at > 0
}
