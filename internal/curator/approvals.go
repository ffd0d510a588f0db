package curator

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// ApprovalStore keeps the writes that agents asked for.
type ApprovalStore interface {
	Principals
	// AskApproval returns the same request that waits already, if there is one. It fails with [catalog.ErrFull].
	AskApproval(ctx context.Context, by catalog.Owner, a catalog.Approval, digest []byte, most int) (catalog.Approval, error)
	Approvals(ctx context.Context, principals []int64, agent string) ([]catalog.Approval, error)
	// Approval fails with [catalog.ErrNone].
	Approval(ctx context.Context, id string) (catalog.Approval, error)
	// DecideApproval fails with [catalog.ErrStale] unless the request waits.
	DecideApproval(ctx context.Context, id, state, why string, by catalog.Owner) error
	SettleApproval(ctx context.Context, id, state, why string) error
}

// Bounds of approvals.
const (
	mostPending = 100       // of one principal
	mostAsked   = 512 << 10 // bytes of one request
	carryLimit  = 30 * time.Second
)

// The states of an approval.
const (
	pending  = "pending"
	approved = "approved"
	denied   = "denied"
	expired  = "expired"
	failed   = "failed"
	deciding = "deciding" // the store's word while a write is carried out
)

// ApprovalOptions is what [Approvals] work with.
type ApprovalOptions struct {
	Store  ApprovalStore
	Custom catalog.Custom // carries the writes out
	Expire time.Duration  // how long a request waits; 0: 24h
	Delete bool           // agents may ask for deletions
	Log    *slog.Logger   // nil: none
}

// Approvals are the writes that agents asked for. It is safe for concurrent use.
type Approvals struct{ opt ApprovalOptions }

var _ catalog.Approvals = (*Approvals)(nil)

// NewApprovals returns the approvals that a store has.
func NewApprovals(opt ApprovalOptions) *Approvals {
	if opt.Expire == 0 {
		opt.Expire = 24 * time.Hour
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Approvals{opt}
}

// request is a write as an agent asks for it.
type request struct {
	principal int64 // 0: the caller's own
	action    string
	skill     string
	arguments map[string]any
}

// ask keeps a request until somebody decides about it. The same one again is the same.
func (a *Approvals) ask(ctx context.Context, who a2e.Caller, r request) (*catalog.Approval, error) {
	arguments, err := json.Marshal(r.arguments)
	if err != nil {
		return nil, err
	}
	if len(arguments) > mostAsked {
		return nil, refuse(catalog.TotalSize, "The request has %d bytes, at most %d are taken.", len(arguments), mostAsked)
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	now := time.Now().UTC().Truncate(time.Microsecond)
	digest := sha256.Sum256(append([]byte(r.action+"\x00"+who.Principal+"\x00"), arguments...))
	kept, err := a.opt.Store.AskApproval(ctx, self(who), catalog.Approval{
		ID: "apr-" + hex.EncodeToString(b[:]), Principal: r.principal, Agent: who.Agent, Tool: manageTool, Action: r.action, Skill: r.skill,
		Arguments: arguments, State: pending, Created: now, Expires: now.Add(a.opt.Expire),
	}, digest[:], mostPending)
	if errors.Is(err, catalog.ErrFull) {
		return nil, refuse(catalog.LimitReached, "%d requests wait for a decision already, or as many bytes as may wait: somebody who controls the principal has to decide first.", mostPending)
	}
	if err != nil {
		return nil, err
	}
	return &kept, nil
}

// List implements [catalog.Approvals]. Who speaks as an agent sees that agent's alone.
func (a *Approvals) List(ctx context.Context, who a2e.Caller, state string) ([]catalog.Approval, error) {
	owners := []catalog.Owner{self(who)}
	for group := range who.Groups {
		owners = append(owners, catalog.Owner{Kind: catalog.KindGroup, Name: group})
	}
	ids, err := a.opt.Store.EnsurePrincipals(ctx, owners)
	if err != nil {
		return nil, err
	}
	all, err := a.opt.Store.Approvals(ctx, ids, who.Agent)
	if err != nil {
		return nil, err
	}
	out := []catalog.Approval{}
	for _, one := range all {
		if state == "" || one.State == state {
			out = append(out, one)
		}
	}
	return out, nil
}

// Show implements [catalog.Approvals].
func (a *Approvals) Show(ctx context.Context, who a2e.Caller, id string) (*catalog.Approval, error) {
	found, _, err := a.readable(ctx, who, id)
	if err != nil {
		return nil, err
	}
	return &found, nil
}

// readable returns a request and whose it is, if the caller sees it.
func (a *Approvals) readable(ctx context.Context, who a2e.Caller, id string) (catalog.Approval, catalog.Owner, error) {
	found, err := a.opt.Store.Approval(ctx, id)
	var owner catalog.Owner
	if err == nil {
		owner, err = a.opt.Store.Principal(ctx, found.Principal)
	}
	if errors.Is(err, catalog.ErrNone) || err == nil && (role(who, owner) == "" || who.Agent != "" && who.Agent != found.Agent) {
		return found, owner, refuse(catalog.ApprovalNotFound, "Approval '%s' not found.", shown(id))
	}
	return found, owner, err
}

// decidable returns a request that waits, if the caller may decide about it.
func (a *Approvals) decidable(ctx context.Context, who a2e.Caller, id string) (catalog.Approval, error) {
	found, owner, err := a.readable(ctx, who, id)
	if err == nil {
		err = people(who)
	}
	switch {
	case err != nil:
		return found, err
	case !writes(role(who, owner)):
		return found, refuse(catalog.Forbidden, "Deciding about writes to a group principal requires group owner or admin rights.")
	case found.State != pending:
		return found, decided(found)
	}
	return found, nil
}

func decided(a catalog.Approval) error {
	if a.State == expired {
		return refuse(catalog.ApprovalDecided, "Approval '%s' has expired: the agent can ask again.", a.ID)
	}
	return refuse(catalog.ApprovalDecided, "Approval '%s' is decided already.", a.ID)
}

// Approve implements [catalog.Approvals].
func (a *Approvals) Approve(ctx context.Context, who a2e.Caller, id string) (*catalog.Approval, error) {
	found, err := a.decidable(ctx, who, id)
	if err != nil {
		return nil, err
	}
	if err := a.decide(ctx, who, found, deciding, ""); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), carryLimit) // whoever decided need not wait for it
	defer cancel()
	state, why := approved, ""
	if err := a.carryOut(ctx, who, found); err != nil {
		state, why = failed, a.reason(err, found)
	}
	if err := a.opt.Store.SettleApproval(ctx, id, state, why); err != nil {
		return nil, err
	}
	return a.Show(ctx, who, id)
}

func (a *Approvals) decide(ctx context.Context, who a2e.Caller, found catalog.Approval, state, why string) error {
	err := a.opt.Store.DecideApproval(ctx, found.ID, state, why, self(who))
	if errors.Is(err, catalog.ErrStale) {
		return decided(found)
	}
	return err
}

// carryOut does the write as the agent asked for it: the same skill, as it was then.
func (a *Approvals) carryOut(ctx context.Context, who a2e.Caller, found catalog.Approval) error {
	var m manage
	if err := m.read(found.Arguments); err != nil {
		return err
	}
	match := int64(catalog.AnyRevision)
	if m.Revision != nil {
		match = *m.Revision
	}
	var err error
	switch found.Action {
	case actionCreate:
		_, err = a.opt.Custom.Create(ctx, who, found.Principal, m.draft())
	case actionUpdate:
		_, err = a.opt.Custom.Update(ctx, who, found.Principal, found.Skill, match, m.draft())
	case actionDelete:
		_, err = a.opt.Custom.Delete(ctx, who, found.Principal, found.Skill, match)
	default:
		err = refuse(catalog.ValidationError, "action: '%s' is none.", shown(found.Action))
	}
	return err
}

// reason is why a write failed, for people.
func (a *Approvals) reason(err error, found catalog.Approval) string {
	var e *catalog.Error
	if !errors.As(err, &e) {
		a.opt.Log.Error("an approved write failed", "approval", found.ID, "error", err)
		return "hotcell could not write it: its log says why"
	}
	why := e.Error()
	for _, f := range e.Errors {
		why += "; " + f.Code + ": " + f.Message
	}
	return shownLong(why)
}

// shownLong keeps what quotes others short.
func shownLong(s string) string {
	const most = 2000
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// Deny implements [catalog.Approvals].
func (a *Approvals) Deny(ctx context.Context, who a2e.Caller, id, why string) (*catalog.Approval, error) {
	found, err := a.decidable(ctx, who, id)
	if err != nil {
		return nil, err
	}
	if err := a.decide(ctx, who, found, denied, shownLong(why)); err != nil {
		return nil, err
	}
	return a.Show(ctx, who, id)
}
