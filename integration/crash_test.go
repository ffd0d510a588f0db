package integration

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/integration/fleet"
	"github.com/hotcell/hotcell/internal/testutil"
)

// Calls that are sent while the daemon is killed again and again have each exactly one answer, and nothing is left of the
// killed ones. HOTCELL_SOAK_CALLS is the number of calls, HOTCELL_SOAK_SEED what they and the moments come from.
func TestChaos(t *testing.T) {
	calls, kills, pause, seed := 12, 2, 1500*time.Millisecond, uint64(1)
	if soaking() {
		calls, seed = number(t, "HOTCELL_SOAK_CALLS", calls), uint64(number(t, "HOTCELL_SOAK_SEED", 1))
		kills, pause = calls, 5*time.Second // as long as there is something to kill
	}
	f := fleet.New(t, fleet.Options{
		Daemons: 1, Heirs: true, Bin: binary(t),
		Env: []string{"HOTCELL_SKILLS=" + skillFolder(t, map[string]string{"mood": fleet.MoodSkill}), "HOTCELL__SANDBOX__MAX_CELLS=3", "HOTCELL__POOL__IDLE=2s"},
	})
	moments := rand.New(rand.NewPCG(seed, 1<<32))
	answered := f.Send(seed, calls, 4)
	f.Kill(kills, func() time.Duration { return time.Duration(moments.Int64N(int64(pause))) })
	began := time.Now()
	testutil.Poll(t, patience(10*time.Second), func() bool { return remains(f.Dead()) == "" })
	t.Logf("nothing of %d killed daemons is left %v after the last start", len(f.Dead()), time.Since(began).Round(time.Millisecond))
	answered()
	f.Judge(seed, calls)
	all := f.IDs() // also what an engine has made of a killed one's last wish
	testutil.Poll(t, patience(10*time.Second), func() bool { return remains(all) == "" })
}

// remains says what is left of the instances: on the engine, and as cgroups.
func remains(ids []string) string {
	var left []string
	for _, l := range listed() {
		if owner := l.Labels["hotcell.instance"]; slices.Contains(ids, owner) {
			left = append(left, l.Kind+" "+l.Name+" "+l.State)
		}
	}
	for _, pattern := range []string{"/sys/fs/cgroup/hotcell/*/*/", "/sys/fs/cgroup/*/hotcell/*/*/"} {
		found, _ := filepath.Glob(pattern)
		for _, dir := range found {
			if slices.Contains(ids, filepath.Base(filepath.Dir(filepath.Clean(dir)))) {
				left = append(left, dir)
			}
		}
	}
	return strings.Join(left, ", ")
}
