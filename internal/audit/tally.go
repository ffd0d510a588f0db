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

// Bounds on the names of each sort that are told apart for one call: a row has room for all of them, whatever a skill asks for.
const (
	mostNames     = 64
	mostNameBytes = 3 << 10
)

// Tally counts what calls use, on its way to where it is kept. It is safe for concurrent use.
type Tally struct {
	next Log

	mu   sync.Mutex
	open map[string]*control.Uses
}

// NewTally returns a tally in front of a log.
func NewTally(next Log) *Tally { return &Tally{next: next, open: map[string]*control.Uses{}} }

// Open begins to count for a call, whose Close ends it. What is told about other calls is passed on and not counted.
func (t *Tally) Open(call string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[call] = &control.Uses{}
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
	return u
}

// Write implements [Log].
func (t *Tally) Write(e Entry) {
	t.mu.Lock()
	if u := t.open[e.Call]; u != nil {
		count(u, e)
	}
	t.mu.Unlock()
	t.next.Write(e)
}

// Record implements [Recorder], where the log behind it does.
func (t *Tally) Record(ctx context.Context, e Entry) error { return Enter(ctx, t.next, e) }

func count(u *control.Uses, e Entry) {
	text := func(key string) string { s, _ := e.Data[key].(string); return Text(s) }
	refused, failed := false, false
	switch e.Kind {
	case llmRequest:
		add(&u.Providers, text("provider"))
		u.TokensIn += number(e.Data["tokens_in"])
		u.TokensOut += number(e.Data["tokens_out"])
		refused = text("reason") != ""
		failed = number(e.Data["status"]) >= 400
	case toolCall:
		add(&u.Tools, text("tool"))
		refused = text("code") == "permission_denied"
		failed = text("code") != "ok"
	case egressConnect:
		add(&u.Hosts, text("host")+":"+fmt.Sprint(e.Data["port"]))
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

func add(to *map[string]int, name string) {
	if *to == nil {
		*to = map[string]int{}
	}
	if _, known := (*to)[name]; !known && (len(*to) >= mostNames || written(*to)+len(name) > mostNameBytes) {
		name = "other"
	}
	(*to)[name]++
}

// written is how long the names are together.
func written(names map[string]int) (n int) {
	for name := range names {
		n += len(name)
	}
	return n
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
