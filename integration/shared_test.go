package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// fleet is several daemons on one Postgres, each with a data folder of its own, so that nothing but the store tells them of one
// another.
type fleet struct {
	chaos
	daemons []*daemon
	started int
}

func newFleet(t *testing.T, n int, env ...string) *fleet {
	t.Helper()
	server := testutil.Postgres(t)
	for name, value := range map[string]string{ // commands find the store, too
		"HOTCELL__STORE__URL": "env:FLEET_STORE", "FLEET_STORE": server.URL, "HOTCELL__AUDIT__KEY": "env:FLEET_KEY", "FLEET_KEY": strings.Repeat("5a", 32),
	} {
		t.Setenv(name, value)
	}
	f := &fleet{chaos: chaos{t: t, dir: t.TempDir(), bin: binary(t), answers: map[string]answered{}, env: append([]string{
		"HOTCELL_SKILLS=" + skillFolder(t, map[string]string{"mood": moodSkill}), "HOTCELL__SANDBOX__MAX_CELLS=3", "HOTCELL__POOL__MAX=0",
	}, env...)}}
	for range n {
		f.daemons = append(f.daemons, f.start())
	}
	f.daemon = f.daemons[0]
	return f
}

func (f *fleet) start() *daemon {
	f.mu.Lock()
	f.started++
	dir := filepath.Join(f.dir, fmt.Sprint(f.started))
	f.mu.Unlock()
	if err := os.Mkdir(dir, 0o700); err != nil {
		f.t.Fatal(err)
	}
	return serveIn(f.t, dir, f.bin, f.env...)
}

func (f *fleet) any() *daemon {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.daemons[rand.IntN(len(f.daemons))]
}

// ask sends a call to any daemon until one answers it.
func (f *fleet) ask(id, line string) {
	got := answered{line: line, at: time.Now()}
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		got.sent++
		if answer, _, err := f.any().call(line); err == nil {
			got.answer = answer
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[id] = got
	f.left--
}

// replace kills a daemon and starts another one elsewhere.
func (f *fleet) replace(i int) {
	old := f.daemons[i]
	dead := old.id(f.t)
	old.kill(f.t)
	next := f.start()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.daemons[i], f.dead = next, append(f.dead, dead)
	f.daemon = next
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
	f.left = calls
	var callers sync.WaitGroup
	next := make(chan int)
	for range 6 {
		callers.Go(func() {
			for n := range next {
				f.ask(chaosRequest(seed, n))
			}
		})
	}
	go func() { // ends with the last call
		defer close(next)
		for n := range calls {
			next <- n
		}
	}()
	for i := range kills {
		time.Sleep(pause) // the moment is what is tested
		if f.unanswered() == 0 {
			break
		}
		f.replace(i % len(f.daemons))
	}
	callers.Wait()
	began := time.Now()
	testutil.Poll(t, patience(30*time.Second), func() bool { return f.remains(f.dead) == "" })
	t.Logf("nothing of %d killed daemons is left %v after the last answer", len(f.dead), time.Since(began).Round(time.Millisecond))
	f.judge(seed, calls)
	all := slices.Clone(f.dead)
	for _, d := range f.daemons {
		all = append(all, d.id(t))
	}
	testutil.Poll(t, patience(30*time.Second), func() bool { return f.remains(all) == "" })
	if r := command(t, f.bin, "", "audit", "verify"); r.exit != 0 {
		t.Errorf("audit verify: %+v", r)
	}
}

// A call is seen, followed and cancelled through a daemon that does not run it.
func TestACallOnAnotherReplica(t *testing.T) {
	f := newFleet(t, 2)
	runs, other := f.daemons[0], f.daemons[1]
	var wg sync.WaitGroup
	wg.Go(func() {
		answer, _, err := runs.call(`{"type":"skill/call/req","id":"w1","name":"mood","arguments":{"n":1,"mood":"fine","seconds":200}}`)
		if err != nil || answer.Error == nil || answer.Error.Reason() != a2e.ReasonCancelled {
			t.Errorf("%v, %+v", err, answer)
		}
	})
	testutil.Poll(t, time.Minute, func() bool { return strings.Contains(get(t, other.url+"/v1/calls/w1"), `"Running"`) })
	testutil.Poll(t, time.Minute, func() bool { return strings.Contains(get(t, other.url+"/v1/calls/w1/events"), "in a mood") })
	if !strings.Contains(get(t, other.url+"/v1/calls"), `"w1"`) {
		t.Error("the other one does not list it")
	}
	began := time.Now()
	if r := command(t, f.bin, "", "calls", "cancel", "w1", "--url", other.url); r.exit != 0 {
		t.Errorf("calls cancel: %+v", r)
	}
	wg.Wait()
	t.Logf("cancelled after %s", time.Since(began).Round(time.Millisecond))
	if text := get(t, other.url+"/v1/calls/w1"); !strings.Contains(text, `"Canceled"`) {
		t.Error(text)
	}
}

// What a principal may have at once it has in all daemons together, of which a dead one's count no more.
func TestAQuotaOfAFleet(t *testing.T) {
	f := newFleet(t, 2, "HOTCELL__QUOTAS__IN_FLIGHT=1")
	runs, other := f.daemons[0], f.daemons[1]
	dead := runs.id(t)
	line := func(id string, seconds int) string {
		return fmt.Sprintf(`{"type":"skill/call/req","id":%q,"name":"mood","arguments":{"n":1,"mood":"fine","seconds":%d}}`, id, seconds)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if answer, _, err := runs.call(line("w1", 250)); err == nil {
			t.Errorf("the killed one answered %+v", answer)
		}
	})
	testutil.Poll(t, time.Minute, func() bool { return strings.Contains(get(t, other.url+"/v1/calls/w1"), `"Running"`) })
	for n, d := range f.daemons {
		id := fmt.Sprint("over-", n)
		answer, _, err := d.call(line(id, 0))
		if err != nil || verdictOf(answer) != "runtime_error/quota" || answer.Error.Message != "the quota of 1 calls in flight is used up" {
			t.Errorf("daemon %d: %v, %+v", n, err, answer)
		}
		if text := get(t, other.url+"/v1/calls/"+id); !strings.Contains(text, `"Failed"`) || !strings.Contains(text, `"retry_after":1`) {
			t.Errorf("%s is on record as %s", id, text)
		}
	}
	runs.kill(t)
	wg.Wait()
	began := time.Now()
	testutil.Poll(t, time.Minute, func() bool {
		answer, _, err := other.call(line("over-1", 0))
		return err == nil && verdictOf(answer) == "ok"
	})
	t.Logf("there was room %v after the kill", time.Since(began).Round(time.Millisecond))
	testutil.Poll(t, patience(30*time.Second), func() bool { return f.remains([]string{dead}) == "" })
}

// A daemon that was stopped for so long that others closed its calls finds that out: it destroys its cells and ends. Its callers
// are told what the others said.
func TestAStoppedDaemonIsFenced(t *testing.T) {
	f := newFleet(t, 2)
	stopped, other := f.daemons[0], f.daemons[1]
	id := stopped.id(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		answer, _, err := stopped.call(`{"type":"skill/call/req","id":"w1","name":"mood","arguments":{"n":1,"mood":"fine","seconds":200}}`)
		if err == nil && (answer.Error == nil || answer.Error.Reason() != a2e.ReasonSupervisorRestart) {
			t.Errorf("%+v", answer)
		}
	})
	testutil.Poll(t, time.Minute, func() bool { return strings.Contains(get(t, other.url+"/v1/calls/w1"), `"Running"`) })
	if err := stopped.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	testutil.Poll(t, time.Minute, func() bool { return strings.Contains(get(t, other.url+"/v1/calls/w1"), a2e.ReasonSupervisorRestart) })
	t.Logf("its call was closed after %s", time.Since(began).Round(time.Millisecond))
	if err := stopped.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	<-stopped.read
	if err := stopped.cmd.Wait(); err == nil || !strings.Contains(stopped.stderr.String(), "declared this one dead") {
		t.Errorf("%v: %s", err, stopped.stderr)
	}
	wg.Wait()
	testutil.Poll(t, time.Minute, func() bool { return f.remains([]string{id}) == "" })
}
