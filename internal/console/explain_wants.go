package console

import (
	"github.com/hotcell/hotcell/internal/a2e"
)

// unsupportedWhys are those of calls whose wishes can't be met.
func unsupportedWhys() []why {
	c, r := a2e.RuntimeError, a2e.ReasonUnsupported
	return []why{
		{code: c, reason: r, tell: unsupported},
		{code: c, reason: r, has: "there is no such variable in hotcell's environment", tell: variableMissing},
		{code: c, reason: r, has: "may not have the secret", tell: secretRefused},
		{code: c, reason: r, has: "which this host has but cannot read", tell: secretUnread},
		{code: c, reason: r, has: "needs the secret ", tell: secretMissing},
		{code: c, reason: r, has: "provider is configured", tell: modelMissing},
		{code: c, reason: r, has: "no provider is available", tell: modelUnavailable},
		{code: c, reason: r, has: "there is no model provider ", tell: providerUnknown},
		{code: c, reason: r, has: " is not for skill ", tell: providerKept},
		{code: c, reason: r, has: "may not be asked for model ", tell: modelRefused},
		{code: c, reason: r, has: " is not available: ", tell: keyMissing},
		{code: c, reason: r, has: "the skill reserves ", tell: tooLarge},
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
			{Do: "The operator can add this entry to the list, and says where the secret is if secrets does not have it yet.", File: "hotcell.yaml", Text: "policy:\n  secrets: [\"ENTRY\"]\nsecrets:\n  NAME: \"env:NAME\""},
			{Do: "Or the skill does without: take the name out of its list.", File: "skill.yaml", Text: "secrets: []"},
		},
	}
}

func secretMissing(*cause) explanation {
	return explanation{
		Title: "A secret that the skill needs is not there.",
		What:  []string{"The skill's skill.yaml names a secret, and secrets in hotcell.yaml has none of that name. The error message names it. The skill did not run."},
		Change: []advice{
			{Do: "The operator can say where the secret is: a variable of hotcell's environment, a file, or hotcell's own store.", File: "hotcell.yaml", Text: "secrets:\n  NAME: \"env:NAME\""},
		},
	}
}

func secretUnread(*cause) explanation {
	return explanation{
		Title: "A secret that the skill needs can't be read.",
		What:  []string{"It is configured (secrets in hotcell.yaml), and there is nothing at the place that is written there: no such variable, file or entry of the store. hotcell's log says which. The skill did not run."},
		Change: []advice{
			{Do: "The operator can find the place in the log.", File: "shell", Text: "journalctl -u hotcell --since -1h"},
			{Do: "If it is to be in hotcell's own store (stored:NAME, with the name that stands there), put it there.", File: "shell", Text: "hotcell secrets set NAME"},
		},
	}
}

func modelMissing(*cause) explanation {
	return explanation{
		Title: "The skill needs a model, and no provider of models is configured.",
		What:  []string{"llm.providers of hotcell.yaml has none. The skill did not run."},
		Change: []advice{
			{Do: "The operator can configure a provider and its key.", File: "hotcell.yaml", Text: "llm:\n  providers:\n    - name: openai\n      kind: openai\n      credential: \"env:OPENAI_API_KEY\"\n      model: gpt-4o-mini"},
		},
	}
}

func modelUnavailable(*cause) explanation {
	return explanation{
		Title: "The skill needs a model, and none is available to it.",
		What:  []string{"The error message lists the providers that are configured (llm.providers), each with what is missing: its key, or that this skill may use it. The skill did not run."},
		Change: []advice{
			{Do: "The operator can give one of them its key. A key in hotcell's own store is named stored:NAME in the provider's credential.", File: "shell", Text: "hotcell secrets set NAME"},
		},
	}
}

func providerUnknown(*cause) explanation {
	return explanation{
		Title: "The skill asks for a model provider that is not configured.",
		What:  []string{"llm.provider in its skill.yaml names one that llm.providers of hotcell.yaml does not have. The error message lists those that there are. The skill did not run."},
		Change: []advice{
			{Do: "Name a provider that is there, or leave provider out: then hotcell takes the first that is available.", File: "skill.yaml", Text: "llm:\n  provider: openai"},
			{Do: "Or the operator adds it.", File: "hotcell.yaml", Text: "llm:\n  providers:\n    - name: ADDED\n      kind: openai\n      credential: \"env:OPENAI_API_KEY\"\n      model: gpt-4o-mini"},
		},
	}
}

func providerKept(*cause) explanation {
	return explanation{
		Title:  "The skill may not use its model provider.",
		What:   []string{"The provider is configured for certain skills alone, and this one is not among them. The error message has the entry that is missing. The skill did not run."},
		Change: []advice{{Do: "The operator can add the skill to the provider's skills.", File: "hotcell.yaml", Text: "llm:\n  providers:\n    - name: PROVIDER\n      skills: [\"ENTRY\"]"}},
	}
}

func modelRefused(*cause) explanation {
	return explanation{
		Title: "The skill asks for a model that it may not use.",
		What:  []string{"The operator says which models of a provider may be asked (models). The error message names the model, and those that are allowed. The skill did not run."},
		Change: []advice{
			{Do: "Name a model that is allowed.", File: "skill.yaml", Text: "llm:\n  model: ALLOWED"},
			{Do: "Or the operator adds it to the provider's models.", File: "hotcell.yaml", Text: "llm:\n  providers:\n    - name: PROVIDER\n      models: [MODEL]"},
		},
	}
}

func keyMissing(*cause) explanation {
	return explanation{
		Title: "The key of the skill's model provider is missing or can't be used.",
		What:  []string{"The provider is configured, and there is no usable key at the place that its credential names. The error message says what is wrong with it. The skill did not run."},
		Change: []advice{
			{Do: "The operator can store the key, under the name that follows stored: in the provider's credential. hotcell asks for the key itself.", File: "shell", Text: "hotcell secrets set NAME"},
			{Do: "Or the credential names another place.", File: "hotcell.yaml", Text: "llm:\n  providers:\n    - name: PROVIDER\n      credential: \"stored:NAME\"    # or env:NAME, file:/PATH"},
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
