package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/policies"
)

// cleanUp bounds how long a command waits, after its answer, until its cells are gone.
const cleanUp = 20 * time.Second

// runFlags are the flags of `hotcell run`.
type runFlags struct {
	arg     []string
	args    string
	timeout string
	json    bool
	debug   bool
	input   []string
	out     string
	force   bool
}

func (a *app) runCmd() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run SKILL",
		Short: "Call one skill, here, without a daemon",
		Long: "Call one skill, here, without a daemon. Its result goes to stdout; progress, logs and errors go to stderr.\n\n" +
			"An argument is --arg key=text, key=@file (its text; @- is stdin, @@ a text that starts with @) or key:=JSON.\n" +
			"A text becomes the number, boolean, list or object that the skill's schema asks for, where it reads as one.\n" +
			"--input data.csv appears in the cell as /workspace/in/data.csv, --input folder as /workspace/in/folder/...",
		Example: "  hotcell run code-review --arg code=@some.py\n" +
			"  hotcell run data-profile --input data.csv --out reports\n" +
			"  echo '{\"code\":\"x = 1\"}' | hotcell run code-review --args - --json",
		Args: exactly("SKILL"),
		RunE: func(c *cobra.Command, args []string) error { return a.runSkill(c.Context(), args[0], f) },
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.arg, "arg", nil, "one argument, `KEY=VALUE`; may be repeated")
	flags.StringVar(&f.args, "args", "", "all arguments as a `JSON` object, @file or - for stdin; --arg wins over it")
	flags.StringVar(&f.timeout, "timeout", "", "longest run, in whole seconds: `30s`")
	flags.BoolVar(&f.json, "json", false, "print the A2E messages, one a line, and nothing else on stdout")
	flags.BoolVar(&f.debug, "debug", false, "show log events of level debug too")
	flags.StringArrayVar(&f.input, "input", nil, "file or folder `PATH` that the skill finds below /workspace/in; may be repeated")
	flags.StringVar(&f.out, "out", "", "save artifacts into `DIR`")
	flags.BoolVar(&f.force, "force", false, "let --out replace files that are there")
	return c
}

// runSkill is `hotcell run`, from its flags to its exit code.
func (a *app) runSkill(ctx context.Context, name string, f runFlags) error {
	timeout, err := seconds(f.timeout)
	if err != nil {
		return usagef("--timeout %s: %w", oneLine(f.timeout, 40), err)
	}
	if f.force && f.out == "" {
		return usagef("--force needs --out DIR")
	}
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	cfg.Pool.Max = 0 // there is no next call
	log := a.logger(cfg, slog.LevelWarn)
	sys, err := a.open(ctx, cfg, log)
	if err != nil {
		return err
	}
	req, files, err := a.request(sys.skills, cfg, name, timeout, f)
	if err == nil {
		err = a.call(ctx, sys, log, req, files, f, timeoutBound(cfg, sys.skills, req))
	}
	return errors.Join(err, sys.close())
}

// request reads everything that the call is handed, before anything starts.
func (a *app) request(catalog skills.Catalog, cfg *config.Config, name string, timeout *int, f runFlags) (*a2e.CallRequest, fs.FS, error) {
	skill, _ := catalog.Find(name)
	var schema []byte
	if skill != nil {
		schema = skill.InputSchema
	}
	reader := argReader{stdin: a.stdin}
	args, err := reader.read(f.args, f.arg, schema)
	if err != nil {
		return nil, nil, usagef("%w", err)
	}
	files, left, err := inputs(f.input, workspaceLimit(cfg, skill))
	if err != nil {
		return nil, nil, usagef("%w", err)
	}
	if len(left) > 0 {
		a.errs.line(fmt.Sprintf("hotcell: %d %s below --input left out, the first is %s", len(left),
			plural(len(left), "link or special file is", "links or special files are"), oneLine(left[0], 200)))
	}
	req := &a2e.CallRequest{
		Header: a2e.Header{Type: a2e.TypeCallRequest, ID: a2e.NewID(), Version: a2e.Version, TS: a2e.Now()},
		Name:   name, Arguments: args, Timeout: timeout, Metadata: map[string]any{},
	}
	return req, files, nil
}

// call runs the request, shows what comes, and returns how the process is to exit.
func (a *app) call(ctx context.Context, sys *system, log *slog.Logger, req *a2e.CallRequest, files fs.FS, f runFlags, bound policies.Party) error {
	saved, err := newArtifacts(f.out, f.force)
	if err != nil {
		return err
	}
	var resp *a2e.CallResponse
	var lost lostReader
	var shown recent
	signals := a.interruptible(ctx, sys.supervisor, nil, func(ctx context.Context) {
		answered, swept := sweepBeside(ctx, sys.supervisor, log)
		defer swept()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		lost.cancel = cancel
		ctx = a2e.WithTrace(ctx, a2e.ParseTrace(a.getenv("TRACEPARENT"), a.getenv("TRACESTATE")))
		resp = sys.supervisor.Run(ctx, a2e.Caller{Door: "cli"}, req, files, a.writer(f, saved, &shown, &lost))
		a.errs.endProgress()
		err = errors.Join(a.answer(f.json, resp, saved, func(e *a2e.Error) { showFailure(a.errs, req.Name, e, bound, &shown) }), lost.err)
		answered()
		drain(ctx, sys.supervisor, log)
	})
	fail := failure(resp)
	switch {
	case err != nil:
		return err
	case fail == nil:
		return nil
	case signals > 0 && fail.Reason() == a2e.ReasonCancelled:
		return silent(exitInterrupted)
	}
	return silent(exitCode(fail.Code))
}

// answer shows the end of a call: its result, what it left, and why it failed.
func (a *app) answer(asJSON bool, resp *a2e.CallResponse, saved *artifacts, explain func(*a2e.Error)) error {
	unsaved := saved.close()
	if asJSON {
		return errors.Join(a2e.NewEncoder(a.jsonOut()).Encode(resp), unsaved)
	}
	showResult(a.out, resp)
	showArtifacts(a.errs, saved)
	if fail := failure(resp); fail != nil {
		explain(fail)
	}
	return errors.Join(a.out.failed(), unsaved)
}

// timeoutBound is who decides the call's timeout. Where call and skill state the same it is the skill, since a call alone
// gets no more; "" is not known.
func timeoutBound(cfg *config.Config, catalog skills.Catalog, req *a2e.CallRequest) policies.Party {
	skill, _ := catalog.Find(req.Name)
	if skill == nil {
		return ""
	}
	var asked policies.Policy
	if req.Timeout != nil {
		asked.Timeout = time.Duration(min(*req.Timeout, 1<<31)) * time.Second
	}
	e, err := policies.Narrow(cfg.OperatorPolicy(), skill.Policy, asked)
	switch {
	case err != nil:
		return ""
	case e.Timeout >= policies.MaxTimeout:
		return policies.Host
	case e.Timeout == skill.Policy.Timeout:
		return policies.Skill
	case req.Timeout != nil:
		return policies.Caller
	}
	return policies.Default
}

// showArtifacts lists what a call left, and where it is.
func showArtifacts(errs *screen, saved *artifacts) {
	for i, f := range saved.order {
		line := fmt.Sprintf("  artifact %s (%s)", oneLine(f.name, 200), size(f.size))
		switch {
		case !f.final:
			line += ", incomplete"
		case f.path != "" && f.err == nil:
			line += " saved as " + oneLine(saved.where(f), 400)
		case saved.root == nil && i == 0:
			line += " (--out DIR saves " + plural(len(saved.order), "it", "them") + ")"
		}
		errs.line(errs.style.dim.Render(line))
	}
	if saved.dropped > 0 {
		errs.line(errs.style.dim.Render(fmt.Sprintf("  and %d %s of further artifacts", saved.dropped, plural(saved.dropped, "piece", "pieces"))))
	}
}

// seconds reads a time-out in whole seconds: "30s", "2m", "30". Empty is nil, which leaves it to the skill.
func seconds(text string) (*int, error) {
	if text == "" {
		return nil, nil
	}
	d, err := policies.ParseDuration(text)
	if err != nil || d%time.Second != 0 {
		return nil, errors.New("expected whole seconds, such as 30s")
	}
	n := int(d / time.Second)
	return &n, nil
}
