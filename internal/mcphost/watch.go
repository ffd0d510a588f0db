package mcphost

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	watchEvery = time.Second // between two looks at the catalogue
	watchRest  = 20          // times as long as a look took it is not looked again
)

// watcher tells sessions that their lists have changed. A client is told only when what itself would see is another than
// what it saw: what others write is not its business. It looks while there are sessions.
type watcher struct {
	host *Host

	mu      sync.Mutex
	peers   map[*peer]bool
	running bool
}

// add watches for a peer until what it returns is called.
func (w *watcher) add(p *peer) (remove func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.peers[p] = true
	if !w.running && w.host.life.Err() == nil {
		w.running = true
		w.host.group.Go(w.run)
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.peers, p)
	}
}

// watched returns the peers, and ends the watch where there are none.
func (w *watcher) watched() []*peer {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.peers) == 0 || w.host.life.Err() != nil {
		w.running = false
		return nil
	}
	return slices.Collect(maps.Keys(w.peers))
}

// run looks at once, since the catalogue may have changed before it began.
func (w *watcher) run() {
	pause, seen := watchEvery, uint64(0)
	for first := true; ; first = false {
		select {
		case <-time.After(pause):
		case <-w.host.life.Done():
		}
		peers := w.watched()
		if peers == nil {
			return
		}
		now := w.host.opt.Catalog.Version()
		if now == seen && !first {
			continue
		}
		start := time.Now()
		if w.look(peers) {
			seen = now
		}
		pause = max(watchEvery, watchRest*time.Since(start))
	}
}

// look compares each peer's lists with what it saw. It reports false where the catalogue could not say.
func (w *watcher) look(peers []*peer) bool {
	type key struct {
		who string
		of  list
	}
	known, good := map[key]mark{}, true
	for _, p := range peers {
		for _, l := range []list{listTools, listResources} {
			was, looked := p.knows(l)
			if !looked {
				continue
			}
			k := key{fmt.Sprintf("%#v", p.who), l} // in quotes: no two callers are one
			m, ok := known[k]
			if !ok {
				var err error
				if m, err = p.state(w.host.life, l); err != nil {
					w.host.log.Warn("can't look for changes of the catalogue", "err", err)
					good = false
					continue
				}
				known[k] = m
			}
			if m != was {
				p.saw(l, m)
				p.changed(l)
			}
		}
	}
	return good
}

// state is what a list is now.
func (p *peer) state(ctx context.Context, l list) (mark, error) {
	if l == listTools {
		tools, err := p.tools(ctx)
		if err != nil {
			return mark{}, err
		}
		return markOf(tools)
	}
	_, m, err := p.slugs(ctx)
	return m, err
}

// listen watches for a client that has no session but asked to be told of changes, as long as its request lasts. What it sees
// now is what it is told changes of.
func (p *peer) listen(ctx context.Context) (done func(), err error) {
	if p.lasts {
		return func() {}, nil // it is watched for anyway
	}
	leave, ok := p.host.sessions.listener(p.who)
	if !ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "too many subscriptions: end some of them first"}
	}
	p.lasts = true
	for _, l := range []list{listTools, listResources} {
		m, err := p.state(ctx, l)
		if err != nil {
			leave()
			return nil, p.failed(ctx, "subscribe", err)
		}
		p.saw(l, m)
	}
	remove := p.host.watch.add(p)
	return func() { remove(); leave() }, nil
}
