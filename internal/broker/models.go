package broker

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/llm"
)

// models answers which models there are: from the grant alone where it names them all, and else what the provider says,
// without those that the call may not use.
func (x *exchange) models() *refusal {
	if _, refused := x.g.budget.reserve(nil, x.route, llm.Price{}, false); refused != nil { // nothing is asked for ever
		return refused
	}
	if names, ok := x.g.plan.list(); ok {
		var all []json.RawMessage
		for _, name := range names {
			all = append(all, describe(name, x.g.plan.to.Kind))
		}
		x.rec.status = http.StatusOK
		x.w.Header().Set("Content-Type", "application/json")
		return x.sendList(map[string]json.RawMessage{}, all)
	}
	if refused := x.unlock(); refused != nil {
		return refused
	}
	resp, refused := x.send(nil)
	if refused != nil {
		return refused
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return x.answer(resp)
	}
	x.rec.status = resp.StatusCode
	if refused := x.unfit(resp); refused != nil {
		return refused
	}
	return x.filter(resp)
}

// filter passes on the models that the call may use.
func (x *exchange) filter(resp *http.Response) *refusal {
	data, refused := x.whole(resp)
	if refused != nil {
		return refused
	}
	var list map[string]json.RawMessage
	var entries []json.RawMessage
	if json.Unmarshal(redact(data, x.forms), &list) != nil || json.Unmarshal(list["data"], &entries) != nil {
		return broken("provider", "provider %s answered with no list of models", x.g.plan.to.Name)
	}
	var kept []json.RawMessage
	for _, e := range entries {
		var m struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(e, &m) == nil && x.g.plan.allows(m.ID) {
			kept = append(kept, e)
		}
	}
	x.head(resp)
	return x.sendList(list, kept)
}

func (x *exchange) sendList(list map[string]json.RawMessage, entries []json.RawMessage) *refusal {
	all := []byte("[]")
	if len(entries) > 0 {
		var err error
		if all, err = json.Marshal(entries); err != nil {
			return broken("provider", "provider %s answered with no list of models", x.g.plan.to.Name)
		}
	}
	list["data"] = all
	if x.g.plan.anthropic() {
		list["has_more"] = json.RawMessage("false")
	} else {
		list["object"] = json.RawMessage(`"list"`)
	}
	data := marshal(list)
	if refused := x.count(int64(len(data))); refused != nil {
		return refused
	}
	x.w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	x.w.WriteHeader(http.StatusOK)
	_, _ = x.w.Write(data) // a cell that doesn't read it has its way
	return nil
}

// list returns the models that a call may use, where all of them are named.
func (p *plan) list() (names []string, ok bool) {
	if p.only != "" && !strings.Contains(p.only, "*") {
		return []string{p.only}, true
	}
	for _, m := range p.to.Models {
		if strings.Contains(m, "*") {
			return nil, false
		}
		if p.allows(m) {
			names = append(names, m)
		}
	}
	return names, true
}

func describe(name string, kind llm.Kind) json.RawMessage {
	entry := map[string]any{"id": name, "object": "model", "created": 0, "owned_by": "hotcell"}
	if kind == llm.Anthropic {
		entry = map[string]any{"id": name, "type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
	}
	data, err := json.Marshal(entry)
	if err != nil {
		return json.RawMessage("{}") // texts and numbers always marshal
	}
	return data
}
