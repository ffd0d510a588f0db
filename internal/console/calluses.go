package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

const mostUses = 200 // of one call that are shown

// userOfUses is an audit that also keeps what calls used outside of their cells, one entry for each use.
type userOfUses interface {
	AuditUses(ctx context.Context, q control.AuditQuery) ([]control.AuditRow, error)
}

// use is one use of something outside of the cell.
type use struct {
	At      string // after the call's start
	Kind    string // model, host or tool
	What    string
	Outcome string
	Class   string
	Refused bool
	cost    float64
}

// usesOf lists what a call that has ended used. It is the audit's, and for admins as that is; others see the sums.
func (v *visit) usesOf(ctx context.Context, call control.Call) ([]use, error) {
	from, ok := v.o.Audit.(userOfUses)
	if !ok || !v.who.May(auth.Admin) || !call.State.Terminal() {
		return nil, nil
	}
	rows, err := from.AuditUses(ctx, control.AuditQuery{Call: call.ID, Limit: mostUses})
	if err != nil {
		return nil, err
	}
	var all []use
	for _, r := range rows {
		if u, ok := useOf(r); ok {
			u.At = offset(r.At.Sub(call.Accepted))
			all = append(all, u)
		}
	}
	return all, nil
}

func useOf(r control.AuditRow) (u use, ok bool) {
	var data map[string]any
	dec := json.NewDecoder(bytes.NewReader(r.Data))
	dec.UseNumber()
	if dec.Decode(&data) != nil {
		return u, false
	}
	d := useEntry(data)
	switch r.Kind {
	case "egress.connect":
		u.host(d)
	case "llm.request":
		u.model(d)
	case "tool.call":
		u.Kind, u.What = "tool", d.text("tool")
		code := d.text("code")
		u.verdict(code == "permission_denied", code != "ok", code)
		u.Outcome = cmp.Or(u.Outcome, "done, "+d.took())
	default:
		return u, false
	}
	return u, true
}

// useEntry is what the audit says of one use.
type useEntry map[string]any

func (e useEntry) text(key string) string { s, _ := e[key].(string); return clip(s, 300) }
func (e useEntry) number(key string) int64 {
	n, _ := wholeNumber(e[key])
	return n
}
func (e useEntry) took() string { return msText(e.number("ms")) }

func (u *use) host(e useEntry) {
	u.Kind, u.What = "host", fmt.Sprintf("%s:%d", e.text("host"), e.number("port"))
	u.verdict(e.text("verdict") == "refused", e.text("verdict") == "failed", e.text("reason"))
	if u.Outcome == "" {
		u.Outcome = fmt.Sprintf("reached: %s sent, %s received, %s", sizeText(e.number("bytes_out")), sizeText(e.number("bytes_in")), e.took())
	}
}

func (u *use) model(e useEntry) {
	u.Kind, u.What = "model", strings.Trim(e.text("provider")+" / "+e.text("model"), " /")
	u.verdict(e.text("reason") != "", e.number("status") >= 400, e.text("reason"))
	if u.Outcome == "" {
		u.Outcome = fmt.Sprintf("%s tokens in, %s out, %s", countText(int(e.number("tokens_in"))), countText(int(e.number("tokens_out"))), e.took())
	}
	if n, ok := e["cost"].(json.Number); ok {
		if u.cost, _ = n.Float64(); u.cost > 0 {
			u.Outcome += ", cost " + money(u.cost)
		}
	}
}

// verdict notes what went wrong with a use, if anything did.
func (u *use) verdict(refused, failed bool, reason string) {
	switch {
	case refused:
		u.Refused, u.Class, u.Outcome = true, "bad", strings.TrimSuffix("refused by hotcell: "+reason, ": ")
	case failed:
		u.Class, u.Outcome = "warn", strings.TrimSuffix("failed out there: "+reason, ": ")
	}
}

// costOf is what models cost a call, in the currency of the configured prices; "": nothing is known of it.
func costOf(uses []use) string {
	sum := 0.0
	for _, u := range uses {
		sum += u.cost
	}
	if sum == 0 {
		return ""
	}
	return money(sum)
}

func money(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(f, 'f', 6, 64), "0"), ".")
}
