package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/internal/control"
)

// database is what supervisors share. One of them writes at a time: a lock gives the audit its one order.
type database struct {
	costs  Costs
	writer *station

	mu     sync.Mutex
	open   map[string]bool // calls without an answer
	ended  int
	faults []error
}

func newDatabase(costs Costs) *database {
	return &database{costs: costs, writer: newStation(1, newGauge(1)), open: map[string]bool{}}
}

func (d *database) fault(format string, args ...any) {
	if len(d.faults) < 10 {
		d.faults = append(d.faults, fmt.Errorf(format, args...))
	}
}

// journal is one supervisor's writer: all that waits goes into one transaction, as in internal/store.
type journal struct {
	executor.Journal // what is read of it: nothing
	db               *database

	mu      sync.Mutex
	changes []*change
	urgent  int           // of these: somebody waits
	wake    chan struct{} // buffered
	closed  bool
	work    sync.WaitGroup
}

type change struct {
	trips int
	call  string
	said  bool          // what a skill said: one row with the rest of the same call
	do    func()        // may be nil
	done  chan struct{} // nil: nobody waits
	taken atomic.Bool   // by the writer, or by who no longer waits
}

// lull is how long what nobody waits for waits for others.
const lull = 40 * time.Millisecond

func newJournal(db *database) *journal {
	j := &journal{Journal: executor.Forgetful, db: db, wake: make(chan struct{}, 1)}
	j.work.Go(j.run)
	return j
}

func (j *journal) close() {
	j.put(nil)
	j.work.Wait()
}

func (j *journal) put(c *change) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c == nil {
		j.closed = true
	} else {
		j.changes = append(j.changes, c)
		if c.done != nil {
			j.urgent++
		}
	}
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// pressing reports whether somebody waits.
func (j *journal) pressing() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.urgent > 0 || j.closed
}

func (j *journal) run() {
	for {
		j.mu.Lock()
		batch, closed := j.changes, j.closed
		j.changes, j.urgent = nil, 0
		j.mu.Unlock()
		if len(batch) > 0 {
			j.commit(batch)
			continue
		}
		if closed {
			return
		}
		<-j.wake
		for until := time.Now().Add(lull); !j.pressing() && time.Now().Before(until); {
			select {
			case <-j.wake:
			case <-time.After(time.Until(until)):
			}
		}
	}
}

func (j *journal) commit(batch []*change) {
	trips, voices := 0, map[string]bool{}
	batch = slices.DeleteFunc(batch, func(c *change) bool { return !c.taken.CompareAndSwap(false, true) })
	for _, c := range batch {
		if !c.said || !voices[c.call] {
			trips += c.trips
		}
		voices[c.call] = voices[c.call] || c.said
	}
	_ = j.db.writer.use(context.Background(), j.db.costs.Fixed+time.Duration(trips)*j.db.costs.Trip)
	for _, c := range batch {
		if c.do != nil {
			j.db.mu.Lock()
			c.do()
			j.db.mu.Unlock()
		}
		if c.done != nil {
			close(c.done)
		}
	}
}

func (j *journal) ask(ctx context.Context, trips int, do func()) error {
	c := &change{trips: trips, do: do, done: make(chan struct{})}
	j.put(c)
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		if c.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
	}
	<-c.done
	return nil
}

// Accept implements [executor.Ledger].
func (j *journal) Accept(ctx context.Context, r control.Record, _ time.Time) (*control.Record, error) {
	return nil, j.ask(ctx, tripsAccept, func() {
		if j.db.open[r.ID] {
			j.db.fault("call %s was accepted twice", r.ID)
		}
		j.db.open[r.ID] = true
	})
}

// End implements [executor.Ledger].
func (j *journal) End(ctx context.Context, r control.Record) (control.Record, error) {
	return r, j.ask(ctx, tripsEnd, func() {
		if !j.db.open[r.ID] {
			j.db.fault("call %s has a second answer", r.ID)
		}
		delete(j.db.open, r.ID)
		j.db.ended++
	})
}

// Note implements [executor.Diary].
func (j *journal) Note(control.Call) { j.put(&change{trips: tripsNote}) }

// Say implements [executor.Diary].
func (j *journal) Say(call string, _ int, _ bool, _ json.RawMessage) {
	j.put(&change{trips: tripsSay, call: call, said: true})
}
