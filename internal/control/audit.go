package control

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Account is what the audit says of a call beside what is told of it elsewhere. It holds no argument, no result and no secret.
type Account struct {
	Groups      []string `json:"groups,omitempty"` // of the caller, as group=role
	Admin       bool     `json:"admin,omitempty"`
	Correlation string   `json:"correlation,omitempty"` // the caller's correlation id

	Version string `json:"version,omitempty"` // of the skill
	Source  string `json:"source,omitempty"`
	Bundle  string `json:"bundle,omitempty"` // digest of the bundle
	Image   string `json:"image,omitempty"`  // the engine's content id
	Ref     string `json:"image_ref,omitempty"`
	Pinned  string `json:"image_digest,omitempty"` // repo@sha256:..., where the image came from a registry
	Driver  string `json:"driver,omitempty"`
	Runtime string `json:"runtime,omitempty"` // "": the engine's own
	Policy  string `json:"policy,omitempty"`  // digest of the effective policy

	Exit       *int   `json:"exit,omitempty"` // code of the skill's process, or else of the cell
	Signal     int    `json:"signal,omitempty"`
	OOM        bool   `json:"oom,omitempty"`
	Pressure   bool   `json:"oom_pressure,omitempty"` // memory ran out above the cell
	EngineLost bool   `json:"engine_lost,omitempty"`
	Budget     string `json:"over,omitempty"` // the budget that was exceeded

	Uses *Uses `json:"uses,omitempty"` // of what lies outside of the cell
}

// Uses counts what a call used outside of its cell. Of many different names the last ones are counted as "other".
type Uses struct {
	Providers map[string]int `json:"providers,omitempty"` // requests
	Tools     map[string]int `json:"tools,omitempty"`
	Hosts     map[string]int `json:"hosts,omitempty"`   // connections, by host:port
	Refused   int            `json:"refused,omitempty"` // of all three, by hotcell or by policy
	Failed    int            `json:"failed,omitempty"`  // of all three, out there
	TokensIn  int64          `json:"tokens_in,omitempty"`
	TokensOut int64          `json:"tokens_out,omitempty"`
}

// Sum is a hash or a seal. As text it is lower-case hex.
type Sum []byte

// MarshalText returns hex.
func (s Sum) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s), nil }

// UnmarshalText reads hex.
func (s *Sum) UnmarshalText(b []byte) error {
	got, err := hex.DecodeString(string(b))
	if err != nil || len(got) > 64 {
		return fmt.Errorf("%.80q is no hash: expected hex digits", b)
	}
	*s = got
	return nil
}

// String returns hex.
func (s Sum) String() string { return hex.EncodeToString(s) }

// AuditRow is one row of the audit. Those of its chain have a number; what calls used in detail has none.
type AuditRow struct {
	N         int64           `json:"n,omitempty"` // 1, 2, ... without a gap
	At        time.Time       `json:"at"`
	Kind      string          `json:"kind"`
	Call      string          `json:"call,omitempty"`
	Principal string          `json:"principal,omitempty"`
	Agent     string          `json:"agent,omitempty"`
	Door      string          `json:"door,omitempty"`
	Skill     string          `json:"skill,omitempty"`
	Data      json.RawMessage `json:"data"`
	Prev      Sum             `json:"prev,omitempty"` // hash of the row before
	Hash      Sum             `json:"hash,omitempty"` // of this row, prev included
	Seal      Sum             `json:"seal,omitempty"` // keyed, of hash
}

// AuditQuery says which rows are meant. A zero field leaves them all.
type AuditQuery struct {
	After, Before int64     // numbers, exclusive
	Since, Until  time.Time // Since is included, Until is not
	Call          string
	Principal     string
	Skill         string
	Kind          string
	Newest        bool // newest first
	Limit         int  // 0: no limit
}

// AuditHead names the end of the audit's chain: what is kept elsewhere, so that nobody can cut the chain or make another one
// without being found out.
type AuditHead struct {
	N    int64     `json:"n"` // 0: nothing was ever written
	Hash Sum       `json:"hash,omitempty"`
	At   time.Time `json:"at,omitzero"`
}

// String returns N:HASH.
func (h AuditHead) String() string { return fmt.Sprintf("%d:%s", h.N, h.Hash) }

// AuditReport is what a verification found.
type AuditReport struct {
	OK     bool      `json:"ok"`
	Rows   int64     `json:"rows"`              // that were looked at
	First  int64     `json:"first,omitempty"`   // number of the first of them
	Head   AuditHead `json:"head"`              // the last of them
	Keyed  bool      `json:"keyed"`             // seals were checked, too
	Uses   int64     `json:"uses"`              // rows of what calls used that were looked at
	BadRow int64     `json:"bad_row,omitempty"` // number of the first bad row
	Fault  string    `json:"fault,omitempty"`   // what is wrong
}

// Auditor reads the audit.
type Auditor interface {
	// AuditRows returns rows of the chain, at most 1,000, in the order of their numbers or newest first.
	AuditRows(ctx context.Context, q AuditQuery) ([]AuditRow, error)
	// VerifyAudit looks through the whole chain. Where anchor is not zero it must be part of it.
	VerifyAudit(ctx context.Context, anchor AuditHead) (AuditReport, error)
}
