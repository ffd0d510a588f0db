package integration

import (
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	supervisors "github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// napSkill sleeps as long as it is told and succeeds.
const napSkill = `import json, sys, time
time.sleep(json.loads(sys.stdin.readline())["arguments"]["seconds"])
print('{"type":"skill/result","success":true,"data":"slept"}')
`

func nap(id string, seconds string) string {
	return `{"type":"skill/call/req","id":"` + id + `","name":"nap","arguments":{"seconds":` + seconds + `}}`
}

// owned are the listed things of an instance, as "kind state" by id.
func owned(id string) map[string]string {
	things := map[string]string{}
	for _, l := range listed() {
		if l.Labels[sandbox.LabelInstance] == id {
			things[l.ID] = l.Kind + " " + l.State
		}
	}
	return things
}

func count(things map[string]string, what string) int {
	n := 0
	for _, w := range things {
		if w == what {
			n++
		}
	}
	return n
}

// labels are a cell's, as the driver writes them.
func labels(kind, owner, name string) map[string]string {
	return map[string]string{
		sandbox.LabelManaged: "1", sandbox.LabelKind: kind, sandbox.LabelInstance: owner, "hotcell.name": name,
		sandbox.LabelExpires: strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10),
	}
}

// A daemon that is killed leaves cells that end by themselves, and nothing at all once the next one has started, which
// touches nobody else's.
func TestKillNine(t *testing.T) {
	bin := binary(t)
	env := "HOTCELL_SKILLS=" + skillFolder(t, map[string]string{"nap": napSkill})
	d := serve(t, bin, env, "HOTCELL__POOL__MAX=1")
	dead := d.ID(t)
	var calls sync.WaitGroup
	for _, id := range []string{"a", "b", "c"} {
		calls.Go(func() {
			if answer, _, err := d.Call(nap(id, "300")); err == nil {
				t.Errorf("%s was answered by a dead daemon: %+v", id, answer)
			}
		})
	}
	// Three calls, and a cell that waits for the next one.
	testutil.Poll(t, time.Minute, func() bool { return count(owned(dead), "cell running") == 4 })
	d.Kill(t)
	killed := time.Now()
	calls.Wait()
	testutil.Poll(t, patience(2*time.Second), func() bool { return count(owned(dead), "cell running") == 0 })
	t.Logf("the cells of a killed daemon have ended after %v", time.Since(killed).Round(time.Millisecond))

	for _, state := range []string{"created", "running", "exited", "paused"} {
		container(t, "hotcell-reap-"+state+"-"+dead, state, labels("cell", dead, "hotcell-reap-"+state+"-"+dead))
	}
	container(t, "hotcell-fill-"+dead, "created", labels("fill", dead, "hotcell-fill-"+dead))
	if n := len(owned(dead)); n != 9 {
		t.Errorf("the dead one has %d things, want 4 cells that ended, 4 in other states and a fill: %v", n, owned(dead))
	}
	others := bystanders(t, d.Dir, dead)
	beside := serve(t, bin, env, "HOTCELL__POOL__MAX=0")
	var call sync.WaitGroup
	call.Go(func() {
		answer, _, err := beside.Call(nap("beside", "6"))
		if err != nil || answer.Error != nil || answer.Data.Data != "slept" {
			t.Errorf("the call of another daemon: %v, %+v", err, answer)
		}
	})
	testutil.Poll(t, time.Minute, func() bool { return count(owned(beside.ID(t)), "cell running") == 1 })

	began := time.Now()
	next := serveIn(t, d.Dir, bin, env)
	testutil.Poll(t, patience(10*time.Second), func() bool { return len(owned(dead)) == 0 })
	t.Logf("all is gone %v after the next start", time.Since(began).Round(time.Millisecond))
	call.Wait()
	for id, was := range others {
		if is := state(id); is != was {
			t.Errorf("a bystander, %s before, is now %q: %s", was, is, next.Stderr)
		}
	}
	if got := next.Instances(t); len(got) != 3 || got[dead] || !got["living"] {
		t.Errorf("instances %v, want the dead one, the bystander and the next", got)
	}
}

// bystanders makes what a sweep must leave alone: cells of another live supervisor of the same data folder, of one that
// nobody knows and that has not expired, and containers that carry our labels and are not ours. It returns their states.
func bystanders(t *testing.T, dir, dead string) map[string]string {
	t.Helper()
	living, err := supervisors.Open(filepath.Join(dir, "data", "instances"), "living")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := living.Close(); err != nil {
			t.Error(err)
		}
	})
	states := map[string]string{}
	add := func(name, state string, l map[string]string) { states[container(t, name, state, l)] = state }
	mine := "hotcell-reap-living-" + dead
	add(mine, "running", labels("cell", "living", mine))
	foreign := "hotcell-reap-foreign-" + dead
	add(foreign, "exited", labels("cell", "other"+dead, foreign))
	add("somebodys-"+dead, "running", labels("cell", dead, "another-name"))
	unowned := "unowned-" + dead
	l := labels("cell", "", unowned)
	l[sandbox.LabelExpires] = "1"
	add(unowned, "created", l)
	odd := "odd-" + dead
	l = labels("pool", dead, odd)
	add(odd, "created", l)
	return states
}

// Two supervisors share a data folder: each runs its calls and touches none of the other's.
func TestTwoOfOneFolder(t *testing.T) {
	bin := binary(t)
	env := "HOTCELL_SKILLS=" + skillFolder(t, map[string]string{"nap": napSkill})
	d := serve(t, bin, env)
	var call sync.WaitGroup
	call.Go(func() {
		answer, _, err := d.Call(nap("theirs", "5"))
		if err != nil || answer.Error != nil || answer.Data.Data != "slept" {
			t.Errorf("the daemon's call: %v, %+v", err, answer)
		}
	})
	testutil.Poll(t, time.Minute, func() bool { return count(owned(d.ID(t)), "cell running") == 1 })
	t.Setenv("HOTCELL_SKILLS", strings.TrimPrefix(env, "HOTCELL_SKILLS="))
	for range 3 {
		if r := command(t, bin, "", "run", "nap", "--arg", "seconds:=0", "--data-dir", filepath.Join(d.Dir, "data")); r.Exit != 0 {
			t.Errorf("%+v", r)
		}
	}
	call.Wait()
	if got := d.Instances(t); len(got) != 1 {
		t.Errorf("instances %v, want the daemon alone", got)
	}
}

// A command that makes one call removes what dead ones left, and stays quiet about it.
func TestRunSweeps(t *testing.T) {
	bin := binary(t)
	dir := t.TempDir()
	env := "HOTCELL_SKILLS=" + skillFolder(t, map[string]string{"nap": napSkill})
	d := serveIn(t, dir, bin, env)
	dead := d.ID(t)
	d.Kill(t)
	container(t, "hotcell-reap-"+dead, "running", labels("cell", dead, "hotcell-reap-"+dead))
	t.Setenv("HOTCELL_SKILLS", strings.TrimPrefix(env, "HOTCELL_SKILLS="))
	testutil.Poll(t, time.Minute, func() bool { // what is stuck for longer than a command waits is the next one's
		r := command(t, bin, "", "run", "nap", "--arg", "seconds:=0", "--data-dir", filepath.Join(dir, "data"))
		if r.Exit != 0 || strings.Contains(r.Stderr, "left behind") {
			t.Fatalf("%+v", r)
		}
		return len(owned(dead)) == 0
	})
	if got := d.Instances(t); len(got) != 1 || got[dead] {
		t.Errorf("instances %v, want the dead one alone", got)
	}
}
