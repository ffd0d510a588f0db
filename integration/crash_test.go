package integration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

// moodSkill does as it is told: it sleeps, speaks, fails or dies.
const moodSkill = `import json, os, sys, time
args = json.loads(sys.stdin.readline())["arguments"]
print("in a mood", flush=True)
time.sleep(args["seconds"])
if args["mood"] == "fails":
    sys.exit(3)
if args["mood"] == "dies":
    os.kill(os.getpid(), 9)
print(json.dumps({"type": "skill/result", "success": True, "data": args["n"]}))
`

// chaos is a daemon that is killed again and again, and what became of the calls that it was sent.
type chaos struct {
	t    *testing.T
	dir  string
	bin  string
	env  []string
	rand *rand.Rand // of the one who kills

	mu      sync.Mutex
	daemon  *daemon
	dead    []string // ids of the killed
	answers map[string]answered
	left    int // calls that have no answer yet
}

type answered struct {
	line   string
	answer *a2e.CallResponse
	at     time.Time // when it was first sent
	sent   int
}

func (c *chaos) now() *daemon {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.daemon
}

// chaosRequest is the nth call: always the same for one seed.
func chaosRequest(seed uint64, n int) (id, line string) {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	id = fmt.Sprintf("chaos-%d", n)
	mood := []string{"fine", "fine", "fine", "fails", "dies"}[r.IntN(5)]
	return id, fmt.Sprintf(`{"type":"skill/call/req","id":%q,"name":"mood","arguments":{"n":%d,"mood":%q,"seconds":%.2f}}`,
		id, n, mood, r.Float64())
}

// ask sends a call until somebody answers it. Whoever is killed answers nothing; the next one does.
func (c *chaos) ask(id, line string) {
	got := answered{line: line, at: time.Now()}
	deadline := time.Now().Add(5 * time.Minute)
	for time.Now().Before(deadline) {
		got.sent++
		answer, _, err := c.now().call(line)
		if err == nil {
			got.answer = answer
			break
		}
		time.Sleep(20 * time.Millisecond) // until the next one listens
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[id] = got
	c.left--
}

// restart kills the daemon and starts the next one.
func (c *chaos) restart() {
	old := c.now()
	dead := old.id(c.t)
	old.kill(c.t)
	next := serveIn(c.t, c.dir, c.bin, c.env...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.daemon, c.dead = next, append(c.dead, dead)
}

func (c *chaos) unanswered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}

// Calls that are sent while the daemon is killed again and again have each exactly one answer, and nothing is left of the
// killed ones. HOTCELL_SOAK_CALLS is the number of calls, HOTCELL_SOAK_SEED what they and the moments come from.
func TestChaos(t *testing.T) {
	calls, kills, pause, seed := 12, 2, 1500*time.Millisecond, uint64(1)
	if soaking() {
		calls, seed = number(t, "HOTCELL_SOAK_CALLS", calls), uint64(number(t, "HOTCELL_SOAK_SEED", 1))
		kills, pause = calls, 5*time.Second // as long as there is something to kill
	}
	c := &chaos{
		t: t, dir: t.TempDir(), bin: binary(t), rand: rand.New(rand.NewPCG(seed, 1<<32)), answers: map[string]answered{}, left: calls,
		env: []string{"HOTCELL_SKILLS=" + skillFolder(t, map[string]string{"mood": moodSkill}), "HOTCELL__SANDBOX__MAX_CELLS=3", "HOTCELL__POOL__IDLE=2s"},
	}
	c.daemon = serveIn(t, c.dir, c.bin, c.env...)
	var callers sync.WaitGroup
	next := make(chan int)
	for range 4 {
		callers.Go(func() {
			for n := range next {
				c.ask(chaosRequest(seed, n))
			}
		})
	}
	go func() { // ends with the last call
		defer close(next)
		for n := range calls {
			next <- n
		}
	}()
	for range kills {
		time.Sleep(time.Duration(c.rand.Int64N(int64(pause)))) // the moment is what is tested
		if c.unanswered() == 0 {
			break
		}
		c.restart()
	}
	began := time.Now()
	testutil.Poll(t, patience(10*time.Second), func() bool { return c.remains(c.dead) == "" })
	t.Logf("nothing of %d killed daemons is left %v after the last start", len(c.dead), time.Since(began).Round(time.Millisecond))
	callers.Wait()
	c.judge(seed, calls)
	all := append(slices.Clone(c.dead), c.daemon.id(t)) // also what an engine has made of a killed one's last wish
	testutil.Poll(t, patience(10*time.Second), func() bool { return c.remains(all) == "" })
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: expected a number above 0", name, text)
	}
	return n
}

// remains says what is left of the instances: on the engine, and as cgroups.
func (c *chaos) remains(ids []string) string {
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

// judge compares what callers were told with what the journal says, and with what they are told again.
func (c *chaos) judge(seed uint64, calls int) {
	c.t.Helper()
	verdicts, again := map[string]int{}, 0
	records := c.records()
	for n := range calls {
		id, _ := chaosRequest(seed, n)
		got := c.answers[id]
		if got.answer == nil {
			c.t.Errorf("%s: no answer", id)
			continue
		}
		verdicts[verdictOf(got.answer)]++
		if len(records[id]) != 1 {
			c.t.Errorf("%s: %d records: %+v", id, len(records[id]), records[id])
		}
		var shown struct {
			Call   control.Call      `json:"call"`
			Answer *a2e.CallResponse `json:"answer"`
		}
		if err := json.Unmarshal([]byte(c.show(id, n)), &shown); err != nil {
			c.t.Errorf("%s: %v", id, err)
		}
		if is, was := wire(shown.Answer), wire(got.answer); is != was {
			c.t.Errorf("%s: the answer was %s, and the journal has %s", id, was, is)
		}
		if shown.Call.Ended.IsZero() || shown.Call.ReqID != id {
			c.t.Errorf("%s: %+v", id, shown.Call)
		}
		if time.Since(got.at) > 8*time.Minute {
			continue // a request is the same again for ten minutes
		}
		again++
		if answer, _, err := c.daemon.call(got.line); err != nil || wire(answer) != wire(got.answer) {
			c.t.Errorf("%s: the answer was %s, and sent again: %v, %s", id, wire(got.answer), err, wire(answer))
		}
	}
	if len(records) != calls {
		c.t.Errorf("%d requests are on record, want %d", len(records), calls)
	}
	c.t.Logf("seed %d: %d calls, %d kills, %d sent again: %v", seed, calls, len(c.dead), again, verdicts)
}

// records returns the calls on record, by request id.
func (c *chaos) records() map[string][]control.Call {
	c.t.Helper()
	r := command(c.t, c.bin, "", "calls", "list", "--limit", "0", "--json", "--url", c.daemon.url)
	var all []control.Call
	if err := json.Unmarshal([]byte(r.stdout), &all); err != nil {
		c.t.Fatalf("%v: %+v", err, r)
	}
	byReq := map[string][]control.Call{}
	for _, call := range all {
		byReq[call.ReqID] = append(byReq[call.ReqID], call)
	}
	return byReq
}

// show is `hotcell calls show ID --json` for the first few, and the same from the daemon itself for the rest.
func (c *chaos) show(id string, n int) string {
	c.t.Helper()
	if n >= 12 {
		return get(c.t, c.daemon.url+"/v1/calls/"+id)
	}
	r := command(c.t, c.bin, "", "calls", "show", id, "--json", "--url", c.daemon.url)
	if r.exit != 0 {
		c.t.Errorf("calls show %s: %+v", id, r)
	}
	return r.stdout
}

// wire is an answer as callers see it.
func wire(answer *a2e.CallResponse) string {
	b, err := json.Marshal(answer)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func verdictOf(answer *a2e.CallResponse) string {
	if answer.Error == nil {
		return "ok"
	}
	return string(answer.Error.Code) + "/" + answer.Error.Reason()
}
