package mcphost

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
)

// listener tells a client what its call says: progress where it gave a token, all but artifacts as log messages where it
// wants them. Artifacts become part of the result.
type listener struct {
	ctx       context.Context // of the request: by it the SDK knows which stream its notifications belong to
	session   *mcp.ServerSession
	skill     string
	token     any // nil: no progress is wanted
	artifacts *artifacts

	mu     sync.Mutex
	ended  bool
	heard  bool    // the call said something
	last   float64 // progress that was told
	silent bool    // the client can't be reached
}

func newListener(ctx context.Context, session *mcp.ServerSession, params *mcp.CallToolParamsRaw) *listener {
	return &listener{ctx: ctx, session: session, skill: params.Name, token: progressToken(params.Meta), artifacts: newArtifacts(), last: -1}
}

// progressToken returns a request's token in the form in which it came: text or a whole number. Nil is none.
func progressToken(meta mcp.Meta) any {
	switch t := meta["progressToken"].(type) {
	case string:
		return t
	case float64:
		if t == math.Trunc(t) && math.Abs(t) < 1<<53 {
			return int64(t)
		}
	case int, int64, json.Number:
		return t
	}
	return nil
}

var errEnded = errors.New("call has ended")

// WriteEvent implements [a2e.EventWriter]. A client that can't be reached loses what it would have been told and nothing
// else: the result may be fetched later.
func (l *listener) WriteEvent(_ context.Context, ev *a2e.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return errEnded
	}
	l.heard = true
	if ev.Kind == a2e.KindArtifact {
		l.artifacts.add(ev)
		return nil
	}
	if l.silent {
		return nil
	}
	err := l.tell(ev)
	l.silent = err != nil
	return nil
}

func (l *listener) tell(ev *a2e.Event) error {
	if ev.Kind == a2e.KindProgress {
		return l.progress(ev.Data)
	}
	return l.log(ev)
}

// progress tells how far a call is. The protocol wants each value to be greater than the one before: others are dropped.
func (l *listener) progress(data map[string]any) error {
	pct, ok := number(data["pct"])
	if l.token == nil || !ok || pct <= l.last {
		return nil
	}
	l.last = pct
	message, _ := data["message"].(string)
	return l.session.NotifyProgress(l.ctx, &mcp.ProgressNotificationParams{
		ProgressToken: l.token, Progress: pct, Total: 100, Message: message,
	})
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

// close waits for the event that is being told and refuses all others, so that none follows the result. It returns the
// artifacts; those of an answer that was given once before are known by the events that it holds alone.
func (l *listener) close(resp *a2e.CallResponse) *artifacts {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.heard || resp == nil || resp.Data == nil {
		return l.artifacts
	}
	for _, ev := range resp.Data.Events {
		if ev.Kind == a2e.KindArtifact {
			l.artifacts.add(&ev)
		}
	}
	l.artifacts.mayLack()
	return l.artifacts
}
