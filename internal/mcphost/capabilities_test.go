package mcphost

//lint:file-ignore SA1019 what the newest revision gives up is what clients of the others have

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/auth"
)

// What the server says that it can do, to a client of any revision.
func TestCapabilities(t *testing.T) {
	want := &mcp.ServerCapabilities{
		Tools: &mcp.ToolCapabilities{ListChanged: true}, Resources: &mcp.ResourceCapabilities{ListChanged: true}, Logging: &mcp.LoggingCapabilities{},
		Extensions: map[string]any{skillsExtension: map[string]any{}},
	}
	doors(t, func(t *testing.T, open func(*rig, auth.Identity, *mcp.ClientOptions) *mcp.ClientSession) {
		got := open(newRig(t), alice, nil).InitializeResult()
		if diff := cmp.Diff(want, got.Capabilities); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18"} {
		s := overStdio(t, newRig(t, skill("a")), alice, revision, nil)
		if got := s.InitializeResult(); got.ProtocolVersion != revision || got.ServerInfo.Name != "hotcell" || got.ServerInfo.Version != "1.2.3" {
			t.Errorf("%s: %+v", revision, got)
		}
		call(t, s, "a", nil)
	}
}

// A revision that is not known is answered with the newest that has this handshake.
func TestUnknownRevisions(t *testing.T) {
	for _, revision := range []string{"1999-01-01", "2099-01-01", "x", ""} {
		p := newPipe(t, newRig(t))
		p.send(strings.Replace(hello, "2025-11-25", revision, 1))
		if m := p.answer(1); !strings.Contains(string(m.Result), `"protocolVersion":"2025-11-25"`) {
			t.Errorf("%q: %+v", revision, m)
		}
	}
}

// Cancellations that come before the request, at once behind it, twice, and after its end: each request is answered once, and
// the session goes on.
func TestCancellationsThatCrossTheirRequests(t *testing.T) {
	p := newPipe(t, newRig(t, skill("a"))).hello()
	const many = 200
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() {
		for i := range many {
			cancel := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"enough"}}`, i+10)
			call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a"}}`, i+10)
			_, _ = fmt.Fprintf(p.w, "%s\n%s\n%s\n%s\n", cancel, call, cancel, cancel)
		}
		_, _ = fmt.Fprintln(p.w, ask)
	})
	seen := map[string]int{}
	for len(seen) < many+1 {
		seen[fmt.Sprint(p.next().ID)]++
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("request %s has %d answers", id, n)
		}
	}
}

// The addresses of resources are URIs.
func TestAddressesAreURIs(t *testing.T) {
	for _, name := range []string{"a b", "é", "#?%", "a/b", "..", "\x00\n", `"<>\^{}|`} {
		for _, uri := range []string{artifactURI("c d", name), skillURI("a-b", name)} {
			u, err := url.Parse(uri)
			if err != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{}|", r) }) {
				t.Errorf("%q: %s, %v", name, uri, err)
			}
		}
	}
}
