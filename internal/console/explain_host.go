package console

import (
	"fmt"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// hostWhys are the texts for what hotcell did not do.
func hostWhys() []why {
	c := a2e.RuntimeError
	return append([]why{
		{code: c, tell: unclear},
		{code: c, reason: a2e.ReasonInternal, tell: internalFault},
		{code: c, reason: a2e.ReasonCancelled, tell: cancelled},
		{code: c, reason: a2e.ReasonQueueFull, tell: queueFull},
		{code: c, reason: a2e.ReasonQueueTimeout, tell: queueTimeout},
		{code: c, reason: a2e.ReasonQuota, tell: overQuota},
		{code: c, reason: a2e.ReasonDraining, tell: draining},
		{code: c, reason: a2e.ReasonImageUnavailable, tell: noImage},
		{code: c, reason: a2e.ReasonImageUnavailable, has: "names no image", tell: imageUnnamed},
		{code: c, reason: a2e.ReasonImageUnavailable, has: "not present, and the pull policy is never", tell: imageNotHere},
		{code: c, reason: a2e.ReasonBlocked, tell: blocked},
		{code: c, reason: a2e.ReasonBlocked, has: "skill.yaml says status: Blocked", tell: switchedOff},
		{code: c, reason: a2e.ReasonBlocked, has: "this host has no tool ", tell: toolUnknown},
		{code: c, reason: a2e.ReasonToolUnavailable, tell: toolGone},
	}, unsupportedWhys()...)
}

func doctor(do string) advice { return advice{Do: do, File: "shell", Text: "hotcell doctor"} }

func unclear(*cause) explanation {
	return explanation{
		Title:  "hotcell could not run the call.",
		What:   []string{"The reason is in the error message. The skill did nothing wrong that is known."},
		Change: []advice{doctor("An operator can look at the host and at hotcell's log.")},
	}
}

func internalFault(*cause) explanation {
	return explanation{
		Title:  "Something failed inside hotcell.",
		What:   []string{"It is no fault of the skill and none of the request. hotcell's log has the details, which are kept from callers."},
		Change: []advice{{Do: "An operator can find the call in hotcell's log by the call id above."}, doctor("It may be that the disk is full, or that the journal can't be written.")},
		Again:  "It may work another time.",
	}
}

func cancelled(*cause) explanation {
	return explanation{
		Title:  "The call was cancelled.",
		What:   []string{"It did not fail: somebody ended it before it was done, or whoever waited for its answer went away. The error message says who."},
		Change: []advice{{Do: "Nothing has to be changed. If nobody cancelled it by hand, the caller's own time-out is shorter than the skill needs: let it wait longer."}},
		Again:  "It can be run again at any time.",
	}
}

func queueFull(*cause) explanation {
	return explanation{
		Title: "There was no room: too many calls ran or waited already.",
		What:  []string{"hotcell took the call and gave up at once, so that it can answer the others. The skill did not run."},
		Change: []advice{
			{Do: "Send fewer calls at once, or wait between them (1 s, 2 s, 4 s)."},
			{Do: "If the host has room for more cells at once, the operator can raise what bounds them: their number, or the memory of all together. The Overview shows which is used up.", File: "hotcell.yaml", Text: "sandbox:\n  max_cells: 16\n  max_memory: 8Gi"},
		},
		Again: "Yes, in a moment.",
	}
}

func queueTimeout(c *cause) explanation {
	e := queueFull(c)
	e.Title = "No cell was free in time."
	e.What = []string{"The call waited for a place until its patience was over. The skill did not run."}
	return e
}

func overQuota(c *cause) explanation {
	e := explanation{
		Title: "The principal has used up its quota.",
		What:  []string{"Who calls may use only so much at once, or within a minute or a day. The error message says which quota it was. The skill did not run."},
		Change: []advice{
			{Do: "Wait, or send fewer calls."},
			{Do: "The operator sets the quotas; 0 is no bound. Raise the one that the message names.", File: "hotcell.yaml", Text: "quotas:\n  in_flight: 0\n  per_minute: 0\n  cpu: 0\n  memory_seconds: 0"},
		},
	}
	if n, ok := c.number("retry_after"); ok {
		e.Again = fmt.Sprintf("Yes, in %s.", tookText(time.Duration(n)*time.Second))
	}
	return e
}

func draining(*cause) explanation {
	return explanation{
		Title:  "hotcell was shutting down.",
		What:   []string{"It takes no new calls then. The skill did not run."},
		Change: []advice{{Do: "Nothing has to be changed."}},
		Again:  "Yes, once hotcell is back.",
	}
}

func noImage(*cause) explanation {
	return explanation{
		Title: "The image that the skill runs in is not to be had.",
		What:  []string{"A skill runs in a container image. It is not on this host and could not be fetched, or the operator does not allow it. The error message says which image and why. The skill did not run."},
		Change: []advice{
			{Do: "Check the image's name, and fetch it by hand to see what the registry says.", File: "shell", Text: "hotcell images pull IMAGE"},
			{Do: "If the message says that the image is not allowed, the operator can add its registry to those that are.", File: "hotcell.yaml", Text: "policy:\n  images:\n    registries: [docker.io, ghcr.io]"},
		},
	}
}

func imageUnnamed(*cause) explanation {
	return explanation{
		Title: "The skill names no image, and there is no default for its kind.",
		What:  []string{"hotcell does not know what to run the skill in. The skill did not run."},
		Change: []advice{
			{Do: "Name an image in the skill.", File: "skill.yaml", Text: "run:\n  image: hotcell/python:3\n  command: [python3, scripts/main.py]"},
			{Do: "Or set a default for all skills of this kind.", File: "hotcell.yaml", Text: "images:\n  defaults:\n    python: hotcell/python:3"},
		},
	}
}

func blocked(*cause) explanation {
	return explanation{
		Title: "The skill is blocked.",
		What:  []string{"Something is wrong with it, or it lacks something, so that it can't be called. The error message says what. It did not run."},
		Change: []advice{
			{Do: "Mend what the message names. The skill's page lists all findings with file and line, and so does a check of its folder.", File: "shell", Text: "hotcell skills lint PATH"},
		},
	}
}

func switchedOff(*cause) explanation {
	return explanation{
		Title:  "The skill is switched off: its skill.yaml says status: Blocked.",
		What:   []string{"Its author, or whoever installed it, took it out of use. Nothing else is wrong with it that is known. It did not run."},
		Change: []advice{{Do: "To have it back, publish it.", File: "skill.yaml", Text: "status: Published"}},
	}
}

func toolUnknown(*cause) explanation {
	return explanation{
		Title: "The skill is blocked: it names a tool that this host does not have.",
		What:  []string{"The error message names the tool, and those that there are. The skill did not run."},
		Change: []advice{
			{Do: "Name a tool that is there, or take it off the list.", File: "skill.yaml", Text: "tools: [calculator, time]"},
			{Do: "Or the operator adds the server that has it.", File: "hotcell.yaml", Text: "tools:\n  mcp:\n    SERVER:\n      command: [...]"},
		},
	}
}

func imageNotHere(*cause) explanation {
	return explanation{
		Title: "The image that the skill runs in is not on this host.",
		What:  []string{"hotcell fetches no images here (policy.images.pull: never), so somebody has to build, load or pull it first. The skill did not run."},
		Change: []advice{
			{Do: "Check the image's name (run.image in skill.yaml). If it is right, fetch it by hand.", File: "shell", Text: "hotcell images pull IMAGE"},
			{Do: "Or let hotcell fetch what is missing.", File: "hotcell.yaml", Text: "policy:\n  images:\n    pull: missing"},
		},
	}
}

func toolGone(*cause) explanation {
	return explanation{
		Title:  "A tool that the skill needs is not there.",
		What:   []string{"The server that has the tool does not run or does not answer. The error message says which one. The skill did not run."},
		Change: []advice{{Do: "The operator can look at the server and at its entry in the configuration.", File: "hotcell.yaml", Text: "tools:\n  mcp:\n    NAME:\n      command: [...]"}},
		Again:  "Yes, once the tool is back.",
	}
}
