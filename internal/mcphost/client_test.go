package mcphost

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/auth"
)

// revisions are the protocol's that the tests speak: the last one with sessions, and the first without.
var revisions = []string{"2025-11-25", statelessRevision}

var alice = auth.Identity{Principal: "alice", Scopes: []auth.Scope{auth.Calls}}

// overStdio connects the SDK's client to a host through pipes.
func overStdio(t *testing.T, r *rig, who auth.Identity, revision string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := r.ServeStdio(t.Context(), fromClient, toClient, who); err != nil {
			t.Errorf("the server ended with %v", err)
		}
		_ = toClient.Close()
	})
	return connect(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, revision, o, serving.Wait)
}

// overHTTP connects the SDK's client to a host through a listener.
func overHTTP(t *testing.T, r *rig, who auth.Identity, revision string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	transport := &mcp.StreamableClientTransport{Endpoint: listen(t, r, who), HTTPClient: client}
	return connect(t, transport, revision, o, client.CloseIdleConnections)
}

// listen serves a host to one identity.
func listen(t *testing.T, r *rig, who auth.Identity) (endpoint string) {
	t.Helper()
	srv := httptest.NewServer(as(r, who))
	t.Cleanup(srv.Close)
	t.Cleanup(r.Close) // before the listener, which waits for what is under way
	return srv.URL + "/mcp"
}

func as(r *rig, who auth.Identity) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.ServeHTTP(w, req.WithContext(auth.NewContext(req.Context(), who)))
	})
}

func connect(t *testing.T, transport mcp.Transport, revision string, o *mcp.ClientOptions, after func()) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	for _, err := range []error{
		mcp.AddSendingCustomMethod[*listSkillsParams, *listSkillsResult](client, "skills/list"),
		mcp.AddSendingCustomMethod[*getSkillParams, *getSkillResult](client, "skills/get"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close(); after() })
	if got := session.InitializeResult().ProtocolVersion; got != "" && got != revision {
		t.Errorf("the server speaks %s", got)
	}
	return session
}

// doors runs a test over both transports, in both kinds of revisions.
func doors(t *testing.T, test func(t *testing.T, open func(r *rig, who auth.Identity, o *mcp.ClientOptions) *mcp.ClientSession)) {
	for name, over := range map[string]func(*testing.T, *rig, auth.Identity, string, *mcp.ClientOptions) *mcp.ClientSession{
		"stdio": overStdio, "http": overHTTP,
	} {
		for _, revision := range revisions {
			t.Run(name+" "+revision, func(t *testing.T) {
				test(t, func(r *rig, who auth.Identity, o *mcp.ClientOptions) *mcp.ClientSession {
					return over(t, r, who, revision, o)
				})
			})
		}
	}
}

// code returns the JSON-RPC code of an error.
func code(err error) int64 {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func call(t *testing.T, s *mcp.ClientSession, name string, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := s.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("call %s: %v", name, err)
	}
	return res
}
