package console

import (
	"fmt"

	"github.com/hotcell/hotcell/internal/a2e"
)

// cellWhys are the texts for cells that broke.
func cellWhys() []why {
	c := a2e.SandboxCrash
	return []why{
		{code: c, tell: crashed},
		{code: c, reason: a2e.ReasonSignal, tell: signalled},
		{code: c, reason: a2e.ReasonExit, tell: cellExited},
		{code: c, reason: a2e.ReasonTruncated, tell: cutOff},
		{code: c, reason: a2e.ReasonStartFailed, tell: notStarted},
		{code: c, reason: a2e.ReasonEngineUnavailable, tell: engineGone},
		{code: c, reason: a2e.ReasonSupervisorRestart, tell: restarted},
		{code: c, reason: a2e.ReasonOOMPressure, tell: pressed},
	}
}

func crashed(*cause) explanation {
	return explanation{
		Title:  "The cell broke before there was a result.",
		What:   []string{"Neither the skill nor hotcell ended it. The error message has what is known."},
		Change: []advice{{Do: "Run it again. If it ends so again, let an operator look: hotcell doctor says what is wrong with the host.", File: "shell", Text: "hotcell doctor"}},
	}
}

// signals are those that tell something, in words.
var signals = map[int64]string{
	4:  "an instruction that this processor does not have: a library that was built for another kind of processor",
	6:  "the program gave up by itself (abort): an assertion that failed, or a library that found its memory broken",
	7:  "a fault in how memory was reached: often a file that became shorter while it was mapped",
	8:  "a division by zero, or a similar fault of arithmetic",
	9:  "it was killed from within its own cell or by somebody on the host; hotcell did not do it",
	11: "memory was reached that does not belong to the program. That is a fault in native code, such as a C extension",
	15: "it was asked to end from within its own cell",
	31: "a system call was used that cells may not use",
}

// shortSignals are their names, for titles.
var shortSignals = map[int64]string{
	4: " (illegal instruction)", 6: " (abort)", 7: " (bus error)", 8: " (arithmetic fault)", 9: " (kill)", 11: " (segmentation fault)", 15: " (termination)", 31: " (bad system call)",
}

func signalled(c *cause) explanation {
	n, ok := c.number("signal")
	if code, has := c.number("exit_code"); !ok && has && code > 128 {
		n = code - 128
	}
	e := explanation{
		Title: fmt.Sprintf("The skill crashed: its program was ended by signal %d%s.", n, shortSignals[n]),
		What:  []string{"hotcell did not send that signal, and no limit of the cell was the reason."},
		Change: []advice{
			{Do: "Look for native code in the skill (a C extension, a binary) and try the same input outside of hotcell. The events below show how far it got."},
		},
		Again: "It may work another time. A crash with the same input every time is a fault in the skill or its image.",
	}
	if word := signals[n]; word != "" {
		e.What = append(e.What, fmt.Sprintf("Signal %d means: %s.", n, word))
	}
	switch n {
	case 9, 15:
		e.Change = []advice{{Do: "Find what in the skill ends it: a kill, a helper that watches it, a time-out of its own. The events below show how far it got."}}
		e.Again = "It may work another time. If it ends so with the same input every time, the skill itself does it."
	case 31:
		e.Change = []advice{{Do: "Let the skill do without it; there is no switch for single system calls. docs/security.md lists what cells may do."}}
		e.Again = "It would crash in the same way again."
	}
	return e
}

func cellExited(c *cause) explanation {
	code, _ := c.number("exit_code")
	return explanation{
		Title: fmt.Sprintf("The cell ended with exit code %d and gave no result.", code),
		What:  []string{"The first process of the cell ended without saying why. In an image of its own (run: frames) that is the skill's own program."},
		Change: []advice{
			{Do: "Let the program print its result as the last line before it exits, and read on until cell/done comes.", File: "standard output of the image", Text: `{"type":"skill/result","success":true,"data":{}}`},
		},
	}
}

func cutOff(*cause) explanation {
	return explanation{
		Title: "What the cell said was cut off before its result.",
		What:  []string{"The stream between hotcell and the cell ended in the middle. What had come by then is below. Who cut it is not known."},
		Change: []advice{
			{Do: "Run it again. If an image of its own (run: frames) ends so every time, it exits too early: it must wait for cell/done."},
			{Do: "If many skills end so, the engine is in trouble: an operator can look.", File: "shell", Text: "hotcell doctor"},
		},
	}
}

func notStarted(c *cause) explanation {
	e := explanation{
		Title:  "The cell could not be started.",
		What:   []string{"Nothing of the skill ran. The engine's own words are in the error message."},
		Change: []advice{{Do: "An operator can see what is wrong with the host and the engine.", File: "shell", Text: "hotcell doctor"}},
	}
	if code, ok := c.number("exit_code"); ok && (code == 126 || code == 127) {
		e.What = append(e.What, fmt.Sprintf("The exit code %d means that the command is not in the image, or is no program for this processor.", code))
		e.Change = []advice{{Do: "Name a command that is in the image, or an image that has it.", File: "skill.yaml", Text: "run:\n  image: your/image:1\n  command: [python3, scripts/main.py]"}}
	}
	return e
}

func engineGone(*cause) explanation {
	return explanation{
		Title: "The engine that makes cells did not answer.",
		What:  []string{"This is about the host and not about the skill: the container engine (Docker, or the OCI runtime) was stopped, restarted, or is overloaded."},
		Change: []advice{
			{Do: "An operator has to look at the engine.", File: "shell", Text: "hotcell doctor\nsystemctl status docker"},
		},
		Again: "Send it again once the engine is back. If the skill changes things elsewhere, check first how far it got.",
	}
}

func restarted(*cause) explanation {
	return explanation{
		Title: "hotcell itself was stopped while the call ran.",
		What: []string{
			"It was restarted, or it was killed. What the skill had done by then is not known; its cell was destroyed.",
		},
		Change: []advice{{Do: "Nothing has to be changed in the skill. If hotcell stops often, its log says why.", File: "shell", Text: "journalctl -u hotcell --since -1h"}},
		Again:  "It can be sent again. If the skill changes things elsewhere, check first how far it got.",
	}
}

func pressed(c *cause) explanation {
	e := explanation{
		Title: "The host ran out of memory, and a process of the skill was killed for it.",
		What:  []string{"The skill itself kept within its limit. All that runs on the host together needed more memory than there is."},
		Change: []advice{
			{Do: "Let fewer cells run at once, so that their memory fits: the operator bounds that.", File: "hotcell.yaml", Text: "sandbox:\n  max_memory: 4Gi\n  max_cells: 4"},
			{Do: "Or give the host more memory, or move other programs away."},
		},
		Again: "It may work when less is running.",
	}
	if b, ok := c.limit("limits.memory"); ok && c.usage().MemoryPeakBytes > 0 {
		e.What = append(e.What, fmt.Sprintf("It had %s of its %s.", sizeText(c.usage().MemoryPeakBytes), b.text()))
	}
	return e
}
