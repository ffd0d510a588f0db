package integration

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/integration/fleet"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// newFleet starts several daemons on one Postgres, each with a data folder of its own, so that nothing but the store tells them of one
// another.
func newFleet(t *testing.T, n int, env ...string) *fleet.Fleet {
	t.Helper()
	fleet.SharedStore(t)
	return fleet.New(t, fleet.Options{Daemons: n, Bin: binary(t), Env: append([]string{
		"HOTCELL_SKILLS=" + skillFolder(t, map[string]string{"mood": fleet.MoodSkill}), "HOTCELL__SANDBOX__MAX_CELLS=3", "HOTCELL__POOL__MAX=0",
	}, env...)})
}

// Calls that are spread over three daemons of which one after the other is killed have each exactly one answer, and nothing is
// left. HOTCELL_SOAK_CALLS is the number of calls, HOTCELL_SOAK_SEED what they come from.
func TestChaosOfAFleet(t *testing.T) {
	calls, kills, pause, seed := 15, 2, 2*time.Second, uint64(1)
	if soaking() {
		calls, seed = number(t, "HOTCELL_SOAK_CALLS", calls), uint64(number(t, "HOTCELL_SOAK_SEED", 1))
		kills, pause = calls, 10*time.Second
	}
	f := newFleet(t, 3)
	answered := f.Send(seed, calls, 6)
	f.Kill(kills, func() time.Duration { return pause })
	answered()
	began := time.Now()
	testutil.Poll(t, patience(30*time.Second), func() bool { return remains(f.Dead()) == "" })
	t.Logf("nothing of %d killed daemons is left %v after the last answer", len(f.Dead()), time.Since(began).Round(time.Millisecond))
	f.Judge(seed, calls)
	all := f.IDs()
	testutil.Poll(t, patience(30*time.Second), func() bool { return remains(all) == "" })
	if r := command(t, f.Bin, "", "audit", "verify"); r.Exit != 0 {
		t.Errorf("audit verify: %+v", r)
	}
}

// A call is seen, followed and cancelled through a daemon that does not run it.
func TestACallOnAnotherReplica(t *testing.T) {
	f := newFleet(t, 2)
	daemons := f.Daemons()
	runs, other := daemons[0], daemons[1]
	var wg sync.WaitGroup
	wg.Go(func() {
		answer, _, err := runs.Call(`{"type":"skill/call/req","id":"w1","name":"mood","arguments":{"n":1,"mood":"fine","seconds":200}}`)
		if err != nil || answer.Error == nil || answer.Error.Reason() != a2e.ReasonCancelled {
			t.Errorf("%v, %+v", err, answer)
		}
	})
	testutil.Poll(t, time.Minute, func() bool { return strings.Contains(get(t, other.URL+"/v1/calls/w1"), `"Running"`) })
	testutil.Poll(t, time.Minute, func() bool { return strings.Contains(get(t, other.URL+"/v1/calls/w1/events"), "in a mood") })
	if !strings.Contains(get(t, other.URL+"/v1/calls"), `"w1"`) {
		t.Error("the other one does not list it")
	}
	began := time.Now()
	if r := command(t, f.Bin, "", "calls", "cancel", "w1", "--url", other.URL); r.Exit != 0 {
		t.Errorf("calls cancel: %+v", r)
	}
	wg.Wait()
	t.Logf("cancelled after %s", time.Since(began).Round(time.Millisecond))
	if text := get(t, other.URL+"/v1/calls/w1"); !strings.Contains(text, `"Canceled"`) {
		t.Error(text)
	}
}

// What a principal may have at once it has in all daemons together, of which a dead one's count no more.
func TestAQuotaOfAFleet(t *testing.T) {
	f := newFleet(t, 2, "HOTCELL__QUOTAS__IN_FLIGHT=1")
	daemons := f.Daemons()
	runs, other := daemons[0], daemons[1]
	dead := runs.ID(t)
	line := func(id string, seconds int) string {
		return fmt.Sprintf(`{"type":"skill/call/req","id":%q,"name":"mood","arguments":{"n":1,"mood":"fine","seconds":%d}}`, id, seconds)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if answer, _, err := runs.Call(line("w1", 250)); err == nil {
			t.Errorf("the killed one answered %+v", answer)
		}
	})
	testutil.Poll(t, time.Minute, func() bool { return strings.Contains(get(t, other.URL+"/v1/calls/w1"), `"Running"`) })
	for n, d := range daemons {
		id := fmt.Sprint("over-", n)
		answer, _, err := d.Call(line(id, 0))
		if err != nil || answer.Error == nil || answer.Error.Reason() != a2e.ReasonQuota || answer.Error.Message != "the quota of 1 calls in flight is used up" {
			t.Errorf("daemon %d: %v, %+v", n, err, answer)
		}
		if text := get(t, other.URL+"/v1/calls/"+id); !strings.Contains(text, `"Failed"`) || !strings.Contains(text, `"retry_after":1`) {
			t.Errorf("%s is on record as %s", id, text)
		}
	}
	runs.Kill(t)
	wg.Wait()
	began := time.Now()
	testutil.Poll(t, time.Minute, func() bool {
		answer, _, err := other.Call(line("over-1", 0))
		return err == nil && answer.Error == nil
	})
	t.Logf("there was room %v after the kill", time.Since(began).Round(time.Millisecond))
	testutil.Poll(t, patience(30*time.Second), func() bool { return remains([]string{dead}) == "" })
}

// A daemon that was stopped for so long that others closed its calls finds that out: it destroys its cells and ends. Its callers
// are told what the others said.
func TestAStoppedDaemonIsFenced(t *testing.T) {
	f := newFleet(t, 2)
	daemons := f.Daemons()
	stopped, other := daemons[0], daemons[1]
	id := stopped.ID(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		answer, _, err := stopped.Call(`{"type":"skill/call/req","id":"w1","name":"mood","arguments":{"n":1,"mood":"fine","seconds":200}}`)
		if err == nil && (answer.Error == nil || answer.Error.Reason() != a2e.ReasonSupervisorRestart) {
			t.Errorf("%+v", answer)
		}
	})
	testutil.Poll(t, time.Minute, func() bool { return strings.Contains(get(t, other.URL+"/v1/calls/w1"), `"Running"`) })
	if err := stopped.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	testutil.Poll(t, time.Minute, func() bool { return strings.Contains(get(t, other.URL+"/v1/calls/w1"), a2e.ReasonSupervisorRestart) })
	t.Logf("its call was closed after %s", time.Since(began).Round(time.Millisecond))
	if err := stopped.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	<-stopped.Read
	if err := stopped.Cmd.Wait(); err == nil || !strings.Contains(stopped.Stderr.String(), "declared this one dead") {
		t.Errorf("%v: %s", err, stopped.Stderr)
	}
	wg.Wait()
	testutil.Poll(t, time.Minute, func() bool { return remains([]string{id}) == "" })
}
