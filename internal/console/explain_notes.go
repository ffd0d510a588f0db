package console

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// remark is something about a call that is worth telling beside its end, or without a failure.
type remark struct {
	Text   string
	Change []advice
}

// remarks tells them, the weightiest first.
func (c *cause) remarks(answer *a2e.CallResponse) []remark {
	all := c.noted()
	if answer != nil && answer.Data != nil && answer.Data.Truncated {
		b, _ := c.limit("limits.output")
		all = append(all, remark{
			fmt.Sprintf("The result is not whole: it was longer than the skill may write (limits.output%s), and the rest was dropped.", known(b.value)),
			append(b.raise("limits.output", bytesText(roomy(2*max(bytesOf(b.value), 8*mib), 64*mib))), advice{Do: "Or let the skill leave large results as a file in /out."}),
		})
	}
	all = append(all, c.strained()...)
	if c.fail == nil && c.refused() > 0 {
		all = append(all, remark{
			fmt.Sprintf("hotcell refused it %s on its way: a host, a model or a tool that it may not use. The skill went on without.", plural(c.refused(), "request", "requests")),
			hints()[0].change,
		})
	}
	return all
}

func known(value string) string {
	if value == "" {
		return ""
	}
	return ": " + value
}

// noted puts the notes of a call into words. Of a call that failed most of them are in the reason already.
func (c *cause) noted() (all []remark) {
	if c.fail != nil {
		return c.starved()
	}
	for _, key := range slices.Sorted(maps.Keys(c.call.Notes)) {
		n, _ := wholeNumber(c.call.Notes[key])
		switch key {
		case "oom_child":
			b, _ := c.limit("limits.memory")
			all = append(all, remark{
				fmt.Sprintf("One of its processes was killed because the cell reached its memory limit (limits.memory%s). The result stands, and may lack what that process was for.", known(b.value)),
				b.raise("limits.memory", bytesText(roomy(2*max(bytesOf(b.value), 128*mib), mostMemory))),
			})
		case "oom_pressure":
			all = append(all, remark{"One of its processes was killed because the host ran out of memory. The result stands.", nil})
		case "exit_code":
			all = append(all, remark{fmt.Sprintf("Its program gave a result and ended with exit code %d afterwards. The result stands; the program may have failed while it tidied up.", n), nil})
		case "signal":
			all = append(all, remark{fmt.Sprintf("Its program gave a result and was ended by signal %d afterwards. The result stands.", n), nil})
		case "engine_lost":
			all = append(all, remark{"The engine lost the cell after it had given its result. The result stands.", nil})
		case "output_over":
			what, _ := c.call.Notes[key].(string)
			field := map[string]string{"out": "limits.out"}[what]
			field = cmp.Or(field, "limits.output")
			b, _ := c.limit(field)
			all = append(all, remark{
				fmt.Sprintf("It wrote more than it may (%s%s). What was too much was dropped; the result stands.", field, known(b.value)),
				b.raise(field, bytesText(roomy(2*max(bytesOf(b.value), 8*mib), 64*mib))),
			})
		default:
			all = append(all, remark{clip(key, 80) + ": " + clip(fmt.Sprint(c.call.Notes[key]), 200), nil})
		}
	}
	return all
}

// starved tells of a process that was killed for its memory in a call that failed in another way.
func (c *cause) starved() []remark {
	b, _ := c.limit("limits.memory")
	own := c.fail.Code == a2e.Timeout || c.fail.Code == a2e.SkillError
	switch {
	case c.told():
		return nil
	case own && c.childKilled():
		return []remark{{
			fmt.Sprintf("One of its processes was killed because the cell reached its memory limit (limits.memory%s). That may be why it failed.", known(b.value)),
			b.raise("limits.memory", bytesText(roomy(2*max(bytesOf(b.value), 128*mib), mostMemory))),
		}}
	case own && (c.call.Notes["oom_pressure"] == true || c.fail.Detail["oom_pressure"] == true):
		return []remark{{"One of its processes was killed because the host ran out of memory. That may be why it failed.", nil}}
	}
	return nil
}

// childKilled reports whether a process of the skill was killed at the cell's memory limit, and the cell went on.
func (c *cause) childKilled() bool {
	return c.call.Notes["oom_child"] == true || c.fail.Detail["oom_child"] == true
}

// told reports whether the reason itself tells of that: where the skill names another one, that comes first.
func (c *cause) told() bool {
	return c.childKilled() && c.fail.Code == a2e.SkillError && (c.fail.Reason() == "" || c.fail.Reason() == a2e.ReasonExit) && c.said() == nil
}

// strained tells where it was near a limit.
func (c *cause) strained() (all []remark) {
	u := c.usage()
	if cpu, ok := c.limit("limits.cpu"); ok && c.took() > 0 && time.Duration(u.ThrottledMS)*time.Millisecond > c.took()/5 {
		want := "2"
		if coresOf(cpu.value) >= 1000 {
			want = fmt.Sprint(2 * ((coresOf(cpu.value) + 999) / 1000))
		} else if coresOf(cpu.value) < 500 {
			want = "1"
		}
		all = append(all, remark{
			fmt.Sprintf("It was slowed down: for %s of its %s it wanted more processor than its limit (limits.cpu: %s) lets it have.",
				tookText(time.Duration(u.ThrottledMS)*time.Millisecond), tookText(c.took()), cpu.value),
			cpu.raise("limits.cpu", want),
		})
	}
	memory, ok := c.limit("limits.memory")
	oom := c.fail != nil && c.fail.Code == a2e.OutOfMemory || c.call.Notes["oom_child"] != nil
	if n := bytesOf(memory.value); ok && n > 0 && u.MemoryPeakBytes > n/10*9 && !oom && n < mostMemory {
		all = append(all, remark{
			fmt.Sprintf("It came close to its memory limit: %s of %s. A slightly larger input may be too much.", sizeText(u.MemoryPeakBytes), memory.text()),
			memory.raise("limits.memory", bytesText(roomy(2*n, mostMemory))),
		})
	}
	return all
}

var (
	plainName  = regexp.MustCompile(`^[a-z0-9]+(?:[-_][a-z0-9]+)*$`)
	deniedHost = regexp.MustCompile(`([A-Za-z0-9.\-]{1,200}:[0-9]{1,5}) is not in network\.allow`)
	plainHost  = regexp.MustCompile(`^[A-Za-z0-9.\-]{1,200}:[0-9]{1,5}$`)
)

// nameInMessage is where hotcell's own messages have a name.
type nameInMessage struct {
	name string
	form *regexp.Regexp
}

// namesInMessages are the names that hotcell's own messages have for what stands as an example in a text. They are made when a
// failure is first explained, for they are large.
var namesInMessages = sync.OnceValue(func() []nameInMessage {
	return []nameInMessage{
		{"VARIABLE", regexp.MustCompile(`env:([A-Za-z_][A-Za-z0-9_]{0,100}): there is no such variable`)},
		{"NAME", regexp.MustCompile(`stored:([A-Za-z0-9_.\-]{1,64}):`)},
		{"NAME", regexp.MustCompile(`the secret ([A-Za-z0-9_.\-]{1,64})`)},
		{"ENTRY", regexp.MustCompile(`the operator can add ([A-Za-z0-9_.:@/\-]{1,300}) (?:there|to its skills there)$`)},
		{"ADDED", regexp.MustCompile(`^there is no model provider "([a-z0-9\-]{1,64})"`)},
		{"PROVIDER", regexp.MustCompile(`^(?:model )?provider ([a-z0-9\-]{1,64}) `)},
		{"MODEL", regexp.MustCompile(`may not be asked for model "([A-Za-z0-9_.:/\-]{1,200})"`)},
		{"ALLOWED", regexp.MustCompile(`llm\.providers allows ([A-Za-z0-9_.:/\-]{1,200})(?:,|$)`)},
		{"IMAGE", regexp.MustCompile(`^image ([A-Za-z0-9_.:@/\-]{1,300}): `)},
	}
})

// fill puts the names that are known in the places of examples: only such as can do no harm in a file or a shell.
func (c *cause) fill(e *explanation) {
	names := map[string]string{}
	if plainName.MatchString(c.call.Skill) {
		names["SKILL"] = c.call.Skill
	}
	if host := c.denied(); host != "" {
		names["api.example.org:443"] = host
		for i, s := range e.What {
			e.What[i] = strings.Replace(s, "Put that host in the place of api.example.org below.", "It was "+host+".", 1)
		}
	}
	for _, in := range namesInMessages() {
		if m := in.form.FindStringSubmatch(c.fail.Message); m != nil && c.fail.Code == a2e.RuntimeError {
			names[in.name] = m[1]
		}
	}
	var texts, sentences []string
	for _, from := range slices.Sorted(maps.Keys(names)) {
		texts = append(texts, from, names[from])
		sentences = append(sentences, ":"+from, ":"+names[from])
	}
	text, sentence := strings.NewReplacer(texts...), strings.NewReplacer(sentences...) // once: names may look like examples
	for i := range e.Change {
		e.Change[i].Text, e.Change[i].Do = text.Replace(e.Change[i].Text), sentence.Replace(e.Change[i].Do)
	}
}
