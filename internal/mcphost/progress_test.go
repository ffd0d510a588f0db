package mcphost

//lint:file-ignore SA1019 what the newest revision gives up is what clients of the others have

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/testutil"
)

// told is what a client was told, in order.
type told struct {
	mu   sync.Mutex
	list []string
}

func (n *told) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, fmt.Sprintf(format, args...))
}

func (n *told) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.list...)
}

func (n *told) await(t *testing.T, want ...string) {
	t.Helper()
	testutil.Poll(t, time.Minute, func() bool { return len(n.all()) >= len(want) })
	if diff := cmp.Diff(want, n.all()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func (n *told) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			n.add("%v: %v/%v %s", r.Params.ProgressToken, r.Params.Progress, r.Params.Total, r.Params.Message)
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			data, _ := json.Marshal(r.Params.Data)
			n.add("%s %s %s", r.Params.Logger, r.Params.Level, data)
		},
	}
}

// Progress increases, and only who gave a token is told of it. Tokens are texts and whole numbers.
func TestProgressIncreases(t *testing.T) {
	doors(t, func(t *testing.T, open func(*rig, auth.Identity, *mcp.ClientOptions) *mcp.ClientSession) {
		r := answering(t, func(_ context.Context, _ *a2e.CallRequest, say say) *a2e.CallResponse {
			for _, pct := range []any{0, 10, 10, 5, json.Number("30.5"), 30.5, 100, 100, nil, "200"} {
				say(a2e.KindProgress, map[string]any{"pct": pct, "message": fmt.Sprint("at ", pct)})
			}
			return done("x")
		})
		for _, token := range []any{"text", 7} {
			var n told
			s := open(r, alice, n.options())
			p := &mcp.CallToolParams{Name: "echo"}
			p.SetProgressToken(token)
			if _, err := s.CallTool(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			n.await(t, fmt.Sprintf("%v: 0/100 at 0", token), fmt.Sprintf("%v: 10/100 at 10", token),
				fmt.Sprintf("%v: 30.5/100 at 30.5", token), fmt.Sprintf("%v: 100/100 at 100", token))
		}
		var n told
		s := open(r, alice, n.options())
		call(t, s, "echo", nil)
		call(t, s, "echo", nil) // had the first one told anything, it would have come by now
		n.await(t)
	})
}

func TestProgressTokens(t *testing.T) {
	for in, want := range map[any]any{
		"x": "x", "": "", 5.0: int64(5), -5.0: int64(-5), 5.5: nil, math.Inf(1): nil, 1e300: nil, true: nil, nil: nil, 7: 7,
	} {
		if got := progressToken(mcp.Meta{"progressToken": in}); got != want {
			t.Errorf("%v becomes %v", in, got)
		}
	}
	if got := progressToken(mcp.Meta{"progressToken": []any{1}}); got != nil {
		t.Errorf("a list becomes %v", got)
	}
}

// What a skill logs reaches a client that set a level, and nobody else.
func TestLogsAndStatus(t *testing.T) {
	for _, over := range []func(*testing.T, *rig, auth.Identity, string, *mcp.ClientOptions) *mcp.ClientSession{overStdio, overHTTP} {
		r := answering(t, func(_ context.Context, _ *a2e.CallRequest, say say) *a2e.CallResponse {
			for _, level := range []string{"debug", "info", "warn", "error"} {
				say(a2e.KindLog, map[string]any{"level": level, "message": "m"})
			}
			say(a2e.KindStatus, map[string]any{"message": "working"})
			return done("x")
		})
		var n told
		s := over(t, r, alice, revisions[0], n.options())
		call(t, s, "echo", nil)
		if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "warning"}); err != nil {
			t.Fatal(err)
		}
		call(t, s, "echo", nil)
		if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
			t.Fatal(err)
		}
		call(t, s, "echo", nil)
		n.await(t, `echo warning {"level":"warn","message":"m"}`, `echo error {"level":"error","message":"m"}`,
			`echo info {"level":"info","message":"m"}`, `echo warning {"level":"warn","message":"m"}`,
			`echo error {"level":"error","message":"m"}`, `echo info {"message":"working"}`)
	}
}

// Nothing is told once a call has ended, whatever is said late.
func TestNothingAfterTheResult(t *testing.T) {
	l := newListener(t.Context(), nil, &mcp.CallToolParamsRaw{Name: "x", Meta: mcp.Meta{"progressToken": "t"}})
	l.close(nil)
	if err := l.WriteEvent(t.Context(), &a2e.Event{Kind: a2e.KindProgress, Data: map[string]any{"pct": 5}}); err == nil {
		t.Error("an event was taken after the end")
	}
}

// A client that cancels ends the call; the request that it names alone.
func TestCancellation(t *testing.T) {
	doors(t, func(t *testing.T, open func(*rig, auth.Identity, *mcp.ClientOptions) *mcp.ClientSession) {
		started, ended := make(chan struct{}), make(chan struct{})
		r := answering(t, func(ctx context.Context, req *a2e.CallRequest, _ say) *a2e.CallResponse {
			if req.Arguments["wait"] == nil {
				return done("x")
			}
			close(started)
			<-ctx.Done()
			close(ended)
			return failed(a2e.Errorf(a2e.RuntimeError, "cancelled by the caller").Because(a2e.ReasonCancelled))
		})
		s := open(r, alice, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var calling sync.WaitGroup
		calling.Go(func() {
			if _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"wait": 1}}); err == nil {
				t.Error("a cancelled call has a result")
			}
		})
		<-started
		call(t, s, "echo", nil)
		select {
		case <-ended:
			t.Error("the call ended by itself")
		default:
		}
		cancel()
		calling.Wait()
		<-ended
		call(t, s, "echo", nil) // the session goes on
	})
}
