package control

import (
	"context"
	"encoding/json"
	"time"
)

// Verdicts that a [CallQuery] knows beside the codes of errors.
const (
	VerdictRunning   = "running"   // not ended
	VerdictSucceeded = "succeeded" // a result, whatever it says
	VerdictFailed    = "failed"    // any error but a cancellation
	VerdictCanceled  = "canceled"
)

// MaxPage is the most calls that one page of a search has.
const MaxPage = 200

// CallQuery says which calls are meant. A zero field leaves them all.
type CallQuery struct {
	Skill, Principal, Agent, Door string
	Verdict                       string    // one of the verdicts above, or the code of an error
	Since, Until                  time.Time // when they were accepted: Since is included, Until is not
	Before                        string    // the cursor of an earlier page
	Limit                         int       // 1 to [MaxPage]; 0: 50
}

// CallPage is a page of calls, the newest first.
type CallPage struct {
	Calls []Call `json:"calls"`
	Next  string `json:"next,omitempty"` // the cursor of what is older; "": there is nothing
}

// StatsQuery says over which time numbers are wanted. Buckets are of one length: Until - Since over Buckets.
type StatsQuery struct {
	Since, Until time.Time
	Buckets      int // 1 to 200
}

// Stats are numbers of the calls that ended within a time.
type Stats struct {
	Buckets []Bucket    `json:"buckets"`
	Codes   []CodeCount `json:"codes"`  // the most frequent first; "ok" is success
	Skills  []SkillStat `json:"skills"` // the most called first, at most 200
	Total   Tally       `json:"total"`
}

// Bucket is what ended within a slice of the time.
type Bucket struct {
	From  time.Time      `json:"from"`
	Codes map[string]int `json:"codes"` // by code; "ok" is success
	Tally
}

// CodeCount is how often calls ended with a code.
type CodeCount struct {
	Code string `json:"code"`
	N    int    `json:"n"`
}

// Tally is how many calls there were and how long they took from their acceptance to their end, about: latencies come out of
// a histogram whose bounds are at most a tenth apart.
type Tally struct {
	Calls  int           `json:"calls"`
	Failed int           `json:"failed"` // without those that were cancelled
	P50    time.Duration `json:"p50_ns"`
	P95    time.Duration `json:"p95_ns"`
	P99    time.Duration `json:"p99_ns"`
}

// SkillStat is the tally of one skill.
type SkillStat struct {
	Skill string `json:"skill"`
	Tally
}

// Request is what a call was asked, as far as it is kept.
type Request struct {
	Args    json.RawMessage `json:"args,omitempty"`
	Timeout time.Duration   `json:"timeout_ns,omitempty"` // that was asked for; 0: none
	Files   int             `json:"files,omitempty"`      // that came with it; they are not kept
	Missing string          `json:"missing,omitempty"`    // why the call can't be repeated from this; "": it can
}

// Ran is the policy that a call ran under.
type Ran struct {
	Digest  string   `json:"digest"`
	Choices []Choice `json:"choices"`
	Clamps  []Clamp  `json:"clamps"`
}

// Choice is one field of an effective policy, and who decided it.
type Choice struct {
	Field string `json:"field"`
	Value string `json:"value"`
	From  string `json:"from"` // hotcell, operator, skill, call, ...
}

// Clamp is a wish that was cut.
type Clamp struct {
	Field   string `json:"field"`
	By      string `json:"by"`    // whose bound held
	Asker   string `json:"asker"` // who wanted more
	Asked   string `json:"asked"`
	Granted string `json:"granted"`
}

// Phase is a part of a call's life. Those of a call follow each other without a gap.
type Phase struct {
	Name string        `json:"name"` // plan, queue, prepare, lease, start, run, answer, teardown
	From time.Duration `json:"from_ns"`
	Took time.Duration `json:"took_ns"`
}

// Book is where calls are looked up. Of other principals' calls than are meant it knows nothing.
type Book interface {
	// Search returns a page of calls. A cursor that is none fails with [ErrCursor].
	Search(ctx context.Context, whose Whose, q CallQuery) (CallPage, error)
	// Stats returns numbers of calls.
	Stats(ctx context.Context, whose Whose, q StatsQuery) (*Stats, error)
	// Request returns what a call was asked, or [ErrNotFound] for a call that nobody knows.
	Request(ctx context.Context, whose Whose, id string) (*Request, error)
	// Policy returns the policy that a call ran under; nil where it had none or it is not kept.
	Policy(ctx context.Context, whose Whose, id string) (*Ran, error)
}

// Pulse is how the supervisor is, at this moment.
type Pulse struct {
	Running  int   `json:"running"` // calls in cells or on their way there
	Queued   int   `json:"queued"`
	MaxCells int   `json:"max_cells"`
	Memory   int64 `json:"memory_bytes"` // that cells may use at once
	Reserved int64 `json:"reserved_bytes"`

	Waiting   int    `json:"waiting"` // cells started ahead
	MaxWarm   int    `json:"max_warm"`
	Leases    uint64 `json:"leases"` // calls that got a waiting cell
	Cold      uint64 `json:"cold"`   // calls that had one made
	Poisoned  int    `json:"poisoned"`
	Draining  bool   `json:"draining,omitempty"`
	NotReady  string `json:"not_ready,omitempty"` // why; "": calls are taken. For admins alone
	Driver    string `json:"driver"`
	Runtime   string `json:"runtime,omitempty"`
	Instances int    `json:"instances,omitempty"` // supervisors on the same journal, this one included
}

// Pulsing tells how it is. It returns at once.
type Pulsing interface {
	Pulse(ctx context.Context) Pulse
}
