package integration

import (
	"strings"
	"syscall"
	"testing"

	"github.com/hotcell/hotcell/internal/testutil"
)

// napOverMCP opens a session and begins a call.
const napOverMCP = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nap","arguments":{"seconds":500}}}`

// However an MCP client leaves, its call's cell is gone with it.
func TestMCPEndsWithItsClient(t *testing.T) {
	bin := binary(t)
	leftovers := func(t *testing.T, s *onStdio) {
		t.Helper()
		if left := owned(s.id); count(left, "cell running")+count(left, "cell exited")+count(left, "cell created") != 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	t.Run("the end of stdin", func(t *testing.T) {
		s := startHost(t, bin, "mcp", napOverMCP, false)
		_ = s.in.Close()
		if err := s.gone(t); err != nil {
			t.Errorf("it ended with %v: %s", err, s.stderr.String())
		}
		leftovers(t, s)
	})
	t.Run("a cancellation", func(t *testing.T) {
		s := startHost(t, bin, "mcp", napOverMCP, false)
		if _, err := s.in.WriteString(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}` + "\n"); err != nil {
			t.Fatal(err)
		}
		testutil.Poll(t, patience(0), func() bool { return count(owned(s.id), "cell running") == 0 })
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := s.gone(t); err != nil {
			t.Errorf("it ended with %v: %s", err, s.stderr.String())
		}
		leftovers(t, s)
	})
	t.Run("the client is gone and its pipes are not", func(t *testing.T) {
		s := startHost(t, bin, "mcp", napOverMCP, true)
		if err := s.cmd.Process.Kill(); err != nil { // the shell alone
			t.Fatal(err)
		}
		_ = s.gone(t)
		if !strings.Contains(s.stderr.String(), "the process that started this one has ended") {
			t.Errorf("stderr: %s", s.stderr.String())
		}
		leftovers(t, s)
	})
}
