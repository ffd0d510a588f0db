package mcphost

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

// Door is how calls that come through here are named.
const Door = "mcp"

// MaxBody is the most that one message may be, in bytes: as much as an A2E line.
const MaxBody = a2e.MaxLine

// Options is what a [Host] serves. Handler and Catalog are required.
type Options struct {
	Handler a2e.Handler
	Catalog catalog.Reader
	Control control.Limited // nil: the artifacts of calls can't be read later
	Version string          // of this program
	Log     *slog.Logger    // nil: none
}

// Host serves MCP. It is safe for concurrent use; [Host.Close] ends what it still holds.
type Host struct {
	opt       Options
	log       *slog.Logger
	stateful  *mcp.StreamableHTTPHandler // for the revisions that have sessions
	stateless *mcp.StreamableHTTPHandler // for those that have none, 2026-07-28 and later
	sessions  *table
	kept      *events
	watch     *watcher
	digests   *digests
	bodies    *auth.Shares  // bytes of large messages that are being served
	reads     chan struct{} // a place for each artifact that is being read
	life      context.Context
	end       context.CancelFunc
	group     sync.WaitGroup
}

// New returns a host. Nothing runs in the background until there is a session.
func New(o Options) (*Host, error) {
	if o.Handler == nil || o.Catalog == nil {
		return nil, errors.New("mcp host: expected a handler and a catalogue")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Host{opt: o, log: o.Log, digests: newDigests(), bodies: auth.NewShares(allBodies, allBodies/2), reads: make(chan struct{}, readsAtOnce)}
	h.life, h.end = context.WithCancel(context.Background())
	h.sessions, h.watch = newTable(h), &watcher{host: h, peers: map[*peer]bool{}}
	h.kept = newEvents()
	h.stateful = mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
		EventStore: h.kept, MaxRequestBodyBytes: MaxBody, DisableLocalhostProtection: true, // the listener guards itself
	})
	h.stateless = mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: MaxBody, DisableLocalhostProtection: true,
	})
	return h, nil
}

// Close ends all sessions, cancels their calls and waits for them.
func (h *Host) Close() {
	h.end()
	h.sessions.closeAll()
	h.group.Wait()
}

// Run is [Host.Close] once ctx ends: a host as one of the doors of a daemon.
func (h *Host) Run(ctx context.Context) error {
	<-ctx.Done()
	h.Close()
	return nil
}
