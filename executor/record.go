package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotcell/hotcell/executor/admission"
	"github.com/hotcell/hotcell/executor/relay"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/policies"
)

// What is kept of a call's events: for its answer, and to be looked at afterwards.
const (
	keepEvents     = 1000
	keepEventBytes = 1 << 20
)

// call is one call's record: who asked for what, how far it is, and at last its answer. Only the goroutine that serves the
// call moves its state.
type call struct {
	id       string
	key      key
	digest   func() string    // of the request
	req      *a2e.CallRequest // without arguments and metadata once the call has ended
	override *a2e.LLMConfig   // the caller's, with its credentials, until the call ends; they are kept nowhere else
	who      a2e.Caller
	limits   policies.Limits // what the call may use, once that is decided
	ran      ran
	accepted time.Time
	spans    spans
	course   course
	asking   bool            // what it was asked is being kept, or shall not be
	listener context.Context // ends when nobody listens to events any more, and not when the call is cancelled
	cancel   context.CancelCauseFunc
	done     chan struct{} // closed once answer stands

	stay      *admission.Stay      // in the books of its principal
	over      *admission.OverError // its principal's quota is used up, as this process knows
	share     *control.Share       // what its principal may have, where the journal is to count, too
	taking    *taking              // how the journal takes it
	later     []func()             // what can wait until the cell has its request, or is to be made, or the call has its end
	early     *relay.Relay         // says how a pull goes, before there is a cell: once there is one it is the cell's
	label     string               // what metrics call its skill, once that is found
	deafen    context.CancelFunc   // ends listener
	delivered <-chan struct{}      // closed once the listener has every event; nil without a cell
	taken     atomic.Int64         // events that the listener took
	owed      atomic.Bool          // its answer is known and not journalled yet: till then it is not forgotten
	withheld  chan struct{}        // closed when its answer is not given before it is journalled

	mu      sync.Mutex
	view    control.Call
	events  []json.RawMessage // a map costs twenty times its JSON
	kept    int               // bytes of events
	dropped int
	answer  json.RawMessage
	asked   *control.Request    // what is kept of the request; once the call has ended that is in the journal, unless it is short
	policy  *policies.Effective // until the call ends
	again   bool                // the answer says nothing about the request itself, so the same request may be made again
}

// postpone keeps what can wait, until [call.catchUp].
func (c *call) postpone(begin func()) { c.later = append(c.later, begin) }

// catchUp begins what was postponed, each once, whatever becomes of the others.
func (c *call) catchUp() {
	for len(c.later) > 0 {
		begin := c.later[0]
		c.later = c.later[1:]
		begin()
	}
}

// to moves the call to its next state. A step that the table does not know is a bug of this package's, and is refused.
func (c *call) to(s control.State) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !follows(c.view.State, s) {
		return false
	}
	c.view.State = s
	return true
}

func (c *call) update(f func(v *control.Call)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.view)
}

// keep notes an event within the bounds, and counts what it drops. It returns the event as JSON, nil if it has none.
func (c *call) keep(ev *a2e.Event) json.RawMessage {
	b, err := ev.MarshalJSON() // json.Marshal would go over a large event again
	c.mu.Lock()
	defer c.mu.Unlock()
	c.view.Events++
	if err != nil || len(c.events) >= keepEvents || c.kept+len(b) > keepEventBytes {
		c.dropped++
		return b
	}
	c.events = append(c.events, b)
	c.kept += len(b)
	return b
}

// told returns the kept events with a sequence number of at least from, and how many were dropped.
func (c *call) told(from int) (events []a2e.Event, dropped int) {
	c.mu.Lock()
	kept := c.events // only ever appended to
	dropped = c.dropped
	c.mu.Unlock()
	for _, b := range kept {
		if ev, ok := eventOf(b); ok && ev.Seq >= from {
			events = append(events, ev)
		}
	}
	return events, dropped
}

// eventOf reads an event that was kept. What a cell put into it grows twentyfold when it is decoded, so that stays as it is.
func eventOf(b json.RawMessage) (a2e.Event, bool) {
	var ev struct {
		a2e.Event
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(b, &ev) != nil {
		return a2e.Event{}, false
	}
	ev.Event.Data = relay.Shallow(ev.Data)
	return ev.Event, true
}

// end sets the answer and wakes whoever waits for it.
func (c *call) end(answer json.RawMessage, again bool) {
	c.mu.Lock()
	c.answer, c.again, c.policy = answer, again, nil
	if c.asked != nil && len(c.asked.Args) > shortArgs {
		c.asked = nil
	}
	c.mu.Unlock()
	c.cancel(nil)
	close(c.done)
}

// unload drops what the call was asked with, which its answer and its record need no more.
func (c *call) unload() {
	own := *c.req
	own.Arguments, own.Metadata, own.LLMOverride = nil, nil, nil
	c.req = &own
}

// withdraw wakes whoever waits for a call that was not taken in after all: they try for themselves.
func (c *call) withdraw() {
	c.mu.Lock()
	c.again = true
	c.mu.Unlock()
	close(c.done)
}

func (c *call) hasEnded() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *call) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(len(c.answer) + c.kept)
}

// shown is now with the phases.
func (c *call) shown() control.Call {
	view := c.now()
	view.Phases = c.course.phases(c.accepted, view.Ended)
	return view
}

// now is the call as it stands, without its phases.
func (c *call) now() control.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view
}

// snapshot returns the call as it stands and its answer, nil before its end.
func (c *call) snapshot() (control.Call, *a2e.CallResponse) {
	c.mu.Lock()
	raw := c.answer
	c.mu.Unlock()
	return c.shown(), answerOf(raw)
}

// await waits for the answer of a call that another request started. It is nil when that answer is not worth repeating.
func (c *call) await(ctx context.Context) *a2e.CallResponse {
	var patience <-chan time.Time
	for withheld := c.withheld; ; {
		select {
		case <-c.done:
			if c.again {
				return nil
			}
			_, answer := c.snapshot()
			return answer
		case <-withheld:
			withheld, patience = nil, time.After(answerLimit)
		case <-patience:
			return c.refuse(unheard())
		case <-ctx.Done():
			return c.refuse(cancelledBy(canceller(ctx)))
		}
	}
}

// refuse answers whoever does not wait for the call any longer. The request itself is its server's own.
func (c *call) refuse(fail *a2e.Error) *a2e.CallResponse {
	return answerTo(c.id, c.key.reqID, c.now().Skill, 0, fail)
}

// decode reads JSON and keeps its numbers as they are written.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(v)
}

func clip(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}
