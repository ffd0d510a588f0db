package a2ahost

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

// door is how calls that come through here are marked.
const door = "a2a"

// Where this door is on its listener.
const (
	CardPath = "/.well-known/agent-card.json"
	BasePath = "/a2a"
	rpcPath  = BasePath + "/rpc"
)

// MaxBody is how large a request may be, in bytes.
const MaxBody = maxBody

// Security is how callers show who they are, as the card tells it.
type Security struct {
	Tokens bool   // bearer tokens of this host
	Issuer string // of signed tokens; "": none
}

// Options is what [New] needs. Handler, Control and Skills are required.
type Options struct {
	Handler  a2e.Handler
	Control  control.Limited
	Skills   catalog.Reader
	Security Security
	URL      string // of the listener as clients reach it, without a path; "": as a request has it
	Version  string // of the agent; "": 0.0.0
	Lenient  bool   // requests that name no version of A2A are taken for 1.0, instead of 0.3
	Log      *slog.Logger

	KeepAlive time.Duration // between comments on a stream that has nothing to say; 0: 15s
	Patience  time.Duration // with a stream whose client does not read; 0: 10s
}

// Host is the door. Its owner ends it with [Host.Close].
type Host struct {
	handler a2e.Handler
	control control.Limited
	skills  catalog.Reader
	log     *slog.Logger
	opts    Options

	views       views
	cards       cards
	memory      *memory
	bodies      *auth.Shares // bytes of large requests
	contents    *auth.Shares // bytes of artifacts that requests put together
	subscribers *auth.Shares
	page        int // bytes of contents in a page of a list

	life  context.Context // ends with the door
	end   context.CancelFunc
	group sync.WaitGroup // one for each task in flight

	mu      sync.Mutex
	live    map[string]*task
	awaited map[string]*wait
	closed  bool
}

const (
	mostLive        = 2048 // tasks in flight
	mostSubscribers = 512  // subscriptions at once, half as many of one principal
)

// New makes the door.
func New(o Options) (*Host, error) {
	if o.Handler == nil || o.Control == nil || o.Skills == nil {
		return nil, errors.New("a2a: a handler, a control and skills are required")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Version == "" {
		o.Version = "0.0.0"
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = 15 * time.Second
	}
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	h := &Host{
		handler: o.Handler, control: o.Control, skills: o.Skills, log: o.Log, opts: o, memory: newMemory(),
		bodies: auth.NewShares(allBodies, allBodies/2), contents: auth.NewShares(allContents, allContents/2),
		subscribers: auth.NewShares(mostSubscribers, mostSubscribers/2), page: mostInList,
		live: map[string]*task{}, awaited: map[string]*wait{},
	}
	h.life, h.end = context.WithCancel(context.Background())
	return h, nil
}

// Close cancels the tasks in flight and waits for them.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end()
	h.group.Wait()
}

// Card serves the public card at [CardPath]. It is open to everybody.
func (h *Host) Card() http.Handler { return http.HandlerFunc(h.serveCard) }

// Operations serves everything below [BasePath]. Who calls is in the request's context.
func (h *Host) Operations() http.Handler { return http.HandlerFunc(h.route) }

// auth reports whether callers have to show who they are.
func (h *Host) auth() bool { return h.opts.Security.Tokens || h.opts.Security.Issuer != "" }
