package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// limitWhys are the texts for limits that end a cell.
func limitWhys() []why {
	return []why{
		{code: a2e.Timeout, tell: timedOut},
		{code: a2e.OutOfMemory, tell: outOfMemory},
	}
}

func timedOut(c *cause) explanation {
	b, known := c.limit("timeout")
	limit := secondsOf(b.value)
	if limit == 0 && !c.call.Deadline.IsZero() {
		limit = c.call.Deadline.Sub(c.call.Started)
	}
	e := explanation{Title: "The skill was not done when its time was over.", Again: "The same request may work when it was slow by accident. If it ends so again, give it more time."}
	if limit > 0 {
		e.Title = fmt.Sprintf("The skill was not done after %s, and its time was over.", span(limit))
	}
	who := "hotcell ended the cell at its deadline."
	if known {
		who = fmt.Sprintf("It had %s (timeout: %s). hotcell ended the cell at that moment.", span(limit), b.decided())
	}
	e.What = append([]string{who}, c.busy()...)
	if c.last != nil {
		e.What = append(e.What, fmt.Sprintf("The last thing it said came %s after the start: “%s”.", c.sinceStart(c.last), plainText(clip(eventText(c.last), 200))))
	} else {
		e.What = append(e.What, "It had said nothing at all by then.")
	}
	e.Change = moreTime(b, limit)
	if share := c.busyShare(); share > 0.8 {
		if cpu, ok := c.limit("limits.cpu"); ok && coresOf(cpu.value) < 2000 {
			e.Change = append(e.Change, cpu.raise("limits.cpu", "2")...)
		}
	} else {
		e.Change = append(e.Change, advice{Do: "Or find what it waits for: a host that does not answer, a lock and a sleep are the usual reasons. Let the skill give up on that by itself, before its time is over, and say so."})
	}
	if h := c.hint(); h != nil {
		e.What, e.Change = append(e.What, h.what), append(e.Change, h.change...)
	}
	return e
}

// moreTime advises more time, in the place that decided.
func moreTime(b bound, limit time.Duration) []advice {
	if limit >= mostTimeout {
		return []advice{{Do: "10 minutes are the most that a call can have: split the work into several calls."}}
	}
	n := int(longer(limit).Seconds())
	skill := advice{Do: "Give the skill more time.", File: "skill.yaml", Text: fmt.Sprintf("timeout_seconds: %d", n)}
	call := advice{Do: "The caller asked for so little: let it ask for more, or leave timeout out.", File: "the request", Text: fmt.Sprintf(`"timeout": %d`, n)}
	switch {
	case b.from == "call" && b.asked != "":
		return []advice{skill, call}
	case b.from == "call":
		return []advice{call}
	case b.from == "default":
		return []advice{skill, {Do: "Or let the caller ask for more in its request; up to 600 seconds are allowed while skill.yaml says nothing.", File: "the request", Text: fmt.Sprintf(`"timeout": %d`, n)}}
	}
	return []advice{skill}
}

// busyShare is how much of the time it computed, of one core.
func (c *cause) busyShare() float64 {
	if c.took() <= 0 {
		return 0
	}
	share := float64(c.usage().CPUMS) / float64(c.took().Milliseconds())
	if cpu, ok := c.limit("limits.cpu"); ok && coresOf(cpu.value) > 0 {
		share *= 1000 / float64(coresOf(cpu.value))
	}
	return share
}

// busy says whether it computed or waited.
func (c *cause) busy() []string {
	u := c.usage()
	if c.took() <= 0 || u.CPUMS == 0 {
		return nil
	}
	cpu := tookText(time.Duration(u.CPUMS) * time.Millisecond)
	switch share := c.busyShare(); {
	case share < 0.1:
		return []string{fmt.Sprintf("It used %s of processor time in %s: nearly all the time it waited for something.", cpu, span(c.took()))}
	case share > 0.8:
		s := fmt.Sprintf("It used %s of processor time in %s: it computed all the time", cpu, span(c.took()))
		if b, ok := c.limit("limits.cpu"); ok {
			s += fmt.Sprintf(", as fast as its limit of processors (limits.cpu: %s) let it", b.value)
		}
		return []string{s + "."}
	}
	return []string{fmt.Sprintf("It used %s of processor time in %s. The rest of the time it waited for something, or the host was too busy to run it.", cpu, span(c.took()))}
}

// sinceStart is when an event came, after the skill's start.
func (c *cause) sinceStart(ev *a2e.Event) string {
	from := c.call.Started
	if from.IsZero() {
		from = c.call.Accepted
	}
	return tookText(eventTime(ev).Sub(from))
}

func outOfMemory(c *cause) explanation {
	b, known := c.limit("limits.memory")
	limit, peak := bytesOf(b.value), c.usage().MemoryPeakBytes
	e := explanation{Title: "The skill used more memory than it may.", Again: "The same request with the same input will most likely end in the same way: raise the limit first."}
	if limit > 0 {
		e.Title = fmt.Sprintf("The skill used more than its %s of memory.", b.text())
	}
	e.What = []string{"The kernel killed a process of the skill when the cell reached its memory limit."}
	if known {
		e.What[0] += fmt.Sprintf(" The limit is %s (limits.memory: %s).", b.text(), b.decided())
	}
	if peak > 0 {
		e.What = append(e.What, fmt.Sprintf("The most that it had at once was %s. It was stopped there, so what it needs is more than that.", sizeText(peak)))
	}
	e.What[0] += strings.Join(append([]string{""}, c.witness()...), " ")
	e.What = append(e.What, "Files in /workspace and /out count as memory, too.")
	switch {
	case limit >= mostMemory:
		e.Change = []advice{{Do: "4 GiB are the most that a call can have: let the skill work on its input in pieces."}}
	default:
		want := roomy(2*max(limit, peak), mostMemory)
		if limit == 0 && peak == 0 {
			want = 512 * mib
		}
		e.Change = b.raise("limits.memory", bytesText(want))
	}
	e.Change = append(e.Change, advice{Do: "Or let the skill need less: read large files line by line, and hand in less at once."})
	return e
}
