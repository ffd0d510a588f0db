package skills

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hotcell/hotcell/policies"
)

const (
	maxEntries = 256     // of a list in skill.yaml
	maxText    = 4 << 10 // bytes of a text in skill.yaml
	maxWord    = 256     // bytes of a tag, a name, an image
	maxAsked   = 1 << 31 // of a whole number that may be cut
)

// sidecar is what skill.yaml says. Keys that only name something for other protocols (examples, modes) are checked and
// not kept.
type sidecar struct {
	version, whenToUse, argumentHint, category, icon string

	triggers, tags []string
	status         string
	run            runSpec
	input, output  *node
	argNames       []string
	argDefaults    map[string]any
	timeout        int64
	maxTurns       int64
	timeoutAt      *node
	limits         policies.Limits
	limitsAt       *node
	allow          []string
	llm            *policies.LLM
	secrets        []string
	tools          []declaration
	toolkits       []declaration
	writes         bool
	includes       []string
	includesAt     *node
	metadata       map[string]any
	examples       []any
	inputModes     []string
	outputModes    []string
}

// runSpec is the key run as it is written.
type runSpec struct {
	at        *node
	image     string
	imageAt   *node
	command   []string
	commandAt *node
	script    string
	scriptAt  *node
	agent     bool
	frames    bool

	prestart   bool
	prestartAt *node
}

// readSidecar reads skill.yaml. What is wrong is reported, and the rest still counts.
func readSidecar(text string, r *report) sidecar {
	var s sidecar
	root, err := parseYAML(strings.TrimPrefix(text, "\uFEFF"))
	switch {
	case err != nil:
		r.at(fileSidecar, &node{line: err.line, column: err.column}, "", SeverityError, CodeYAML, "%s", err.message)
	case root != nil && root.kind != nullKind:
		d := &decoder{report: r, file: fileSidecar}
		d.fields(root, "", CodeUnknownKey, d.sidecarKeys(&s))
	}
	return s
}

// sidecarKeys is the table of skill.yaml: every key there is.
func (d *decoder) sidecarKeys(s *sidecar) map[string]setter {
	return map[string]setter{
		"version":         d.text(&s.version, 64),
		"triggers":        d.texts(&s.triggers, maxEntries, maxWord),
		"when_to_use":     d.text(&s.whenToUse, maxText),
		"argument_hint":   d.text(&s.argumentHint, maxText),
		"category":        d.text(&s.category, maxWord),
		"tags":            d.texts(&s.tags, maxEntries, maxWord),
		"icon":            d.text(&s.icon, maxText),
		"status":          d.status(&s.status),
		"run":             d.run(&s.run),
		"input_schema":    d.node(&s.input),
		"output_schema":   d.node(&s.output),
		"arguments":       d.arguments(s),
		"timeout_seconds": d.placed(&s.timeoutAt, d.wish(&s.timeout, 1, int64(policies.MaxTimeout/time.Second))),
		"max_turns":       d.int(&s.maxTurns, 1, 1000),
		"limits":          d.placed(&s.limitsAt, d.limits(&s.limits)),
		"network":         d.network(s),
		"llm":             d.llm(&s.llm),
		"tools":           d.declared(&s.tools),
		"toolkits":        d.declared(&s.toolkits),
		"writes":          d.bool(&s.writes),
		"includes":        d.placed(&s.includesAt, d.texts(&s.includes, maxEntries, maxWord)),
		"secrets":         d.checked(&s.secrets, secretName),
		"examples":        d.examples(&s.examples),
		"input_modes":     d.texts(&s.inputModes, maxEntries, maxWord),
		"output_modes":    d.texts(&s.outputModes, maxEntries, maxWord),
		"metadata":        d.mapping(&s.metadata),
	}
}

// placed also keeps where a key is.
func (d *decoder) placed(at **node, set setter) setter {
	return func(n *node, path string) {
		*at = n
		set(n, path)
	}
}

func (d *decoder) status(dst *string) setter {
	return func(n *node, path string) {
		d.text(dst, maxWord)(n, path)
		switch Status(*dst) {
		case "", Created, Blocked, Published, Archived:
			return
		}
		hint := closest(strings.ToUpper((*dst)[:1])+strings.ToLower((*dst)[1:]),
			[]string{string(Created), string(Blocked), string(Published), string(Archived)})
		if hint != "" {
			hint = fmt.Sprintf("; did you mean %q?", hint)
		}
		d.invalid(n, path, "expected Created, Blocked, Published or Archived, got %q%s", clip(*dst, 64), hint)
		*dst = ""
	}
}

func (d *decoder) run(s *runSpec) setter {
	return func(n *node, path string) {
		s.at = n
		d.fields(n, path, CodeUnknownKey, map[string]setter{
			"image":    d.placed(&s.imageAt, d.text(&s.image, maxWord)),
			"command":  d.placed(&s.commandAt, d.texts(&s.command, maxEntries, maxText)),
			"script":   d.placed(&s.scriptAt, d.text(&s.script, maxPath)),
			"agent":    d.bool(&s.agent),
			"frames":   d.bool(&s.frames),
			"prestart": d.placed(&s.prestartAt, d.bool(&s.prestart)),
		})
	}
}

// arguments is a list of names or a mapping of defaults.
func (d *decoder) arguments(s *sidecar) setter {
	return func(n *node, path string) {
		switch n.kind {
		case listKind:
			d.texts(&s.argNames, maxEntries, maxWord)(n, path)
		case mapKind:
			d.mapping(&s.argDefaults)(n, path)
		case nullKind, stringKind, intKind, floatKind, boolKind:
			d.wrongType(n, path, "a list of names or a mapping of defaults")
		}
	}
}

func (d *decoder) limits(l *policies.Limits) setter {
	return func(n *node, path string) {
		d.fields(n, path, CodeUnknownKey, map[string]setter{
			"memory":    unit(d, &l.Memory, policies.ParseBytes),
			"cpu":       unit(d, &l.CPU, policies.ParseMilliCPU),
			"pids":      d.wish(&l.PIDs, policies.MinPIDs, policies.MaxPIDs),
			"files":     d.wish(&l.Files, policies.MinFiles, policies.MaxFiles),
			"workspace": unit(d, &l.Workspace, policies.ParseBytes),
			"out":       unit(d, &l.Out, policies.ParseBytes),
			"output":    unit(d, &l.Output, policies.ParseBytes),
		})
	}
}

// network is the word none, or {allow: [host:port, ...]}.
func (d *decoder) network(s *sidecar) setter {
	return func(n *node, path string) {
		switch {
		case n.kind == stringKind && n.text == "none":
		case n.kind == stringKind:
			d.invalid(n, path, "expected none or {allow: [HOST:PORT, ...]}, got %q", clip(n.text, 64))
		default:
			d.fields(n, path, CodeUnknownKey, map[string]setter{"allow": d.destinations(&s.allow)})
		}
	}
}

// destinations reads a list of HOST:PORT. Within {...} the parser takes one without quotes for a mapping of HOST to PORT.
func (d *decoder) destinations(dst *[]string) setter {
	check := func(text string) error {
		_, err := policies.ParseHostPattern(text)
		return err
	}
	return func(n *node, path string) {
		plain := *n
		plain.items = nil
		for _, it := range n.items {
			if it.kind == mapKind && len(it.fields) == 1 && it.fields[0].value.kind == intKind {
				f := it.fields[0]
				it = &node{kind: stringKind, text: f.key + ":" + f.value.json, line: it.line, column: it.column}
			}
			plain.items = append(plain.items, it)
		}
		d.checked(dst, check)(&plain, path)
	}
}

func secretName(text string) error {
	if policies.SecretName(text) {
		return nil
	}
	return errors.New("expected a name of letters, digits, _, - and . such as API_TOKEN, not longer than 64")
}

// checked reads a list of strings of one form.
func (d *decoder) checked(dst *[]string, check func(string) error) setter {
	return func(n *node, path string) {
		var all []string
		d.texts(&all, maxEntries, maxWord)(n, path)
		for i, text := range all {
			if err := check(text); err != nil && strings.TrimSpace(text) != "" {
				d.invalid(n.items[i], fmt.Sprintf("%s[%d]", path, i), "%s", clip(err.Error(), 300))
			}
		}
		*dst = all
	}
}

// llm is the wish for a model. An empty mapping asks for the first one.
func (d *decoder) llm(dst **policies.LLM) setter {
	return func(n *node, path string) {
		wish := policies.LLM{}
		d.fields(n, path, CodeUnknownKey, map[string]setter{
			"provider": d.text(&wish.Provider, maxWord),
			"model":    d.text(&wish.Model, maxWord),
			"inject":   d.text(&wish.Inject, maxWord),
		})
		if way := wish.Inject; way != "" && way != policies.InjectBroker && way != policies.InjectFile {
			d.invalid(n.get("inject"), path+".inject", "expected broker or file, got %q", clip(way, 64))
		}
		*dst = &wish
	}
}

// examples are prompts, or mappings such as {arguments: {...}}.
func (d *decoder) examples(dst *[]any) setter {
	return func(n *node, path string) {
		d.list(dst, maxEntries)(n, path)
		for i, it := range n.items {
			if it.kind != stringKind && it.kind != mapKind {
				d.wrongType(it, fmt.Sprintf("%s[%d]", path, i), "a string or a mapping")
			}
		}
	}
}

// policy is what the skill asks for.
func (s *sidecar) policy() policies.Policy {
	return policies.Policy{
		Limits:  s.limits,
		Timeout: time.Duration(s.timeout) * time.Second,
		Network: policies.Network{Allow: s.allow},
		Writes:  s.writes,
		LLM:     s.llm,
		Secrets: s.secrets,
	}
}
