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
		{code: c, reason: a2e.ReasonBlocked, tell: blocked},
		{code: c, reason: a2e.ReasonToolUnavailable, tell: toolGone},
	}, unsupportedWhys()...)
}

// unsupportedWhys are those of calls whose wishes can't be met.
func unsupportedWhys() []why {
	c, r := a2e.RuntimeError, a2e.ReasonUnsupported
	return []why{
		{code: c, reason: r, tell: unsupported},
		{code: c, reason: r, has: "there is no such variable in hotcell's environment", tell: variableMissing},
		{code: c, reason: r, has: "may not have the secret", tell: secretRefused},
		{code: c, reason: r, has: "secret", tell: secretMissing},
		{code: c, reason: r, has: "provider", tell: modelMissing},
		{code: c, reason: r, has: "reserves", tell: tooLarge},
	}
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
			{Do: "If the host has room for more cells at once, the operator can allow them.", File: "hotcell.yaml", Text: "sandbox:\n  max_cells: 16"},
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
			{Do: "If the message says that the image is not allowed, the operator can allow its registry.", File: "hotcell.yaml", Text: "policy:\n  images:\n    registries: [docker.io, ghcr.io]"},
			{Do: "If it has to be fetched first and pulls are off, switch them on.", File: "hotcell.yaml", Text: "policy:\n  images:\n    pull: missing"},
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
			{Do: "Open the skill's page: its findings name the file and the line. Or check its folder.", File: "shell", Text: "hotcell skills lint PATH"},
			{Do: "If skill.yaml itself says status: Blocked, publish it.", File: "skill.yaml", Text: "status: Published"},
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

func unsupported(*cause) explanation {
	return explanation{
		Title: "This host can't give the skill what it asks for.",
		What:  []string{"Rather than run it with less protection, or without what it needs, hotcell refused the call. The error message says what is missing. The skill did not run."},
		Change: []advice{
			doctor("An operator can see what this host and its engine can enforce."),
			{Do: "See what a call of the skill would get, and who decided it.", File: "shell", Text: "hotcell policy explain SKILL"},
		},
	}
}

func secretRefused(*cause) explanation {
	return explanation{
		Title: "The skill asks for a secret that it may not have.",
		What:  []string{"The operator says which skill gets which secret (policy.secrets), and this one is not among them. The error message names the secret and the entry that is missing. The skill did not run."},
		Change: []advice{
			{Do: "The operator can add the entry that the message names.", File: "hotcell.yaml", Text: "policy:\n  secrets: [\"SKILL:NAME\"]"},
			{Do: "Or the skill does without: take the name out of its list.", File: "skill.yaml", Text: "secrets: []"},
		},
	}
}

func secretMissing(*cause) explanation {
	return explanation{
		Title: "A secret that the skill needs is not there.",
		What:  []string{"The skill's skill.yaml names a secret, and this host has none of that name, or can't read it. The error message names it. The skill did not run."},
		Change: []advice{
			{Do: "The operator can say where the secret is: a variable of hotcell's environment, a file, or hotcell's own store.", File: "hotcell.yaml", Text: "secrets:\n  NAME: \"env:NAME\""},
		},
	}
}

func modelMissing(*cause) explanation {
	return explanation{
		Title: "The skill needs a model, and none is available to it.",
		What:  []string{"No model provider is configured, its key is not there, or the skill may not use it. The error message says which. The skill did not run."},
		Change: []advice{
			{Do: "The operator can configure a provider and its key.", File: "hotcell.yaml", Text: "llm:\n  providers:\n    - name: openai\n      kind: openai\n      credential: \"env:OPENAI_API_KEY\"\n      model: gpt-4o-mini"},
		},
	}
}

func variableMissing(*cause) explanation {
	return explanation{
		Title: "A key that the skill needs is not in hotcell's environment.",
		What:  []string{"The configuration says that a key is in a variable of the environment that hotcell was started with, and it is not there. The error message names the variable. The skill did not run."},
		Change: []advice{
			{Do: "The operator sets the variable where hotcell is started, and starts it anew.", File: "shell, or hotcell's unit file", Text: "VARIABLE=..."},
			{Do: "Or keep the key in hotcell's own encrypted store, and write stored:VARIABLE in the configuration in the place of env:VARIABLE.", File: "shell", Text: "hotcell secrets set VARIABLE"},
		},
	}
}

func tooLarge(*cause) explanation {
	return explanation{
		Title: "The skill needs more memory than all cells together may have.",
		What:  []string{"It could never run on this host as it is configured. The error message has both amounts."},
		Change: []advice{
			{Do: "Let the skill ask for less.", File: "skill.yaml", Text: "limits:\n  memory: 512Mi"},
			{Do: "Or the operator lets cells have more in all.", File: "hotcell.yaml", Text: "sandbox:\n  max_memory: 8Gi"},
		},
	}
}
