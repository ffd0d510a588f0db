package agent

import (
	"context"
	"errors"
	"time"

	"github.com/hotcell/hotcell/internal/engine"
	"github.com/hotcell/hotcell/internal/wall"
)

// The codes of failures, beside those of the model provider.
const (
	codeNoModel     = "no_model"           // the call was granted none
	codeTurns       = "max_turns_exceeded" // the model still wanted tools
	codeOutput      = "invalid_output"     // the answer doesn't fit output_schema
	codeEmpty       = "empty_answer"       // the model said nothing
	codeRefused     = "model_refused"      // the model, or its provider's filter, declined
	codeBadSkill    = "bad_skill"          // SKILL.md or the schema can't be used
	codeUnsupported = "unsupported"        // this engine doesn't speak to that kind of provider
)

// defaultTurns is how often the model is asked where nothing says more.
const defaultTurns = 10

// Run serves one call: it waits for the request and says everything in lines. It reports whether the skill succeeded.
func Run(ctx context.Context, cfg engine.Config) bool {
	voice := engine.NewVoice(cfg.Stdout)
	err := run(ctx, &cfg, voice)
	if err == nil {
		return true
	}
	var f *engine.Failure
	switch cancelled := engine.Cancelled(ctx); {
	case cancelled != nil:
		f = cancelled
	case !errors.As(err, &f):
		f = engine.Failf(engine.CodeInternal, "%v", err)
	}
	voice.Fail(f)
	return false
}

func run(ctx context.Context, cfg *engine.Config, voice *engine.Voice) error {
	req, err := engine.ReadRequest(ctx, cfg.Stdin)
	if err != nil {
		return err
	}
	lease, err := engine.ReadLease(cfg.Path(wall.LeasePath))
	if err != nil {
		return err
	}
	box, err := openToolbox(cfg, lease)
	if err != nil {
		return err
	}
	defer box.close()
	shape, err := compileShape(lease.OutputSchema)
	if err != nil {
		return err
	}
	system, err := box.prompt(req.Name, shape)
	if err != nil {
		return err
	}
	model, err := openChat(cfg, lease.Model, system, box.defs, voice)
	if err != nil {
		return err
	}
	l := &loop{
		voice: voice, box: box, chat: model, shape: shape, turns: lease.MaxTurns,
		stream: &stream{voice: voice, now: time.Now, left: maxStreamed},
	}
	if l.turns <= 0 {
		l.turns = defaultTurns
	}
	model.ask(firstMessage(req))
	return l.run(ctx)
}
