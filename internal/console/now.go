package console

import (
	"context"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/console/chart"
	"github.com/hotcell/hotcell/internal/control"
)

// nowView is how it stands at this moment. All is the supervisor as a whole, which admins alone see: the queue, the memory, the
// warm cells and the engine tell of others' calls. Others see how many calls of their own there are, and whether calls are taken.
type nowView struct {
	Running, Queued int
	More            bool           // there are more than could be counted
	Ready           bool           // as GET /readyz tells everybody
	All             *control.Pulse // nil: not for the one who asks
	Why             string         // it is not ready, for admins
	Doctor          bool           // there is a page that finds out more
	Cells, Memory   template.HTML  // meters
	Warm            string         // the share of calls that got a waiting cell
	Starts          string         // how many that were, of how many
	Lost            string         // why one's own calls could not be counted
}

func (v *visit) now(ctx context.Context) nowView {
	p := v.o.Pulse.Pulse(ctx)
	ready := p.NotReady == "" && !p.Draining
	if !v.who.May(auth.Admin) {
		n, err := v.own(ctx)
		n.Ready, n.Lost = ready, v.lost(err)
		return n
	}
	n := nowView{Running: p.Running, Queued: p.Queued, Ready: ready, All: &p, Why: p.NotReady, Doctor: v.o.Doctor != nil, Warm: percent(p.Leases, p.Leases+p.Cold)}
	if n.Why == "" && p.Draining {
		n.Why = "it is stopping: calls that run may end, new ones are refused"
	}
	if p.Leases+p.Cold > 0 {
		n.Starts = fmt.Sprintf("%s of %s", countText(int(p.Leases)), countText(int(p.Leases+p.Cold)))
	}
	n.Cells = chart.Meter(fmt.Sprintf("%d of %d cells are in use", p.Running, p.MaxCells), int64(p.Running), int64(p.MaxCells))
	n.Memory = chart.Meter(fmt.Sprintf("%s of %s are reserved", sizeText(p.Reserved), sizeText(p.Memory)), p.Reserved, p.Memory)
	return n
}

// own counts the calls of the one who asks that have not ended.
func (v *visit) own(ctx context.Context) (n nowView, err error) {
	page, err := v.o.Book.Search(ctx, v.whose(), control.CallQuery{Verdict: control.VerdictRunning, Limit: control.MaxPage})
	for _, c := range page.Calls {
		switch {
		case c.State == control.Queued:
			n.Queued++
		case !c.State.Terminal():
			n.Running++
		}
	}
	n.More = page.Next != ""
	return n, err
}

// firstView says how to make a first call.
type firstView struct {
	Run, Curl string // commands
	Known     bool   // they can be run as they are
	Skills    bool   // there is a page of skills
	Try       string // the address of the form of the skill that the commands call; "": there is none
}

// shipped has calls that need nothing but hotcell, by the skills that it brings.
var shipped = []struct{ skill, arg, value string }{
	{"code-review", "code", "import os"},
	{"time-arithmetic", "question", "How many days are left this year?"},
}

// Names that go into commands as they are.
var (
	shellName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	shellHost = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?$|^\[[0-9a-fA-F:.]+\](:[0-9]+)?$`)
)

// first makes commands of a skill that there is.
func (v *visit) first() (*firstView, error) {
	f := &firstView{Skills: v.o.Reader != nil && v.who.May(auth.SkillsRead)}
	names := map[string]bool{}
	other := "SKILL"
	if f.Skills {
		all, err := v.o.Reader.Callable(v.ctx(), v.caller())
		if err != nil {
			return nil, err
		}
		for _, e := range all {
			if names[e.Definition.Name] = true; other == "SKILL" && shellName.MatchString(e.Definition.Name) {
				other = e.Definition.Name
			}
		}
	}
	for _, s := range shipped {
		if names[s.skill] {
			f.Known = true
			if v.o.Handler != nil {
				f.Try = at("skills", s.skill, "try")
			}
			f.Run = fmt.Sprintf("hotcell run %s --arg '%s=%s'", s.skill, s.arg, s.value)
			f.Curl = v.curl(s.skill, fmt.Sprintf("%q:%q", s.arg, s.value))
			return f, nil
		}
	}
	f.Run = "hotcell run " + other + " --arg KEY=VALUE"
	f.Curl = v.curl(other, `"KEY":"VALUE"`)
	return f, nil
}

// curl is a call over HTTP, at the address that the browser used.
func (v *visit) curl(skill, args string) string {
	host := v.r.Host
	if !shellHost.MatchString(host) {
		host = "127.0.0.1:8765"
	}
	scheme := "http"
	if v.r.TLS != nil || strings.EqualFold(v.r.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https"
	}
	token := ""
	if v.signed || v.who.Principal != "" {
		token = ` -H "Authorization: Bearer $HOTCELL_TOKEN"`
	}
	return fmt.Sprintf("curl -s %s://%s/v1/calls%s -H 'Content-Type: application/json' \\\n  -d '{\"name\":%q,\"arguments\":{%s}}'", scheme, host, token, skill, args)
}
