package executor

import (
	"strconv"
	"testing"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

func TestGarbage(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	in := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	thing := func(kind, owner, expires string) sandbox.Listed {
		return sandbox.Listed{ID: "id", Kind: kind, Name: "n", Created: now.Add(-time.Hour), Labels: map[string]string{
			sandbox.LabelManaged: "1", sandbox.LabelInstance: owner, sandbox.LabelExpires: expires,
		}}
	}
	volume := func(age time.Duration, labels map[string]string) sandbox.Listed {
		l := sandbox.Listed{ID: "v", Kind: "volume", Labels: labels}
		if age != 0 {
			l.Created = now.Add(-age)
		}
		return l
	}
	aged := func(l sandbox.Listed, age time.Duration) sandbox.Listed {
		l.Created = now.Add(-age)
		return l
	}
	full := map[string]string{sandbox.LabelManaged: "1", sandbox.LabelDigest: "d"}
	var (
		dead, live = standing{known: true}, standing{known: true, alive: true}
		stranger   = standing{}
	)
	tests := []struct {
		name string
		l    sandbox.Listed
		st   standing
		want judgement
	}{
		{"ours in use", thing("cell", "me", in(time.Minute)), standing{ours: true, inUse: true}, judgement{}},
		{"ours in use, expired long ago", thing("cell", "me", in(-48*time.Hour)), standing{ours: true, inUse: true, unused: time.Hour}, judgement{}},
		{"ours, just seen", thing("cell", "me", in(time.Minute)), standing{ours: true, unused: creationGrace - 1}, judgement{}},
		{"ours, expired, just seen", thing("fill", "me", in(-48*time.Hour)), standing{ours: true}, judgement{}},
		{"ours, nobody's", thing("cell", "me", in(time.Hour)), standing{ours: true, unused: creationGrace}, judgement{garbage: "this supervisor does not use it"}},
		{"our fill, nobody's", thing("fill", "me", in(time.Hour)), standing{ours: true, unused: creationGrace}, judgement{garbage: "this supervisor does not use it"}},
		{"our cgroup, nobody's", thing("cgroup", "me", ""), standing{ours: true, unused: creationGrace}, judgement{garbage: "this supervisor does not use it"}},

		{"a live one's", thing("cell", "x", in(time.Minute)), live, judgement{}},
		{"a live one's, expired", thing("cell", "x", in(-time.Minute)), live, judgement{}},
		{"a live one's, after a jump of the clock", thing("cell", "x", in(-10*365*24*time.Hour)), live, judgement{}},
		{"a live one's fill, expired", thing("fill", "x", in(-time.Minute)), live, judgement{}},
		{"a live one's cgroup", thing("cgroup", "x", ""), live, judgement{}},
		{"a live one's cgroup, old", aged(thing("cgroup", "x", ""), 48*time.Hour), live, judgement{}},

		{"what stands for us", thing("instance", "me", ""), standing{ours: true, unused: 48 * time.Hour}, judgement{}},
		{"what stands for a live one", aged(thing("instance", "x", ""), 100*24*time.Hour), live, judgement{}},
		{"what stands for one that nobody knows", aged(thing("instance", "x", ""), 100*24*time.Hour), stranger, judgement{}},
		{"what stands for a dead one", aged(thing("instance", "x", ""), time.Second), dead, judgement{garbage: "its supervisor is dead"}},
		{"what stands for nobody", thing("instance", "", ""), stranger, judgement{odd: "it names no owner"}},

		{"a dead one's cell", thing("cell", "x", in(time.Hour)), dead, judgement{garbage: "its supervisor is dead"}},
		{"a dead one's fill", thing("fill", "x", in(time.Hour)), dead, judgement{garbage: "its supervisor is dead"}},
		{"a dead one's cgroup", thing("cgroup", "x", ""), dead, judgement{garbage: "its supervisor is dead"}},
		{"a dead one's cell without expiry", thing("cell", "x", "soon"), dead, judgement{garbage: "its supervisor is dead"}},

		{"a stranger's", thing("cell", "x", in(0)), stranger, judgement{}},
		{"a stranger's, expired", thing("cell", "x", in(-time.Second)), stranger, judgement{garbage: "it has expired, and nobody here owns it"}},
		{"a stranger's, expired by a jump", thing("cell", "x", in(-time.Hour)), standing{jumped: time.Hour}, judgement{}},
		{"a stranger's, expired in spite of a jump", thing("cell", "x", in(-time.Hour-time.Second)), standing{jumped: time.Hour}, judgement{garbage: "it has expired, and nobody here owns it"}},
		{"a stranger's cgroup, old by a jump", aged(thing("cgroup", "x", ""), cgroupAge+time.Minute), standing{jumped: time.Minute}, judgement{}},
		{"a stranger's fill, expired", thing("fill", "x", in(-time.Second)), stranger, judgement{garbage: "it has expired, and nobody here owns it"}},
		{"a stranger's cgroup", aged(thing("cgroup", "x", ""), cgroupAge-time.Second), stranger, judgement{}},
		{"a stranger's cgroup, an hour old", aged(thing("cgroup", "x", ""), cgroupAge+time.Second), stranger, judgement{garbage: "it has expired, and nobody here owns it"}},
		{"a stranger's cgroup of no age", sandbox.Listed{Kind: "cgroup", Labels: map[string]string{sandbox.LabelInstance: "x"}}, stranger, judgement{}},

		{"no owner", thing("cell", "", in(-48*time.Hour)), stranger, judgement{odd: "it names no owner"}},
		{"no labels", sandbox.Listed{Kind: "cell"}, stranger, judgement{odd: "it names no owner"}},
		{"no expiry", thing("cell", "x", ""), stranger, judgement{odd: "it does not say when it expires"}},
		{"an expiry that is no number", thing("cell", "x", "yesterday"), stranger, judgement{odd: "it does not say when it expires"}},
		{"an expiry that is no number, of a live one", thing("cell", "x", "1e3"), live, judgement{odd: "it does not say when it expires"}},
		{"an expiry of zero", thing("cell", "x", "0"), stranger, judgement{odd: "it does not say when it expires"}},
		{"an expiry before time", thing("cell", "x", "-1"), live, judgement{odd: "it does not say when it expires"}},
		{"an expiry after all time", thing("cell", "x", "9223372036854775807"), live, judgement{}},
		{"an expiry that is too large", thing("cell", "x", "9223372036854775808"), stranger, judgement{odd: "it does not say when it expires"}},
		{"a kind of its own", thing("pool", "x", in(-48*time.Hour)), dead, judgement{odd: "its kind is none of hotcell's"}},
		{"no kind", thing("", "x", in(-48*time.Hour)), dead, judgement{odd: "its kind is none of hotcell's"}},

		{"a volume", volume(volumeAge, full), stranger, judgement{}},
		{"an old volume", volume(volumeAge+time.Second, full), stranger, judgement{garbage: "it is old"}},
		{"a volume from tomorrow", volume(-time.Hour, full), stranger, judgement{}},
		{"a volume of no age", volume(0, full), stranger, judgement{}},
		{"an old volume without content", volume(2*volumeAge, map[string]string{sandbox.LabelManaged: "1"}), stranger, judgement{odd: "it does not say what it holds"}},
		{"an old volume of others", volume(2*volumeAge, nil), dead, judgement{odd: "it does not say what it holds"}},
	}
	for _, tt := range tests {
		if got := garbage(tt.l, now, tt.st); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestJumped(t *testing.T) {
	for _, tt := range []struct{ wall, passed, want time.Duration }{
		{time.Minute, time.Minute, 0}, {time.Hour, time.Minute, 59 * time.Minute}, {-time.Hour, time.Minute, 0},
	} {
		if got := jumped(tt.wall, tt.passed); got != tt.want {
			t.Errorf("%v on the wall, %v passed: %v, want %v", tt.wall, tt.passed, got, tt.want)
		}
	}
}
