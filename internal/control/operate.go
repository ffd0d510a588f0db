package control

import (
	"context"
	"time"
)

// Explained is what a call of a skill would get, who decided it, and what would be cut.
type Explained struct {
	Skill   string   `json:"skill"`
	Status  string   `json:"status"` // published, blocked, ...
	Why     string   `json:"why,omitempty"`
	Image   string   `json:"image,omitempty"`
	Model   string   `json:"model,omitempty"`
	Budget  string   `json:"budget,omitempty"` // what one call may use of it
	Secrets string   `json:"secrets,omitempty"`
	Tools   []string `json:"tools,omitempty"`
	NoTools string   `json:"tools_refused,omitempty"`
	Choices []Choice `json:"choices"`
	Clamps  []Clamp  `json:"clamps"`
}

// Explainer explains policies.
type Explainer interface {
	// Explain explains that of one skill, shipped ones alone, or fails with [ErrNoSkill].
	Explain(ctx context.Context, skill string) (*Explained, error)
}

// ImageRow is an image that cells are made from.
type ImageRow struct {
	Ref    string    `json:"ref"`
	ID     string    `json:"id,omitempty"`     // the content that is here
	Digest string    `json:"digest,omitempty"` // that the tag is pinned to
	Bytes  int64     `json:"bytes,omitempty"`
	State  string    `json:"state"` // pinned, stale, missing, own, ...
	Note   string    `json:"note,omitempty"`
	Pinned time.Time `json:"pinned,omitzero"`
}

// PullProgress is how far a pull is.
type PullProgress struct {
	Ref, Step   string
	Done, Total int64 // bytes; Total 0: nobody knows
}

// ImageVerdict is what a pruning did with an image, or would do.
type ImageVerdict struct {
	Ref, ID string
	Bytes   int64
	Used    time.Time
	Removed bool
	Kept    string // why it stays
}

// Images keeps the images of cells. Who asks is an admin. Each change goes into the audit.
type Images interface {
	// List lists them. With ask, registries are asked what their tags are now, for ten seconds at most.
	List(ctx context.Context, ask bool) ([]ImageRow, error)
	// Pull fetches what a registry has under a tag now and pins the tag to it.
	Pull(ctx context.Context, ref string, progress func(PullProgress)) (ImageRow, error)
	// Pin pins a tag to what it is here now, or to a digest.
	Pin(ctx context.Context, ref string) (ImageRow, error)
	// Unpin takes a pin away, and reports whether there was one.
	Unpin(ctx context.Context, ref string) (bool, error)
	// Prune removes what was pulled and nothing needs. With dry it tells what it would do.
	Prune(ctx context.Context, dry bool) ([]ImageVerdict, error)
}

// Finding is one thing that an examination looked at. Found and Hint are clean texts on one line.
type Finding struct {
	ID    string `json:"id"`
	Level string `json:"level"` // ok, warn, fail or skip
	Found string `json:"found"`
	Hint  string `json:"hint,omitempty"`
}

// Examination is the result of one.
type Examination struct {
	OK       bool      `json:"ok"`
	At       time.Time `json:"at"`
	Findings []Finding `json:"findings"`
}

// Examiner finds out what this host and its engine can enforce, as hotcell doctor does.
type Examiner interface {
	Examine(ctx context.Context) (*Examination, error)
}

// Fault is an operation that did not happen for a reason that whoever asked may read and mend.
type Fault struct{ Message string }

// Error returns the reason.
func (f *Fault) Error() string { return f.Message }
