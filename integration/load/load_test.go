package load

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/store"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// envLoad says how long the load lasts, as a duration.
const envLoad = "LOAD"

// tenants are the principals, each with its callers of a thousand. All but the last have enough to fill the queue.
var tenants = []struct {
	name    string
	callers int
}{{"huge", 600}, {"large", 250}, {"middle", 100}, {"small", 49}, {"single", 1}}

const (
	mostCells = 4 // of calls at once
	mostWait  = 6 // cells that wait for calls
	shortRun  = 120
)

// load is one run.
type load struct {
	*rig.Rig
	t      *testing.T
	deck   []*kind
	began  time.Time
	enough chan struct{}   // closed after as many calls as a short run has
	over   context.Context // ends with the load: who queues then is sent away

	done    atomic.Int64
	away    atomic.Int64
	mu      sync.Mutex
	tally   map[string]int             // completed calls by tenant
	ends    map[string]int             // by kind
	waits   map[string][]time.Duration // of calls, from request to answer, by tenant
	seconds []int                      // completed calls by second
	wrong   int
}

// TestLoad has a thousand callers of five tenants call skills of every kind and end, each one call after the other.
func TestLoad(t *testing.T) {
	for _, part := range []string{"docker", "image-python"} {
		testutil.Require(t, part)
	}
	long, _ := time.ParseDuration(os.Getenv(envLoad))
	divisor := 1
	l := &load{t: t, enough: make(chan struct{}), tally: map[string]int{}, ends: map[string]int{}, waits: map[string][]time.Duration{}}
	if long == 0 {
		divisor = 20
	}
	l.open(long)
	watch := l.watch()
	defer watch()
	l.calm()
	var end context.CancelFunc
	l.over, end = context.WithCancel(t.Context())
	defer end()
	l.began = time.Now()
	if long > 0 {
		defer time.AfterFunc(long, end).Stop()
	} else {
		go func() { <-l.enough; end() }()
	}
	var callers sync.WaitGroup
	for _, tenant := range tenants {
		for i := range (tenant.callers + divisor - 1) / divisor {
			callers.Go(func() { l.caller(tenant.name, uint64(i)) })
		}
	}
	callers.Wait()
	l.calm()
	l.judge(watch(), long)
}

// open wires the supervisor, with a journal as a daemon has it.
func (l *load) open(long time.Duration) {
	l.t.Helper()
	all := kinds()
	l.deck = deck(all)
	journal, err := store.Open(l.t.Context(), store.Options{Path: filepath.Join(l.t.TempDir(), "calls.db"), Keep: store.Keep{Events: time.Hour}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := journal.Close(); err != nil {
			l.t.Error(err)
		}
	})
	room := func(memory int64) bool { return l.Rig == nil || l.Room(memory) }
	busy := func() bool { return l.Rig != nil && l.Busy() }
	opts := rig.Options{
		Runner: testutil.GoBuild(l.t, "github.com/hotcell/hotcell/cmd/hotcell-runner"), Skills: folders(all), Instance: instance,
		Remember: time.Minute, Warm: warm.Options{Max: mostWait, Room: room, Busy: busy},
		Adjust: func(cfg *executor.Config) {
			cfg.MaxCells, cfg.MaxQueue, cfg.QueueTimeout, cfg.Journal = mostCells, 2000, long+10*time.Minute, journal
			cfg.EmbedEvents = false
		},
	}
	opts.Cgroup.Root = groups
	r, err := rig.New(opts)
	if err != nil {
		l.t.Fatal(err)
	}
	l.Rig = r
	l.t.Cleanup(func() {
		if err := r.Close(2 * time.Minute); err != nil {
			l.t.Errorf("close: %v", err)
		}
	})
}

// calm makes calls with nobody else about, until a cell that waited serves one.
func (l *load) calm() {
	l.t.Helper()
	for range 10 {
		answer := l.Call(l.t.Context(), a2e.Caller{Principal: "single", Door: "load"}, &a2e.CallRequest{Name: "plain", Arguments: map[string]any{"n": 1}}, nil)
		if answer.Error != nil {
			l.t.Fatal(answer.Error)
		}
		if view, _, err := l.Show(l.t.Context(), answer.ID); err == nil && l.Waited(view.Cell) {
			return
		}
		testutil.Poll(l.t, 30*time.Second, func() bool { return len(l.Pool.Waiting("plain")) > 0 })
	}
	l.t.Error("no cell that waited served a call, though nobody else calls")
}

// caller calls one skill after another until the load is over.
func (l *load) caller(tenant string, serial uint64) {
	random := rand.New(rand.NewPCG(serial, uint64(len(tenant))))
	for n := 0; l.over.Err() == nil; n++ {
		l.call(tenant, l.deck[random.IntN(len(l.deck))], n)
	}
}

// call makes one call and holds its answer against what must be.
func (l *load) call(tenant string, k *kind, n int) {
	req := &a2e.CallRequest{Name: k.name, Arguments: map[string]any{"n": n}}
	if k.seconds > 0 {
		req.Timeout = &k.seconds
	}
	events := 0
	asked := time.Now()
	answer := l.Call(l.over, a2e.Caller{Principal: tenant, Door: "load"}, req, a2e.EventWriterFunc(func(_ context.Context, ev *a2e.Event) error {
		if ev.Seq != events {
			l.t.Errorf("%s: event %d has the number %d", k.name, events, ev.Seq)
		}
		events++
		return nil
	}))
	took := time.Since(asked)
	if l.over.Err() != nil && answer.Error != nil && answer.Error.Reason() == a2e.ReasonCancelled {
		l.away.Add(1)
		return
	}
	wrong := k.wrong(answer, events, n)
	l.mu.Lock()
	defer l.mu.Unlock()
	if wrong != "" && l.wrong < 20 {
		l.t.Errorf("%s: %s", k.name, wrong)
	}
	if wrong != "" {
		l.wrong++
	}
	if l.done.Add(1) == shortRun {
		close(l.enough)
	}
	l.tally[tenant]++
	l.ends[k.name]++
	l.waits[tenant] = append(l.waits[tenant], took)
	second := int(time.Since(l.began) / time.Second)
	for len(l.seconds) <= second {
		l.seconds = append(l.seconds, 0)
	}
	l.seconds[second]++
}

// wrong says what is not as it must be; "" for nothing.
func (k *kind) wrong(answer *a2e.CallResponse, events, n int) string {
	var code a2e.Code
	var reason string
	if answer.Error != nil {
		code, reason = answer.Error.Code, answer.Error.Reason()
	}
	if code != k.code || reason != k.reason {
		return fmt.Sprintf("got %q, reason %q: %v; want %q, %q", code, reason, answer.Error, k.code, k.reason)
	}
	if events < k.events {
		return fmt.Sprintf("%d events, want at least %d", events, k.events)
	}
	if code == "" {
		if b, err := json.Marshal(answer.Data.Data); err != nil || string(b) != fmt.Sprint(n) {
			return fmt.Sprintf("the answer is %s, of another call than %d: %v", b, n, err)
		}
	}
	return ""
}
