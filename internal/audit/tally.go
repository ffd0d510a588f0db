package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/hotcell/hotcell/internal/control"
)

const (
	llmRequest    = "llm.request"
	toolCall      = "tool.call"
	egressConnect = "egress.connect"
)

// Bounds on the names that are told apart for one call: who makes up many or long ones must not make a row that is too long.
const (
	mostNames  = 64      // of each sort
	namesBytes = 8 << 10 // of all together, as JSON
)

// Tally counts what calls use, on its way to where it is kept. It is safe for concurrent use.
type Tally struct {
	next Log

	mu   sync.Mutex
	open map[string]*sums
}

// sums are what one call has used so far.
type sums struct {
	control.Uses
	names int // bytes of them, as JSON
}

// NewTally returns a tally in front of a log.
func NewTally(next Log) *Tally { return &Tally{next: next, open: map[string]*sums{}} }

// Open begins to count for a call, whose Close ends it. What is told about other calls is passed on and not counted.
func (t *Tally) Open(call string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[call] = &sums{}
}

// Close returns what a call has used, nil for nothing.
func (t *Tally) Close(call string) *control.Uses {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.open[call]
	delete(t.open, call)
	if u == nil || u.Providers == nil && u.Tools == nil && u.Hosts == nil {
		return nil
	}
	return &u.Uses
}

// Write implements [Log].
func (t *Tally) Write(e Entry) {
	t.mu.Lock()
	if u := t.open[e.Call]; u != nil {
		u.count(e)
	}
	t.mu.Unlock()
	t.next.Write(e)
}

// Record implements [Recorder], where the log behind it does.
func (t *Tally) Record(ctx context.Context, e Entry) error { return Enter(ctx, t.next, e) }

func (u *sums) count(e Entry) {
	text := func(key string) string { s, _ := e.Data[key].(string); return Text(s) }
	refused, failed := false, false
	switch e.Kind {
	case llmRequest:
		u.add(&u.Providers, text("provider"))
		u.TokensIn += number(e.Data["tokens_in"])
		u.TokensOut += number(e.Data["tokens_out"])
		refused = text("reason") != ""
		failed = number(e.Data["status"]) >= 400
	case toolCall:
		u.add(&u.Tools, text("tool"))
		refused = text("code") == "permission_denied"
		failed = text("code") != "ok"
	case egressConnect:
		u.add(&u.Hosts, text("host")+":"+fmt.Sprint(e.Data["port"]))
		refused = text("verdict") == "refused"
		failed = text("verdict") == "failed"
	}
	switch {
	case refused:
		u.Refused++
	case failed:
		u.Failed++
	}
}

func (u *sums) add(to *map[string]int, name string) {
	if *to == nil {
		*to = map[string]int{}
	}
	if _, known := (*to)[name]; !known {
		quoted, err := json.Marshal(name)
		if err != nil || len(*to) >= mostNames || u.names+len(quoted) > namesBytes {
			name = "other"
		} else {
			u.names += len(quoted)
		}
	}
	(*to)[name]++
}

func number(v any) int64 {
	switch n := v.(type) {
	case int:
		return int64(n)
	case int64:
		return n
	case float64:
		return int64(n)
	case json.Number:
		i, _ := n.Int64() // what is no whole number counts for nothing
		return i
	}
	return 0
}
