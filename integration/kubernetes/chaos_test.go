package kubernetes

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/integration/fleet"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

const pythonImage = "hotcell/python:3"

// modest are the limits of the skill: what a cell may have is set aside for it, and a node has little.
const modest = "limits: {memory: 64Mi, cpu: \"0.1\", workspace: 4Mi, out: 4Mi}\n"

// cluster is a namespace of its own for the cells of supervisors on this host, and the files that each needs in its data folder.
type cluster struct {
	namespace string
	images    string // a folder of imported images, which data folders link to
	env       []string
	*built
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	b := build(t)
	testutil.Require(t, "image-python")
	c := &cluster{built: b, namespace: "hotcell-fleet-" + strings.ToLower(rand.Text()[:8])}
	testutil.Kubectl(t, "", "create", "namespace", c.namespace)
	t.Cleanup(func() { testutil.Kubectl(t, "", "delete", "namespace", c.namespace, "--wait=false") })
	testutil.Kubectl(t, "", "label", "namespace", c.namespace, "pod-security.kubernetes.io/enforce=restricted")
	c.env = []string{
		"HOTCELL__SANDBOX__DRIVER=kubernetes", "HOTCELL__SANDBOX__ACCEPT_UNENFORCED=seccomp,network,paths,mounts",
		"HOTCELL__KUBERNETES__NAMESPACE=" + c.namespace, "HOTCELL__KUBERNETES__RUNNER_IMAGE=" + b.runner,
	}
	archive, data := filepath.Join(t.TempDir(), "python.tar"), filepath.Join(t.TempDir(), "data")
	for _, args := range [][]string{{"docker", "save", pythonImage, "-o", archive}, {b.bin, "images", "import", archive, "--data-dir", data}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	testutil.KubeLoad(t, archive)
	c.images = filepath.Join(data, "images")
	return c
}

// furnish gives a data folder the images, as links.
func (c *cluster) furnish(t *testing.T, dir string) {
	t.Helper()
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-al", c.images, data).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// Calls that are spread over three supervisors on one store of which one after the other is killed have each exactly one answer and at
// most one pod; what the dead had in the cluster is removed by those that live; and once those have ended nothing is left.
// HOTCELL_SOAK_CALLS is the number of calls, HOTCELL_SOAK_SEED what they come from.
func TestChaosOfAFleet(t *testing.T) {
	calls, kills, pause, seed := 40, 2, 10*time.Second, uint64(1)
	if fleet.Soaking() {
		calls, seed = fleet.Number(t, "HOTCELL_SOAK_CALLS", calls), uint64(fleet.Number(t, "HOTCELL_SOAK_SEED", 1))
		kills = calls // as long as there is something to kill
	}
	c := newCluster(t)
	fleet.SharedStore(t)
	seen := watch(t, c.namespace)
	f := fleet.New(t, fleet.Options{
		Daemons: 3, Bin: c.bin, Prepare: c.furnish,
		Env: append(c.env, "HOTCELL_SKILLS="+fleet.Skills(t, map[string]string{"mood": fleet.MoodSkill}, modest), "HOTCELL__SANDBOX__MAX_CELLS=3", "HOTCELL__POOL__MAX=0"),
	})
	began := time.Now()
	answered := f.Send(seed, calls, 6)
	f.Kill(kills, func() time.Duration { return pause })
	answered()
	t.Logf("soak: %d calls and %d kills in %v", calls, len(f.Dead()), time.Since(began).Round(time.Second))
	c.buried(t, f, seen)
	ownersSeen(t, seen.all())
	records := f.Judge(seed, calls)
	noneRanTwice(t, records, seen.all())
	if r := fleet.Command(t, c.bin, "", "audit", "verify"); r.Exit != 0 {
		t.Errorf("audit verify: %+v", r)
	}
	for _, d := range f.Daemons() {
		d.Stop(t)
	}
	if left := remains(t, c.namespace); left != "" {
		t.Errorf("all supervisors have ended, and in the cluster there is %s", left)
	}
}

// buried waits until nothing is left of the killed, and says how long that took for each.
func (c *cluster) buried(t *testing.T, f *fleet.Fleet, seen *chronicle) {
	t.Helper()
	dead := f.Dead()
	if len(dead) == 0 {
		t.Fatal("nobody was killed before the last answer: nothing was tested")
	}
	testutil.Poll(t, fleet.Patience(30*time.Second), func() bool {
		left, _ := seen.left(dead...)
		return len(left) == 0
	})
	var took []time.Duration
	for _, id := range dead {
		if _, last := seen.left(id); !last.IsZero() { // one that was killed before its first call had nothing
			took = append(took, last.Sub(f.Killed(id)))
		}
	}
	if len(took) == 0 {
		t.Fatal("none of the killed had anything in the cluster: nothing was tested")
	}
	slices.Sort(took)
	t.Logf("soak: nothing is left of a killed supervisor after %v (median), %v (the longest)", took[len(took)/2].Round(10*time.Millisecond), took[len(took)-1].Round(10*time.Millisecond))
	if longest := took[len(took)-1]; longest > fleet.Patience(reapLimit) {
		t.Errorf("something was left of a killed supervisor for %v, expected at most %v", longest, reapLimit)
	}
	for _, one := range seen.all() {
		if at := f.Killed(one.owner); slices.Contains(dead, one.owner) && one.went.After(at) {
			t.Logf("%s %s: came %v, went %v after its supervisor was killed", one.kind, one.name, one.came.Sub(at).Round(10*time.Millisecond), one.went.Sub(at).Round(10*time.Millisecond))
		}
	}
}

// reapLimit is how long after the death of a supervisor its cells may be there.
const reapLimit = 10 * time.Second

// ownersSeen: whoever had a pod had the ConfigMap that owns it.
func ownersSeen(t *testing.T, things []thing) {
	t.Helper()
	has := map[string]string{}
	for _, one := range things {
		has[one.owner] += one.kind + ", "
	}
	for owner, kinds := range has {
		if owner != "" && strings.Contains(kinds, "Pod cell") && !strings.Contains(kinds, "ConfigMap instance") {
			t.Errorf("supervisor %s had no owner of its pods: %s", owner, kinds)
		}
	}
}

// noneRanTwice compares the calls on record with the pods that were there: a call has one at most, which is its own.
func noneRanTwice(t *testing.T, records []control.Call, things []thing) {
	t.Helper()
	pods := map[string][]string{} // by call
	for _, one := range things {
		if one.kind == "Pod cell" {
			pods[one.call] = append(pods[one.call], one.name+"/"+one.id)
		}
	}
	ran := 0
	for _, r := range records {
		had := pods[r.ID]
		delete(pods, r.ID)
		ran += len(had)
		if len(had) > 1 || r.Cell != "" && !slices.Contains(had, r.Cell) {
			t.Errorf("call %s (%s) had the pods %v, and %q on record", r.ID, r.ReqID, had, r.Cell)
		}
	}
	for call, had := range pods {
		t.Errorf("pods %v are of call %s, which is not on record", had, call)
	}
	t.Logf("soak: %d calls had %d pods", len(records), ran)
}
