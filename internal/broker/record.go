package broker

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/llm"
)

// Kind is what the broker's entries in the audit are called.
const Kind = "llm.request"

// maxNotes bounds the refusals of one call that are kept: a cell can make as many as it likes.
const maxNotes = 100

// notes counts a call's refusals.
type notes struct {
	mu      sync.Mutex
	refused int
}

func (n *notes) refuse() (keep bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refused++
	return n.refused <= maxNotes
}

// record is one request, for the audit.
type record struct {
	endpoint string // "" for one that is not granted
	model    string // "" for one that is not granted
	status   int
	reason   string
	cause    string // why the provider was not reached: the cell isn't told
	used     usage
	price    llm.Price
	priced   bool
	bytes    int64
	began    time.Time
}

// cause is an error of the transport's, without keys.
func cause(err error, forms [][]byte) string {
	const most = 200
	text := string(redactError([]byte(err.Error()), forms))
	return strings.ToValidUTF8(text[:min(len(text), most)], "?")
}

// keep writes a record to the audit.
func (g *grant) keep(r *record) {
	if r.reason != "" && !g.notes.refuse() {
		return
	}
	g.tell(r)
	data := map[string]any{
		"provider": g.plan.to.Name, "model": r.model, "endpoint": r.endpoint, "status": r.status, "bytes": r.bytes,
		"tokens_in": r.used.in, "tokens_out": r.used.out, "ms": time.Since(r.began).Milliseconds(),
	}
	if r.reason != "" {
		data["reason"] = r.reason
	}
	if r.priced && r.used.in+r.used.out > 0 {
		data["cost"] = json.Number(cost(r.price, r.used.in, r.used.out).String())
	}
	if r.cause != "" {
		data["error"] = r.cause
	}
	if r.used.guessed {
		data["estimated"] = true
	}
	g.broker.log.Write(audit.Entry{At: time.Now(), Call: g.call, Kind: Kind, Data: data})
}
