package a2ehost

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/testutil"
)

// doorkeeper knows tokens by their texts, and peers as [auth.Open] does.
type doorkeeper struct {
	mu     sync.Mutex
	tokens map[string]auth.Identity
	err    error
}

func (d *doorkeeper) Authenticate(ctx context.Context, c auth.Credentials) (auth.Identity, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, ok := d.tokens[c.Bearer.Reveal()]
	switch {
	case d.err != nil:
		return auth.Identity{}, d.err
	case c.Bearer.Empty() && c.Peer == nil:
		return auth.Identity{}, auth.ErrMissing
	case c.Bearer.Empty():
		return auth.Open{Self: os.Getuid()}.Authenticate(ctx, c)
	case !ok:
		return auth.Identity{}, auth.ErrRefused
	}
	return id, nil
}

func (d *doorkeeper) revoke(token string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.tokens, token)
}

func newDoorkeeper() *doorkeeper {
	return &doorkeeper{tokens: map[string]auth.Identity{
		"alices-key": {Principal: "alice", Groups: []auth.Membership{{Group: "team", Role: auth.RoleAdmin}}, Scopes: []auth.Scope{auth.Calls, auth.SkillsRead}},
		"bound-key":  {Principal: "alice", Agent: "reviewer", Scopes: []auth.Scope{auth.Calls}},
	}}
}

func shake(agent, token string) string {
	return fmt.Sprintf(`{"type":"handshake/req","id":"h","agent_id":%q,"agent_caps":["skill"],"auth_token":%q}`, agent, token)
}

func TestThePeerOfASocketIsKnown(t *testing.T) {
	f := newFake()
	path, _ := serveSocket(t, newHost(t, Options{Handler: f, Auth: newDoorkeeper()}))
	p := dial(t, path)
	p.send(callLine("c1", "echo"))
	recv[*a2e.CallResponse](p)
	want := []a2e.Caller{{
		Principal: fmt.Sprintf("uid:%d", os.Getuid()), Door: "socket", Groups: map[string]string{fmt.Sprintf("gid:%d", os.Getgid()): "member"},
		Admin: true,
	}}
	if diff := cmp.Diff(want, f.saw); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Another user is told from this one, whatever it says in its handshake.
func TestAnotherUserOfThisHost(t *testing.T) {
	testutil.Require(t, "root")
	f := newFake()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "s")
	ln, err := Listen(path, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, Options{Handler: f, Auth: auth.Open{Self: os.Getuid()}})
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() { _ = h.ServeSocket(ctx, ln) })
	defer serving.Wait()
	defer cancel()

	conn, err := dialAs(path, 12345, 23456)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p := &peer{t: t, w: conn, r: bufio.NewReader(conn), conn: conn}
	p.send(shake("root", "alices-key"), callLine("c1", "echo"))
	recv[*a2e.HandshakeResponse](p)
	recv[*a2e.CallResponse](p)
	want := []a2e.Caller{{Principal: "uid:12345", Agent: "root", Door: "socket", Groups: map[string]string{"gid:23456": "member"}}}
	if diff := cmp.Diff(want, f.saw); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// dialAs connects on a thread that is another user's from then on, and ends with its goroutine.
func dialAs(path string, uid, gid int) (conn net.Conn, err error) {
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread() // and never unlocked
		for _, set := range [][2]uintptr{{unix.SYS_SETRESGID, uintptr(gid)}, {unix.SYS_SETRESUID, uintptr(uid)}} {
			if _, _, errno := unix.RawSyscall(set[0], set[1], set[1], set[1]); errno != 0 {
				err = errno
				return
			}
		}
		conn, err = net.Dial("unix", path)
	})
	wg.Wait()
	return conn, err
}

func TestATokenTakesThePlaceOfThePeer(t *testing.T) {
	f, keeper := newFake(), newDoorkeeper()
	path, _ := serveSocket(t, newHost(t, Options{Handler: f, Auth: keeper}))
	p := dial(t, path)
	p.send(shake("me", "alices-key"), callLine("c1", "echo"))
	if got := recv[*a2e.HandshakeResponse](p); !got.OK {
		t.Fatalf("handshake = %+v", got)
	}
	recv[*a2e.CallResponse](p)
	want := []a2e.Caller{{Principal: "alice", Agent: "me", Door: "socket", Groups: map[string]string{"team": "admin"}}}
	if diff := cmp.Diff(want, f.saw); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.send(`{"type":"skill/discover/req","id":"d1"}`)
	recv[*a2e.DiscoverResponse](p)

	keeper.revoke("alices-key") // ends at once, also within a session
	p.send(callLine("c2", "echo"))
	if got := recv[*a2e.CallResponse](p); got.Error == nil || got.Error.Code != a2e.Unauthorized || got.ReqID != "c2" {
		t.Errorf("after the revocation: %+v", got)
	}
	p.send(`{"type":"skill/discover/req","id":"d2"}`)
	if got := recv[*a2e.ErrorMessage](p); got.Code != a2e.Unauthorized || got.ReqID != "d2" {
		t.Errorf("after the revocation: %+v", got)
	}
	if len(f.saw) != 1 {
		t.Errorf("the handler saw %+v", f.saw)
	}
}

func TestAHandshakeIsRefused(t *testing.T) {
	for name, line := range map[string]string{"bad token": shake("me", "mallorys-key"), "another agent": shake("intruder", "bound-key")} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			f := newFake()
			path, stop := serveSocket(t, newHost(t, Options{
				Handler: f, Auth: newDoorkeeper(), Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			}))
			p := dial(t, path)
			p.send(line, callLine("c1", "echo"))
			if got := recv[*a2e.HandshakeResponse](p); got.OK || got.Reason != "auth_failed" || len(got.AcceptedCaps) != 0 {
				t.Errorf("handshake = %+v", got)
			}
			p.end()
			_ = stop()
			if len(f.saw) != 0 {
				t.Errorf("the handler saw %+v", f.saw)
			}
			if strings.Contains(log.String(), "-key") {
				t.Errorf("the log has a token: %s", log.String())
			}
		})
	}
}

func TestScopesOfASession(t *testing.T) {
	f := newFake()
	path, _ := serveSocket(t, newHost(t, Options{Handler: f, Auth: newDoorkeeper()}))
	p := dial(t, path)
	p.send(shake("", "bound-key"), `{"type":"skill/discover/req","id":"d1"}`)
	recv[*a2e.HandshakeResponse](p)
	if got := recv[*a2e.ErrorMessage](p); got.Code != a2e.Unauthorized || !strings.Contains(got.Message, "skills:read") {
		t.Errorf("discover: %+v", got)
	}
	p.send(callLine("c1", "echo"))
	recv[*a2e.CallResponse](p)
	if len(f.saw) != 1 || f.saw[0].Agent != "reviewer" {
		t.Errorf("the handler saw %+v", f.saw)
	}
}

// Without a peer and a token nothing runs; what cannot be checked is no wrong token, and its reason stays here.
func TestStreamsHaveNoPeer(t *testing.T) {
	keeper := newDoorkeeper()
	f := newFake()
	p, _ := startSession(t, context.Background(), newHost(t, Options{Handler: f, Auth: keeper}))
	p.send(callLine("c1", "echo"))
	if got := recv[*a2e.CallResponse](p); got.Error == nil || got.Error.Code != a2e.Unauthorized {
		t.Errorf("answer = %+v", got)
	}
	keeper.mu.Lock()
	keeper.err = errors.New("disk /secret")
	keeper.mu.Unlock()
	p.send(callLine("c2", "echo"))
	got := recv[*a2e.CallResponse](p)
	if got.Error == nil || got.Error.Code != a2e.RuntimeError || !got.Error.Retryable || strings.Contains(got.Error.Message, "secret") {
		t.Errorf("answer = %+v", got.Error)
	}
	if len(f.saw) != 0 {
		t.Errorf("the handler saw %+v", f.saw)
	}
}
