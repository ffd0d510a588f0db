package console

import (
	"github.com/hotcell/hotcell/internal/a2e"
)

// requestWhys are the texts for what was wrong with the request.
func requestWhys() []why {
	return []why{
		{code: a2e.UnknownSkill, tell: unknownSkill},
		{code: a2e.SchemaViolation, tell: badArguments},
		{code: a2e.SchemaViolation, has: "timeout:", tell: badTimeout},
		{code: a2e.SchemaViolation, has: "bytes long", tell: largeArguments},
		{code: a2e.Unauthorized, tell: unauthorized},
		{code: a2e.Unauthorized, reason: "llm_override", tell: overrideRefused},
		{code: a2e.InvalidMessage, tell: badMessage},
		{code: a2e.InvalidMessage, reason: a2e.ReasonDuplicateID, tell: duplicateID},
		{code: a2e.ParseError, tell: unreadable},
		{code: a2e.VersionMismatch, tell: otherVersion},
	}
}

func unknownSkill(c *cause) explanation {
	e := explanation{
		Title: "There is no skill of this name for whoever called.",
		What:  []string{"The name is misspelt, the skill is not published, or it belongs to somebody else. Nothing ran."},
		Change: []advice{
			{Do: "Check the name against the list of skills; where there is one that is much like it, the error message says so.", File: "shell", Text: "hotcell skills list"},
		},
	}
	if near := c.text("suggestion"); plainName.MatchString(near) {
		e.Change = append([]advice{{Do: "There is one with nearly the same name: call that.", File: "the request", Text: `"name": "` + near + `"`}}, e.Change...)
	}
	return e
}

func badArguments(*cause) explanation {
	return explanation{
		Title: "The arguments do not fit what the skill takes.",
		What: []string{
			"hotcell held the arguments against input_schema in skill.yaml before anything was started, so the skill did not run. The error message names each place that is wrong, and what is expected there.",
		},
		Change: []advice{
			{Do: "Correct the arguments of the call. They stand under “Request” on this page; the form on the skill's page knows what is expected."},
			{Do: "If the arguments are right, the skill's author has to change input_schema in skill.yaml."},
		},
	}
}

func badTimeout(*cause) explanation {
	return explanation{
		Title:  "The timeout of the request is no whole number of seconds above 0.",
		What:   []string{"Nothing ran."},
		Change: []advice{{Do: "Let the caller send whole seconds, or leave it out.", File: "the request", Text: `"timeout": 60`}},
	}
}

func largeArguments(*cause) explanation {
	return explanation{
		Title: "The arguments are too large for this skill's cell.",
		What:  []string{"A request is one line that the cell keeps in memory. The error message has both sizes. Nothing ran."},
		Change: []advice{
			{Do: "Hand large data in as a file.", File: "shell", Text: "hotcell run SKILL --input data.csv"},
			{Do: "Or let the skill take longer lines.", File: "skill.yaml", Text: "limits:\n  memory: 512Mi\n  output: 16Mi"},
		},
	}
}

func unauthorized(*cause) explanation {
	return explanation{
		Title: "Who called may not call this skill.",
		What:  []string{"The skill is there, and it is not among those that this agent may use, or the token may not do this. The error message says which. Nothing ran."},
		Change: []advice{
			{Do: "Whoever controls the agent can add the skill to the agent's list, on the Agents page."},
			{Do: "Or call with another token: its scopes must include calls.", File: "shell", Text: "hotcell tokens create --principal NAME --scope calls"},
		},
	}
}

func overrideRefused(*cause) explanation {
	return explanation{
		Title: "The caller chose a model that it may not choose.",
		What:  []string{"The request has an llm_override with a provider, a model or an address that the operator does not approve of. The error message says which. Nothing ran."},
		Change: []advice{
			{Do: "Leave llm_override out of the request, or name a model that is allowed."},
			{Do: "Or the operator allows it.", File: "hotcell.yaml", Text: "llm:\n  providers:\n    - name: ...\n      models: [\"*\"]"},
		},
	}
}

func badMessage(*cause) explanation {
	return explanation{
		Title:  "The request is no message that hotcell knows.",
		What:   []string{"A field of it is wrong. The error message names it. Nothing ran."},
		Change: []advice{{Do: "Correct the program that calls. /docs describes the messages."}},
	}
}

func duplicateID(*cause) explanation {
	return explanation{
		Title:  "The request's id was used for another request.",
		What:   []string{"An id stands for one request until ten minutes after its end, so that one which is sent twice runs once. Nothing ran."},
		Change: []advice{{Do: "Let the caller make a new id for each request, or send none.", File: "the request", Text: `"id": "a new one each time"`}},
	}
}

func unreadable(*cause) explanation {
	return explanation{
		Title:  "The request could not be read.",
		What:   []string{"It is not JSON, or it is longer than a request may be. The error message names the place. Nothing ran."},
		Change: []advice{{Do: "Correct the program that calls: one JSON object a request."}},
	}
}

func otherVersion(*cause) explanation {
	return explanation{
		Title:  "The caller speaks another version of the protocol.",
		What:   []string{"hotcell speaks version 1.0. Nothing ran."},
		Change: []advice{{Do: "Let the caller say so.", File: "the request", Text: `"version": "1.0"`}},
	}
}
