package executor

import (
	"context"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/hotcell/hotcell/executor/admission"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/service"
)

// Supervisor runs calls. It is an [a2e.Handler] and a [control.Control], and is safe for concurrent use.
type Supervisor struct {
	cfg      Config
	log      *slog.Logger
	watch    Observer
	journal  Journal
	calls    *registry
	uids     *uids
	keys     *keys
	narrowed *narrowed
	gate     *gate
	quotas   *admission.Quotas
	load     *auth.Shares // bytes of the requests in flight
	hosts    []*host      // one for each plugin
	secret   []byte       // of which the tokens of cells are made

	refused refused
	held    *held
	reaper  *reaper
	uses    uses

	telling sync.Mutex // held while the number of calls in flight is told

	base     context.Context // ends when the supervisor gives up on what is left
	giveUp   context.CancelFunc
	mu       sync.Mutex
	draining bool
	serving  sync.WaitGroup // calls without an answer
	tidying  sync.WaitGroup // cells that are not destroyed yet, and their helpers
	idling   sync.Once
	atRest   chan struct{} // closed once both are done

	leases, colds atomic.Uint64 // calls that got a cell that waited, and those that had one made
	instances     atomic.Int64  // supervisors of the data folder that live, as of the last look

	insisting atomic.Int64 // answers that are known and not journalled yet
	unwritten atomic.Int64 // those that never will be
}

var (
	_ a2e.Handler     = (*Supervisor)(nil)
	_ control.Control = (*Supervisor)(nil)
	_ control.Book    = (*Supervisor)(nil)
	_ control.Pulsing = (*Supervisor)(nil)
)

// New makes a supervisor. It touches no engine: that happens with the first call. Its owner ends it with
// [Supervisor.Drain].
func New(cfg Config) (*Supervisor, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.fill()
	s := &Supervisor{
		cfg: cfg, log: cfg.Log, watch: cfg.Observer, journal: cfg.Journal, calls: newRegistry(), uids: newUIDs(cfg.RunDir),
	}
	s.quotas = admission.NewQuotas(cfg.Quota, nil)
	s.load = auth.NewShares(allRequests, allRequests/2)
	if cfg.Spent != nil {
		s.quotas.Spend = cfg.Spent.Spend
	}
	s.gate, s.keys, s.narrowed, s.secret = newGate(s), newKeys(cfg.Driver), newNarrowed(), newSecret()
	for _, p := range cfg.Plugins {
		s.hosts = append(s.hosts, newHost(p))
	}
	s.uses.last = map[string]time.Time{}
	s.held, s.reaper = newHeld(s.tellPoisoned), newReaper()
	s.base, s.giveUp = context.WithCancel(context.Background())
	return s, nil
}

// Call implements [a2e.Handler].
func (s *Supervisor) Call(ctx context.Context, who a2e.Caller, req *a2e.CallRequest, w a2e.EventWriter) *a2e.CallResponse {
	return s.Run(ctx, who, req, nil, w)
}

// Run is [Supervisor.Call] with input files: the regular files of inputs appear below /workspace/in. A nil inputs hands
// in nothing.
func (s *Supervisor) Run(ctx context.Context, who a2e.Caller, req *a2e.CallRequest, inputs fs.FS, w a2e.EventWriter) *a2e.CallResponse {
	ctx = service.Begin(ctx)
	release, fail := s.hold(who, req)
	if fail != nil {
		return a2e.Failure(req.ID, req.Name, fail, 0)
	}
	defer release()
	listener, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.base, stop)()
	life, cancel := context.WithCancelCause(listener)
	defer cancel(nil)
	for {
		c := newCall(who, req, listener, cancel)
		c.deafen = stop
		earlier, fail := s.accept(ctx, c)
		if fail == nil && earlier == nil {
			var answer *a2e.CallResponse
			if answer, earlier, fail = s.serve(life, c, inputs, w); answer != nil {
				return answer
			}
		}
		if fail != nil {
			return refusal(c, fail)
		}
		if answer := earlier.await(ctx); answer != nil {
			return answer
		}
	}
}

// awaiter is an earlier call whose answer stands for that of a request that was sent again. Its answer is nil when it says
// nothing about the request, which may be made again then.
type awaiter interface {
	await(ctx context.Context) *a2e.CallResponse
}

func newCall(who a2e.Caller, req *a2e.CallRequest, listener context.Context, cancel context.CancelCauseFunc) *call {
	now := time.Now()
	own := *req.Public() // no credentials are kept, and a later change of req is not seen
	if own.ID == "" {
		own.ID = a2e.NewID()
	}
	id := ulid.Make().String()
	return &call{
		id: id, req: &own, ran: ran{correlation: audit.Text(own.CorrelationID)}, override: ownOverride(req.LLMOverride), who: who, accepted: now, listener: listener, cancel: cancel, done: make(chan struct{}), withheld: make(chan struct{}),
		spans: spans{from: callerTrace(listener, req)},
		key:   key{who.Principal, who.Agent, own.ID}, digest: sync.OnceValue(req.Digest),
		view: control.Call{
			ID: id, ReqID: own.ID, Skill: own.Name, Principal: who.Principal, Agent: who.Agent, Door: who.Door,
			State: control.Queued, Accepted: now,
		},
	}
}

// accept registers the call, unless the supervisor is draining or the same request came before. A call within one that is in
// flight belongs to that.
func (s *Supervisor) accept(ctx context.Context, c *call) (earlier awaiter, refused *a2e.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if within := len(service.Chain(ctx)) > 0 && ctx.Err() == nil; s.draining && !within {
		return nil, a2e.Errorf(a2e.RuntimeError, "hotcell is shutting down").Because(a2e.ReasonDraining).Transient()
	}
	old, refused := s.calls.add(c, c.accepted)
	switch {
	case refused != nil:
		return nil, refused
	case old != nil:
		return old, nil
	}
	s.serving.Add(1)
	return nil, nil
}
