package control

import (
	"context"
	"errors"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// ErrNotFound: no call has this id or request id.
var ErrNotFound = errors.New("no such call")

// ErrEnded: the call has ended already, so it cannot be cancelled.
var ErrEnded = errors.New("call has ended")

// ErrElsewhere: the call runs in another process that shares the journal, so it cannot be cancelled from here.
var ErrElsewhere = errors.New("call runs in another hotcell process")

// ErrCursor: a page that nobody has been given.
var ErrCursor = errors.New("no such page")

// ErrNoSkill: there is no such skill.
var ErrNoSkill = errors.New("no such skill")

// State is where a call stands.
type State string

// The states, in the order in which a call passes them.
const (
	Queued    State = "Queued"
	Preparing State = "Preparing"
	Starting  State = "Starting"
	Running   State = "Running"
	Stopping  State = "Stopping"
	Succeeded State = "Succeeded"
	Failed    State = "Failed"
	Canceled  State = "Canceled"
)

// Terminal reports whether a call in this state has ended.
func (s State) Terminal() bool { return s == Succeeded || s == Failed || s == Canceled }

// Call is what can be told of a call. Times are zero when not reached.
type Call struct {
	ID        string    `json:"id"`
	ReqID     string    `json:"req_id"`
	Skill     string    `json:"skill"`
	Principal string    `json:"principal,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Door      string    `json:"door"`
	State     State     `json:"state"`
	Cell      string    `json:"cell,omitempty"`
	Hosted    bool      `json:"hosted,omitempty"` // it runs in the supervisor's own process, without a cell
	Accepted  time.Time `json:"accepted"`
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	Deadline  time.Time `json:"deadline,omitzero"`
	Code      a2e.Code  `json:"code,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Events    int       `json:"events"` // how many the skill has sent
	// Usage is what the call's cell used; nil before its end and where it could not be measured.
	Usage *Usage `json:"usage,omitempty"`
	// Confidence says where the facts about the cell's end come from: kernel, engine, runner, none. "" without a cell.
	Confidence string `json:"confidence,omitempty"`
	// Unenforced are the words of the controls that the cell was without, which the operator had accepted
	// (sandbox.accept_unenforced).
	Unenforced []string `json:"unenforced,omitempty"`
	// Notes are facts beside a result that stands: oom_child, exit_code, signal, engine_lost.
	Notes map[string]any `json:"notes,omitempty"`
	// Phases are the parts of its life, as far as it has come; nil where nobody noted them.
	Phases []Phase `json:"phases,omitempty"`
	// Account is for the audit alone; nil where nothing is known. Who has it does not change it.
	Account *Account `json:"-"`
	// Ran is the policy that it ran under, for the journal alone; nil where nothing is known. Who has it does not change it.
	Ran *Ran `json:"-"`
}

// Usage is what a cell used from its start to its end. A zero field was not measured.
type Usage struct {
	MemoryPeakBytes int64 `json:"memory_peak_bytes,omitempty"`
	CPUMS           int64 `json:"cpu_ms,omitempty"`
	ThrottledMS     int64 `json:"throttled_ms,omitempty"`
	PIDsPeak        int   `json:"pids_peak,omitempty"`
}

// Control is the supervisor as an operator sees it. Ids are call ids or request ids; a request id that several calls had
// names the newest.
type Control interface {
	// List returns the calls, newest first, at most limit. The newest 10,000 are all that can be listed, and are when limit
	// is 0.
	List(ctx context.Context, limit int) ([]Call, error)
	// Show returns one call and, when it has ended, its answer.
	Show(ctx context.Context, id string) (Call, *a2e.CallResponse, error)
	// Events returns the events that are kept of a call, in order, those with a sequence number of at least from. A call's
	// events may be more than fit in one answer: there is no more once an answer is empty.
	Events(ctx context.Context, id string, from int) ([]a2e.Event, error)
	// Cancel asks a call to end. It returns once the request is noted, with ErrEnded, ErrElsewhere or ErrNotFound if it
	// cannot be.
	Cancel(ctx context.Context, id string) error
}
