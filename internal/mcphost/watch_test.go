package mcphost

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/testutil"
)

// bubble runs a test on a clock of its own. The host ends within it.
func bubble(t *testing.T, test func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, skill("a"))
		test(t, r)
		r.Close()
	})
}

func (n *told) changes() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { n.add("tools") },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { n.add("resources") },
	}
}

// A client is told when what itself would see has changed, once it has looked at it.
func TestClientsAreToldOfChanges(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				var hers, his, idle told
				s := overStdio(t, r, alice, revision, hers.changes())
				b := overStdio(t, r, auth.Identity{Principal: "bob"}, revision, his.changes())
				overStdio(t, r, alice, revision, idle.changes())
				for _, client := range []*mcp.ClientSession{s, b} {
					names(t, client)
					uris(t, client)
				}
				await := func(n *told, want ...string) {
					t.Helper()
					time.Sleep(10 * watchEvery)
					synctest.Wait()
					got := n.all() // of one change the order is anybody's guess
					slices.Sort(got)
					slices.Sort(want)
					if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("told (-want +got):\n%s", diff)
					}
				}
				await(&hers)
				r.shelf.put(skill("new").of("alice"))
				await(&hers, "tools", "resources")
				await(&his)
				r.shelf.put(skill("new", "file.md", "x").of("alice")) // the tool is the same
				await(&hers, "tools", "resources", "resources")
				r.shelf.put(skill("a"))
				await(&hers, "tools", "resources", "resources") // nothing has changed but the version
				r.shelf.remove("a")
				await(&hers, "tools", "resources", "resources", "tools", "resources")
				await(&his, "tools", "resources")
				await(&idle)
			})
		})
	}
}

// The catalogue is not looked at when nobody is there to be told.
func TestNobodyIsWatchedFor(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		s, err := r.sessions.open(alice)
		if err != nil {
			t.Fatal(err)
		}
		if !r.watch.running {
			t.Error("nothing is watched")
		}
		r.sessions.end(s)
		time.Sleep(2 * watchEvery)
		synctest.Wait()
		r.watch.mu.Lock()
		defer r.watch.mu.Unlock()
		if r.watch.running || len(r.watch.peers) != 0 {
			t.Error("the watch goes on")
		}
	})
}

// Over HTTP too: on the stream of the session, or of the request that subscribed.
func TestChangesOverHTTP(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			r := newRig(t, skill("a"))
			var n told
			s := overHTTP(t, r, alice, revision, n.changes())
			names(t, s)
			if revision == statelessRevision { // the subscription may come after the client is connected
				for r.watched() == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			r.shelf.put(skill("new").of("alice"))
			want := []string{"tools"}
			if revision == statelessRevision { // what it saw is what it subscribed to
				want = append(want, "resources")
			}
			testutil.Poll(t, time.Minute, func() bool { return len(n.all()) >= len(want) })
			if got := slices.Sorted(slices.Values(n.all())); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("told %v, want %v", got, want)
			}
		})
	}
}

func (r *rig) watched() int {
	r.watch.mu.Lock()
	defer r.watch.mu.Unlock()
	return len(r.watch.peers)
}

func TestSubscriptionsAreBounded(t *testing.T) {
	r := newRig(t)
	who := alice.Caller(Door)
	var leave []func()
	for range maxOwn {
		done, ok := r.sessions.listener(who)
		if !ok {
			t.Fatal("too few")
		}
		leave = append(leave, done)
	}
	p := r.newPeer(t.Context(), who, "")
	if _, _, err := p.listen(t.Context()); !errorIs(err, "too many subscriptions") {
		t.Errorf("got %v", err)
	}
	for _, done := range leave {
		done()
	}
	if len(r.sessions.listeners) != 0 {
		t.Errorf("left: %v", r.sessions.listeners)
	}
}

// A subscription without a session ends in time, so that its client has to show again who it is; a session's does not.
func TestSubscriptionsEnd(t *testing.T) {
	for _, lasts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			p := r.newPeer(t.Context(), alice.Caller(Door), "")
			p.lasts = lasts
			began := time.Now()
			time.AfterFunc(2*streamLife, p.end)
			_, err := p.receive(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})(t.Context(), "subscriptions/listen", &mcp.SubscriptionsListenRequest{})
			want := map[bool]time.Duration{false: streamLife, true: 2 * streamLife}[lasts]
			if took := time.Since(began); took != want || err == nil {
				t.Errorf("lasts %t: it took %s, %v", lasts, took, err)
			}
			p.end()
		})
	}
}
