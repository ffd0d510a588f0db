package console

import (
	"fmt"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
)

// skillWhys are the texts for what the skill itself did wrong.
func skillWhys() []why {
	c := a2e.SkillError
	return []why{
		{code: c, tell: ownFailure},
		{code: c, reason: a2e.ReasonExit, tell: exited},
		{code: c, reason: a2e.ReasonStartFailed, tell: commandMissing},
		{code: c, reason: a2e.ReasonOutputLimit, tell: tooMuchOutput},
		{code: c, reason: a2e.ReasonOutputSchema, tell: outputMismatch},
	}
}

// ownFailure is a result in which the skill says that it failed.
func ownFailure(c *cause) explanation {
	e := explanation{
		Title: "The skill ran and reported that it failed.",
		What:  []string{"hotcell ended nothing: the skill finished by itself, within its limits, with a result that says so. Its own message is below."},
		Change: []advice{
			{Do: "Read the skill's message and its events: they say what it could not do. Often an argument of the call is to be changed."},
			{Do: "If the message is no help, the skill's author can make it say which argument is wrong and what it expected."},
		},
	}
	if code := c.text("skill_code"); code != "" {
		e.What = append(e.What, "The skill's own code for it: "+clip(plainText(code), 80)+".")
		if code == "max_turns_exceeded" {
			e.Change = []advice{
				{Do: "Let the model take more turns.", File: "skill.yaml", Text: "max_turns: 20"},
				{Do: "Or ask for less in one call."},
			}
		}
	}
	return c.refusals(e)
}

func exited(c *cause) explanation {
	code, _ := c.number("exit_code")
	e := explanation{
		Title: fmt.Sprintf("The skill's program ended with exit code %d instead of a result.", code),
		What: []string{
			"hotcell ended nothing: the program stopped by itself. A program that fails in the middle, for instance with an exception that nobody catches, ends so.",
		},
		Change: []advice{
			{Do: "Read what it wrote to standard error, below: the last lines usually name the file and the line of the fault. Mend that in the skill."},
			{Do: "To report a failure in words, let the skill print a result that says so, and exit with 0.", File: "standard output of the skill", Text: `{"type":"skill/result","success":false,"error":"what is wrong"}`},
		},
	}
	switch code {
	case 137, 143:
		e.What = append(e.What, fmt.Sprintf("The code %d is what a shell shows when a program below it was killed. hotcell did not do that, and no memory limit was hit.", code))
	case 126, 127:
		e.What = append(e.What, fmt.Sprintf("A shell ends with %d when it can't find or can't run a command.", code))
		e.Change = append([]advice{{Do: "Put the missing command into the skill's image, or correct its name."}}, e.Change...)
	}
	return c.refusals(e)
}

func commandMissing(*cause) explanation {
	return explanation{
		Title: "The skill's program could not be started.",
		What:  []string{"The cell was made, but the command is not in its image, or it is no program that can run there. Nothing of the skill ran."},
		Change: []advice{
			{Do: "Check the command: it must be in the image or in the skill's folder, and be executable.", File: "skill.yaml", Text: "run:\n  command: [python3, scripts/main.py]"},
			{Do: "If the program is right and the image lacks it, name another image.", File: "skill.yaml", Text: "run:\n  image: your/image:1"},
		},
	}
}

func tooMuchOutput(c *cause) explanation {
	budget := c.text("budget")
	field, what := "limits.output", "wrote more text, events or result than it may"
	if budget == "out" {
		field, what = "limits.out", "left more bytes of files (artifacts) than it may"
	}
	e := explanation{Title: "The skill " + what + ".", Again: "The same request would fill it again: raise the limit or let the skill say less."}
	b, ok := c.limit(field)
	if !ok {
		e.What = []string{fmt.Sprintf("The limit is %s. When it was used up hotcell ended the cell.", field)}
		e.Change = bound{}.raise(field, "16Mi")
	} else {
		most := 64 * mib
		if budget == "out" {
			most = 2024 * mib
		}
		n := bytesOf(b.value)
		e.What = []string{fmt.Sprintf("It may have %s (%s: %s). When that was used up hotcell ended the cell; what had come until then is kept.", b.value, field, b.decided())}
		if n < most {
			e.Change = b.raise(field, bytesText(roomy(2*n, most)))
		}
		if b.from == "limits.memory" {
			e.Change = []advice{{Do: "Files live in memory, so limits.memory has to grow with limits.out.", File: "skill.yaml", Text: "limits:\n  memory: 512Mi\n  out: " + bytesText(roomy(2*n, most))}}
		}
	}
	e.Change = append(e.Change, advice{Do: "Or let the skill print less: a loop that prints without end is the usual reason. Large data belongs into a file in /out."})
	return e
}

func outputMismatch(*cause) explanation {
	return explanation{
		Title: "The skill's result does not fit its own output_schema.",
		What: []string{
			"The skill ran to its end and gave a result. hotcell held it against output_schema in skill.yaml, and it does not match: the message below names the place and what was expected there.",
		},
		Change: []advice{
			{Do: "Mend the skill so that its result has what output_schema promises."},
			{Do: "If the result is right, output_schema in skill.yaml is wrong: change that."},
		},
	}
}

// refusals adds what hotcell refused the skill on the way, which is often why it failed.
func (c *cause) refusals(e explanation) explanation {
	said := c.fail.Message + "\n" + c.text("stderr")
	var hints []advice
	for _, h := range refusalHints() {
		if strings.Contains(said, h.has) {
			e.What = append(e.What, h.what)
			hints = append(hints, h.change...)
			break
		}
	}
	if len(hints) == 0 && c.refused() > 0 {
		e.What = append(e.What, fmt.Sprintf("On its way hotcell refused it %s: a host, a model or a tool that it may not use.", plural(c.refused(), "request", "requests")))
		hints = refusalHints()[0].change
	}
	e.Change = append(hints, e.Change...)
	return e
}

// refused is how often hotcell refused something that the skill wanted outside of its cell.
func (c *cause) refused() int {
	if c.call.Account == nil || c.call.Account.Uses == nil {
		return 0
	}
	return c.call.Account.Uses.Refused
}

// refusalHint is what a skill repeats when hotcell refused it something.
type refusalHint struct {
	has, what string
	change    []advice
}

func refusalHints() []refusalHint {
	hosts := []advice{
		{Do: "Name the host and the port that the skill must reach.", File: "skill.yaml", Text: "network:\n  allow: [\"api.example.org:443\"]"},
		{Do: "The operator must allow the same host: policy.network bounds all skills, and is none by default.", File: "hotcell.yaml", Text: "policy:\n  network:\n    allow: [\"api.example.org:443\"]"},
	}
	return []refusalHint{
		{"is not in network.allow", "It wanted to reach a host on the network that it may not reach, and hotcell refused that. Put that host in the place of api.example.org below.", hosts},
		{"leads to an address that is not public", "It wanted to reach a host whose address is private, and hotcell refused that.", []advice{
			{Do: "Only the operator can open private addresses, by naming them.", File: "hotcell.yaml", Text: "policy:\n  network:\n    allow: [\"10.1.2.3:443\", \"api.example.org:443\"]"},
		}},
		{"Network is unreachable", "A cell has no network of its own: hosts are reached through the proxy that the environment names (HTTPS_PROXY), and only those that the policy allows.", hosts},
		{"Temporary failure in name resolution", "A cell has no network of its own, so names can't be looked up: hosts are reached through the proxy that the environment names (HTTPS_PROXY), and only those that the policy allows.", hosts},
		{"Name or service not known", "A cell has no network of its own, so names can't be looked up: hosts are reached through the proxy that the environment names (HTTPS_PROXY), and only those that the policy allows.", hosts},
		{"max_turns exceeded", "It asked its model more often than it may.", []advice{{Do: "Let it ask the model more often.", File: "skill.yaml", Text: "max_turns: 20"}}},
		{"and the request may use", "Its budget of model tokens was used up.", []advice{
			{Do: "Raise the tokens of one call at the model's provider.", File: "hotcell.yaml", Text: "llm:\n  providers:\n    - name: ...\n      limits:\n        tokens: 2000000"},
		}},
		{"and the request may cost", "What it may spend on its model was used up.", []advice{
			{Do: "Raise what one call may cost at the model's provider.", File: "hotcell.yaml", Text: "llm:\n  providers:\n    - name: ...\n      limits:\n        cost: 2"},
		}},
		{"No space left on device", "Its working folder /workspace, or /out, was full.", []advice{
			{Do: "Give it more room. Files live in memory, so limits.memory has to grow as well.", File: "skill.yaml", Text: "limits:\n  memory: 512Mi\n  workspace: 128Mi\n  out: 64Mi"},
		}},
		{"ModuleNotFoundError", "A Python package that it imports is not there: a cell can't install anything while it runs.", []advice{
			{Do: "Put the package beside the script, or name an image that has it.", File: "shell", Text: "pip install --target scripts --no-compile PACKAGE"},
		}},
		{"Resource temporarily unavailable", "It wanted to start more processes or threads than it may.", []advice{
			{Do: "Let it have more processes.", File: "skill.yaml", Text: "limits:\n  pids: 128"},
		}},
	}
}
