package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/hotcell/hotcell/internal/engine"
)

// loop has the model speak and use tools until it is done.
type loop struct {
	voice  *engine.Voice
	box    *toolbox
	chat   chat
	shape  *shape
	stream *stream
	turns  int // at most
}

func (l *loop) run(ctx context.Context) error {
	repaired := false
	for turn := 1; turn <= l.turns; turn++ {
		l.voice.Progress(l.pct(turn), fmt.Sprintf("turn %d of at most %d", turn, l.turns))
		l.stream.begin(turn)
		r, err := l.chat.reply(ctx, l.stream.add)
		l.stream.flush()
		if err != nil {
			return err
		}
		if r.end == declined {
			l.tell(turn, r, nil)
			return engine.Finalf(codeRefused, "the model declined: %s", reason(r.detail, r.text))
		}
		if len(r.calls) > 0 {
			if turn == l.turns {
				l.tell(turn, r, nil)
				break
			}
			l.chat.answer(l.use(ctx, turn, r))
			continue
		}
		l.tell(turn, r, nil)
		faults, err := l.finish(r)
		if err != nil || faults == nil {
			return err
		}
		if repaired || turn == l.turns {
			return engine.Failf(codeOutput, "the model's answer doesn't fit output_schema: %s", strings.Join(faults, "; "))
		}
		repaired = true
		l.voice.Status("the answer doesn't fit output_schema, the model is asked to mend it", map[string]any{"turn": turn, "faults": faults})
		l.chat.ask("Your answer does not fit the JSON Schema:\n- " + strings.Join(faults, "\n- ") +
			"\nAnswer again with one JSON value that fits it, and nothing else.")
	}
	return engine.Finalf(codeTurns, "the model still wanted to use tools after %d turns: raise max_turns, or ask for less", l.turns)
}

// finish ends the skill if the reply is a result; faults are what the schema has against it.
func (l *loop) finish(r *reply) (faults []string, err error) {
	text := strings.TrimSpace(r.text)
	switch {
	case text == "" && r.end == cutShort:
		return nil, engine.Failf(codeEmpty, "the model said nothing before it reached the most tokens that it may say: raise max_tokens in its settings, or ask for less")
	case text == "":
		return nil, engine.Failf(codeEmpty, "the model said nothing")
	case l.shape == nil:
		data, err := engine.Marshal(text)
		if err != nil {
			return nil, err
		}
		l.voice.Result(data, summary(text), r.end == cutShort)
		return nil, nil
	}
	data, faults := l.shape.fit(text)
	if faults != nil {
		if r.end == cutShort {
			faults = append(faults, "it was cut at the most tokens that the model may say: be shorter")
		}
		return faults, nil
	}
	l.voice.Result(data, "", false)
	return nil, nil
}

// use runs the tools of a reply.
func (l *loop) use(ctx context.Context, turn int, r *reply) []result {
	for _, c := range r.calls {
		l.voice.Status("uses the tool "+engine.OneLine(c.name, 80), map[string]any{"turn": turn, "tool": engine.OneLine(c.name, 80)})
	}
	var results []result
	if r.end == cutShort { // whose arguments are whole can't be known
		for _, c := range r.calls {
			results = append(results, result{c, `{"error":"not run: your message was cut at the most tokens that you may say; be shorter","code":"cut_short"}`, true})
		}
	} else {
		results = l.box.use(ctx, r.calls)
	}
	l.tell(turn, r, results)
	return results
}

// tell writes a turn down, clipped: as JSON it has to fit in one event.
func (l *loop) tell(turn int, r *reply, results []result) {
	for most := 2048; most > 0; most /= 2 {
		text, err := engine.Marshal(recordOf(turn, r, results, most))
		if err == nil && len(text) < engine.MaxText-len(turnMark) {
			l.voice.Log("debug", turnMark+string(text))
			return
		}
	}
}

const turnMark = "turn "

// record is a turn as it is written down.
type record struct {
	Turn  int    `json:"turn"`
	Text  string `json:"text,omitempty"`
	Tools []used `json:"tools,omitempty"`
}

type used struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
	Answer    string `json:"answer,omitempty"`
	Failed    bool   `json:"failed,omitempty"`
}

// recordOf clips the text to so many bytes, and what belongs to a tool to a quarter.
func recordOf(turn int, r *reply, results []result, most int) record {
	rec := record{Turn: turn, Text: engine.Clip(r.text, most)}
	for i, c := range r.calls[:min(len(r.calls), 16)] {
		u := used{Tool: engine.OneLine(c.name, 80), Arguments: engine.Clip(c.arguments, most/4)}
		if i < len(results) {
			u.Answer, u.Failed = engine.Clip(results[i].content, most/4), results[i].failed
		}
		rec.Tools = append(rec.Tools, u)
	}
	return rec
}

// pct is how far the loop is; a run that ends early jumps to its end.
func (l *loop) pct(turn int) float64 { return float64(min(95, 100*(turn-1)/l.turns)) }

func reason(texts ...string) string {
	for _, t := range texts {
		if t = engine.OneLine(t, 300); t != "" {
			return t
		}
	}
	return "it gave no reason"
}

// summary is the first line of a text, clipped.
func summary(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return engine.OneLine(line, 200)
}
