package console

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// explanation says in plain words why a call ended as it did, and what to change.
type explanation struct {
	Title  string   // what happened, in one sentence
	What   []string // which limit, what peak, who ended it: a paragraph each
	Change []advice // the most likely first
	Again  string   // whether the same request is worth another try
}

// advice is one thing that can be done.
type advice struct {
	Do   string // a sentence: who does what
	File string // where the lines are written: skill.yaml, hotcell.yaml, ...; "": nowhere
	Text string // the lines, to be copied
}

// cause is what is known of a call's end.
type cause struct {
	call  control.Call
	fail  *a2e.Error // nil: success
	ran   *control.Ran
	asked *control.Request
	last  *a2e.Event // that the skill sent
	uses  []use      // of what lies outside of its cell, as far as who looks may know
}

// why is a row of the tables: the text for a code and a reason. Where has is not "", the message must have it.
type why struct {
	code   a2e.Code
	reason string
	has    string
	tell   func(*cause) explanation
}

// whys are all texts. Of those that fit the first counts; one without a reason is for those that have no text of their own.
func whys() []why {
	var all []why
	for _, rows := range [][]why{skillWhys(), limitWhys(), cellWhys(), clusterWhys(), hostWhys(), requestWhys()} {
		all = append(all, rows...)
	}
	return all
}

// explain finds the text for a call that failed.
func explain(c *cause) *explanation {
	code, reason := c.fail.Code, c.fail.Reason()
	var best *why
	rows := whys()
	for i := range rows {
		r := &rows[i]
		if r.code == code && (r.reason == reason || r.reason == "") && strings.Contains(c.fail.Message, r.has) &&
			(best == nil || r.weight() > best.weight()) {
			best = r
		}
	}
	var e explanation
	if best != nil {
		e = best.tell(c)
	} else {
		e = explanation{
			Title: "The call failed.", What: []string{"Its error has a code that this page has no words for: " + clip(string(code), 80) + "."},
			Change: []advice{{Do: "Read the error message: it says what is known."}},
		}
	}
	if e.Again == "" {
		e.Again = c.again()
	}
	c.fill(&e)
	return &e
}

// weight is how well a row fits that does.
func (w *why) weight() int {
	n := 0
	if w.reason != "" {
		n++
	}
	if w.has != "" {
		n += 2
	}
	return n
}

// again is the usual advice about another try.
func (c *cause) again() string {
	if c.fail.Retryable {
		return "The same request may work if it is sent again."
	}
	return "The same request would fail in the same way: change something first."
}

// witness says where the facts about the end of a cell come from.
func (c *cause) witness() []string {
	switch c.call.Confidence {
	case "kernel":
		return []string{"The kernel itself counted that, so it is certain."}
	case "engine":
		return []string{"The container engine says so. The kernel could not be asked."}
	case "runner":
		return []string{"hotcell's own process inside the cell counted that. Neither the kernel nor the engine could be asked."}
	}
	return nil
}

// bound is a limit of the call.
type bound struct {
	value string // as a configuration has it: 256Mi
	from  string // who decided: host, operator, default, skill, call, limits.memory
	asked string // what the skill or the call wanted, where it was cut
	by    string // who cut it
}

// limit returns a limit of the policy that the call ran under.
func (c *cause) limit(field string) (b bound, ok bool) {
	if c.ran == nil {
		return bound{}, false
	}
	for _, choice := range c.ran.Choices {
		if choice.Field == field {
			b, ok = bound{value: choice.Value, from: choice.From}, true
		}
	}
	for _, cut := range c.ran.Clamps {
		if cut.Field == field {
			b.asked, b.by = cut.Asked, cut.By
		}
	}
	return b, ok
}

// text is the limit for people; of an amount of bytes with a unit that people know.
func (b bound) text() string { return sizeValue(b.value) }

// decided says who set a limit.
func (b bound) decided() string {
	s := map[string]string{
		"host": "the most that hotcell allows", "operator": "set by the operator in hotcell.yaml", "default": "the default, since skill.yaml says nothing",
		"skill": "set in the skill's skill.yaml", "call": "asked for by the caller", "limits.memory": "as much as limits.memory has room for",
	}[b.from]
	if b.asked != "" {
		s += fmt.Sprintf("; %s was asked for and cut", sizeValue(b.asked))
	}
	return cmp.Or(s, "set by "+clip(b.from, 40))
}

// took is how long the skill ran.
func (c *cause) took() time.Duration {
	if c.call.Started.IsZero() || c.call.Ended.IsZero() {
		return 0
	}
	return c.call.Ended.Sub(c.call.Started)
}

// usage is what was measured; never nil.
func (c *cause) usage() *control.Usage {
	if c.call.Usage == nil {
		return &control.Usage{}
	}
	return c.call.Usage
}

// number returns a number of the error's detail.
func (c *cause) number(key string) (int64, bool) {
	if c.fail == nil {
		return 0, false
	}
	return wholeNumber(c.fail.Detail[key])
}

// text returns a text of the error's detail.
func (c *cause) text(key string) string {
	s, _ := c.fail.Detail[key].(string)
	return s
}
