package js

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"runtime"
	"strings"

	"github.com/grafana/sobek"
	"github.com/hotcell/hotcell/internal/engine"
	"github.com/hotcell/hotcell/internal/wall"
)

// maxDepth is how deep calls may be nested. Some of them take room on Go's stack too.
const maxDepth = 2000

// The codes of failures.
const (
	codeException = "exception"     // the script threw, or a promise that it returned was rejected
	codeSyntax    = "syntax_error"  // a file of the bundle does not parse
	codeImport    = "bad_import"    // a file is imported that is not there, or not the bundle's
	codeNoExport  = "no_entry"      // there is no function to call
	codeSettle    = "never_settled" // nothing is left to wait for, and there is no result
	codeResult    = "bad_result"    // the result is no JSON
)

// Run serves one call of the script at a path of the cell: it loads and compiles it, waits for the request, and says
// everything in lines. It reports whether the skill succeeded.
func Run(ctx context.Context, cfg engine.Config, script string) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	voice := engine.NewVoice(cfg.Stdout)
	s, err := prepare(ctx, &cfg, voice, script)
	defer s.close()
	defer cancel() // before close, which waits
	// What is wrong with the script is said once somebody has called.
	req, bad := engine.ReadRequest(ctx, cfg.Stdin)
	if bad != nil {
		err = bad
	}
	if err == nil {
		err = s.guarded(req)
	}
	if err == nil {
		return true
	}
	voice.Fail(s.fail(ctx, err))
	return false
}

// fail makes a failure of any error. A call that was cancelled fails for no other reason.
func (s *script) fail(ctx context.Context, err error) *engine.Failure {
	if f := engine.Cancelled(ctx); f != nil {
		return f
	}
	err = s.explained(err)
	var f *engine.Failure
	if errors.As(err, &f) {
		return f
	}
	return explain(err)
}

// script is one script in its runtime.
type script struct {
	ctx   context.Context
	cfg   *engine.Config
	voice *engine.Voice
	rt    *sobek.Runtime
	loop  *loop
	tools *engine.Tools
	fetch *fetcher

	bundle, input *engine.Files
	modules       *modules
	main          *source
	json          jsonFuncs
	summary       string
	rejected      map[*sobek.Promise]sobek.Value // that nobody has looked at

	uninterrupt func() bool
}

// prepare does all that needs no request. What it returns must be closed, beside an error too.
func prepare(ctx context.Context, cfg *engine.Config, voice *engine.Voice, file string) (*script, error) {
	s := &script{ctx: ctx, cfg: cfg, voice: voice, rt: sobek.New(), tools: cfg.Tools(), fetch: newFetcher(cfg), rejected: map[*sobek.Promise]sobek.Value{}}
	s.loop = newLoop(ctx, s.rt)
	s.uninterrupt = context.AfterFunc(ctx, func() { s.rt.Interrupt("cancelled") })
	s.rt.SetMaxCallStackSize(maxDepth)
	s.rt.SetPromiseRejectionTracker(s.track)
	var err error
	if s.bundle, err = engine.OpenFiles(cfg.Path(wall.DirSkill), wall.DirSkill); err != nil {
		return s, err
	}
	if s.input, err = engine.OpenFiles(cfg.Path(wall.DirInput), wall.DirInput); err != nil {
		return s, err
	}
	if err := s.install(); err != nil {
		return s, err
	}
	s.modules = newModules(s.rt, s.bundle)
	s.main, err = s.modules.load(strings.TrimPrefix(path.Clean(file), wall.DirSkill+"/"))
	return s, err
}

func (s *script) close() {
	s.uninterrupt()
	s.loop.close()
	s.tools.Close()
	s.fetch.close()
	for _, f := range []*engine.Files{s.bundle, s.input} {
		if f != nil {
			f.Close()
		}
	}
}

// guarded is [script.serve] for a script that wants a value of a size which no memory has: the runtime makes a panic of that.
func (s *script) guarded(req *engine.Request) (err error) {
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		if bad, ok := fault.(runtime.Error); !ok || !strings.Contains(bad.Error(), "makeslice: ") {
			panic(fault)
		}
		err = engine.Finalf(codeException, "RangeError: the script wants a value that is larger than any memory")
	}()
	return s.serve(req)
}

// serve calls the script's function and waits for what it returns.
func (s *script) serve(req *engine.Request) error {
	skill, err := s.skill(req)
	if err != nil {
		return err
	}
	args, err := s.json.parse(req.Arguments)
	if err != nil {
		return engine.Finalf(engine.CodeBadRequest, "arguments: %v", err)
	}
	entry, err := s.entry()
	if err != nil {
		return err
	}
	value, err := entry(sobek.Undefined(), args, skill)
	if err != nil {
		return err
	}
	if value, err = s.wait(value, "the default export's promise never settled: nothing is left that it could wait for"); err != nil {
		return err
	}
	data, err := s.result(value)
	if err != nil {
		return err
	}
	s.sayRejected()
	s.voice.Result(data, s.summary, false)
	return nil
}

// wait runs the loop until a promise is settled, as await does: also one of another make. Any other value is its own result.
func (s *script) wait(value sobek.Value, stuck string) (sobek.Value, error) {
	p, ok := exported[*sobek.Promise](value)
	if _, object := value.(*sobek.Object); !ok && !object {
		return value, nil
	}
	if !ok {
		own, resolve, _ := s.rt.NewPromise()
		if err := resolve(value); err != nil {
			return nil, err
		}
		p = own
	}
	err := s.loop.run(func() bool { return p.State() != sobek.PromiseStatePending })
	switch {
	case errors.Is(err, errIdle):
		s.sayRejected()
		return nil, engine.Failf(codeSettle, "%s", stuck)
	case err != nil:
		return nil, err
	case p.State() == sobek.PromiseStateRejected:
		delete(s.rejected, p)
		return nil, s.thrown(p.Result(), nil)
	}
	return p.Result(), nil
}

// result is what the function returned, as JSON.
func (s *script) result(value sobek.Value) (json.RawMessage, error) {
	if sobek.IsUndefined(value) {
		return json.RawMessage("null"), nil
	}
	data, ok, err := s.json.stringify(value)
	switch {
	case err != nil:
		var f *engine.Failure
		if f = explain(s.explained(err)); f.Code == engine.CodeCancelled {
			return nil, f
		}
		return nil, engine.Finalf(codeResult, "the result is no JSON: %s", f.Message)
	case !ok:
		return nil, engine.Finalf(codeResult, "the result is no JSON: it is a function or a symbol")
	case engine.TooDeep(data):
		return nil, engine.Finalf(codeResult, "the result is nested deeper than %d levels", engine.MaxDepth)
	}
	return data, nil
}

// track notes promises that are rejected while nobody waits for them.
func (s *script) track(p *sobek.Promise, op sobek.PromiseRejectionOperation) {
	if op == sobek.PromiseRejectionHandle {
		delete(s.rejected, p)
		return
	}
	const most = 100
	if len(s.rejected) < most {
		s.rejected[p] = p.Result()
	}
}

func (s *script) sayRejected() {
	for _, reason := range s.rejected {
		s.voice.Log("error", "a promise was rejected that nobody waits for: "+s.thrown(reason, nil).Message)
	}
	clear(s.rejected)
}
