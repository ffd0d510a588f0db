package console

import (
	"fmt"
	"strconv"
	"strings"
)

// afterKill is for skills that failed after one of their processes was killed for its memory.
func (c *cause) afterKill(e explanation) explanation {
	b, ok := c.limit("limits.memory")
	what := "The kernel killed a process of the skill when the cell reached its memory limit"
	if ok {
		what += fmt.Sprintf(", %s (limits.memory: %s)", b.value, b.decided())
	}
	e.Title = "One of the skill's processes ran out of memory, and then the skill failed."
	e.What = append([]string{what + ". What was left of the skill went on, and failed: most likely because of that."}, e.What...)
	change := []advice{{Do: "4 GiB are the most that a call can have: let the skill work on its input in pieces."}}
	if n := bytesOf(b.value); n < mostMemory {
		change = b.raise("limits.memory", bytesText(roomy(2*max(n, 128*mib), mostMemory)))
	}
	e.Change = append(change, advice{Do: "Or let that process need less: read large files in pieces, or run fewer helpers at once."})
	e.Again = "It would most likely fail in the same way: raise the limit first."
	return e
}

// offline tells of programs that tried to reach a host without the proxy.
func offline(c *cause, h *hint, _ string) bool {
	b, ok := c.limit("network")
	switch {
	case !ok:
		h.what = "A cell has no network of its own. Hosts are reached through the proxy that the environment names (HTTPS_PROXY), and only those that the policy allows."
	case b.value != "none":
		h.title = "tried to reach a host without the proxy"
		h.what = fmt.Sprintf("It may reach %s, but only through the proxy that the environment names (HTTPS_PROXY): a cell has no other way out, and can't even look up names.", clip(b.value, 200))
		h.change = []advice{{Do: "Let the program use the proxy. Most HTTP libraries do by themselves; some have to be told, such as Node's fetch.", File: "the skill's code", Text: "read HTTPS_PROXY, and connect through it"}}
	case b.asked != "":
		h.what = fmt.Sprintf("It asks for %s, and the operator allows none of that, so its cell has no network at all.", clip(b.asked, 200))
		h.change = h.change[1:]
		if first, _, _ := strings.Cut(b.asked, ","); plainHost.MatchString(strings.TrimSpace(first)) {
			h.change[0].Text = strings.ReplaceAll(h.change[0].Text, "api.example.org:443", strings.TrimSpace(first))
		}
	default:
		h.what = "Its skill.yaml asks for no host (network: none), so its cell has no network at all: names can't be looked up either."
		h.change[0].Do = "Name the host and the port that it needs, in the place of api.example.org:443."
	}
	return true
}

// full tells of room for files.
func full(c *cause, h *hint, said string) bool {
	workspace, known := c.limit("limits.workspace")
	out, _ := c.limit("limits.out")
	memory, _ := c.limit("limits.memory")
	h.what = "Its working folder /workspace, or /out, was full (limits.workspace, limits.out). Files live in memory."
	h.change = []advice{{Do: "Give it more room, and as much more memory.", File: "skill.yaml", Text: "limits:\n  memory: 512Mi\n  workspace: 128Mi\n  out: 64Mi"}}
	if !known {
		return true
	}
	h.what = fmt.Sprintf("Its working folder /workspace, which has %s, or /out, which has %s, was full. Files live in memory.", workspace.value, out.value)
	w, o, m := bytesOf(workspace.value), bytesOf(out.value), bytesOf(memory.value)
	lines := ""
	if !strings.Contains(said, "'/out/") {
		w = roomy(2*w, mostMemory)
		lines += "\n  workspace: " + bytesText(w)
	}
	if !strings.Contains(said, "'/workspace/") {
		o = roomy(2*o, mostMemory)
		lines += "\n  out: " + bytesText(o)
	}
	need := m
	for need < mostMemory && roomFor(need) < w+o {
		need = roomy(need+1, mostMemory)
	}
	do := "Give it more room."
	switch {
	case roomFor(need) < w+o:
		h.change = []advice{{Do: "A cell can't have that much more room: let the skill remove what it needs no more, or work in pieces."}}
		return true
	case need > m:
		do = "Give it more room. Files live in memory, so limits.memory has to grow as well."
		lines = "\n  memory: " + bytesText(need) + lines
	}
	h.change = []advice{{Do: do, File: "skill.yaml", Text: "limits:" + lines}}
	if workspace.from == "operator" || out.from == "operator" || need > m && memory.from == "operator" {
		h.change = append(h.change, advice{Do: "The operator bounds this for every skill: raise it in policy.limits, too.", File: "hotcell.yaml", Text: "policy:\n  limits:" + strings.ReplaceAll(lines, "\n", "\n  ")})
	}
	return true
}

// roomFor is how much of a cell's memory its files may take at most: docs/skills.md has the rule.
func roomFor(memory int64) int64 {
	return memory/2 - min(memory/16, 16*mib) - min(memory/32, 8*mib)
}

// crowded tells of processes and threads: where fewer were counted than there may be, something else was meant.
func crowded(c *cause, h *hint, _ string) bool {
	b, ok := c.limit("limits.pids")
	n, peak := bytesOf(b.value), int64(c.usage().PIDsPeak)
	if ok && peak > 0 && peak < n-n/8 {
		return false
	}
	return c.counted(h, b, "limits.pids", "processes and threads at once, some 10 of hotcell's own among them", 64, 4096)
}

func manyFiles(c *cause, h *hint, _ string) bool {
	b, _ := c.limit("limits.files")
	c.counted(h, b, "limits.files", "open files in one process", 256, 16384)
	h.change = append(h.change, advice{Do: "Or let it close files that are done with."})
	return true
}

// counted tells of a limit that is a plain number.
func (c *cause) counted(h *hint, b bound, field, what string, usual, most int64) bool {
	n := bytesOf(b.value)
	h.what = fmt.Sprintf("The number of its %s is bounded by %s.", what, field)
	if n > 0 {
		h.what = fmt.Sprintf("It may have %d %s (%s: %s).", n, what, field, b.decided())
	} else {
		n = usual
	}
	if n >= most {
		h.change = []advice{{Do: fmt.Sprintf("%d are the most that a call can have: let the skill do with fewer.", most)}}
		return true
	}
	h.change = b.raise(field, strconv.FormatInt(min(2*n, most), 10))
	return true
}
