package console

import (
	"fmt"

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
		What:  []string{"The skill finished by itself and gave a result that says so; hotcell did not end it. Its own message is below."},
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
			fmt.Sprintf("Its program ended by itself with exit code %d; hotcell did not end it. A program ends so when it fails in the middle, for instance with an exception that nobody catches.", code),
		},
		Change: []advice{
			{Do: "Read the end of its standard error on this page: the last lines usually name the file and the line of the fault. Mend that in the skill."},
			{Do: "So that callers are told in words, let the skill print a result that says what is wrong, and exit with 0.", File: "a line on the skill's standard output", Text: `{"type":"skill/result","success":false,"error":"..."}`},
		},
	}
	switch code {
	case 137, 143:
		e.What = append(e.What, fmt.Sprintf("The code %d is what a shell shows when a program below it was killed. hotcell did not do that.", code))
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
	field, what := "limits.output", "printed more text or sent more events than it may"
	less := "Or let the skill print less: a loop that prints without end is the usual reason. Large data belongs into a file in /out."
	switch budget {
	case "out":
		field, what, less = "limits.out", "left more bytes of files (artifacts) than it may", "Or let the skill leave less in /out."
	case "result":
		what, less = "gave a larger result than it may", "Or let the skill put large data into a file in /out, and only its name into the result."
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
		e.What = []string{fmt.Sprintf("It may have %s (%s: %s). When that was used up hotcell ended the cell. What had come by then is kept.", b.text(), field, b.decided())}
		if n < most {
			e.Change = b.raise(field, bytesText(roomy(2*n, most)))
		}
		if b.from == "limits.memory" {
			e.Change = []advice{{Do: "Files live in memory, so limits.memory has to grow with limits.out.", File: "skill.yaml", Text: "limits:\n  memory: 512Mi\n  out: " + bytesText(roomy(2*n, most))}}
		}
	}
	e.Change = append(e.Change, advice{Do: less})
	return e
}

func outputMismatch(*cause) explanation {
	return explanation{
		Title: "The skill's result does not fit its own output_schema.",
		What: []string{
			"The skill ran to its end and gave a result. hotcell held it against output_schema in skill.yaml, and it does not match: the error message names the place and what was expected there.",
		},
		Change: []advice{
			{Do: "Mend the skill so that its result has what output_schema promises."},
			{Do: "If the result is right, output_schema in skill.yaml is wrong: change that."},
		},
	}
}
