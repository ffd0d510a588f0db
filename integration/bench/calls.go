package main

import (
	"context"
	"errors"
)

// The contenders.
const (
	coldDocker = "hotcell, docker, Python"
	coldRunsc  = "hotcell, docker with runsc, Python"
	coldOCI    = "hotcell, oci, Python"
	rawEngine  = "raw Engine API, a bare container"
	rawSame    = "raw Engine API, the same container"
	dockerRun  = "docker run"
	runcRun    = "runc run, the same bundle"

	rawAttach      = "raw attach, a container that waits"
	rawAttachRunsc = "raw attach, a container that waits under runsc"
	rawExec        = "raw attach, a waiting shell starts the Python"
	runcPipe       = "raw pipes, a waiting runc run"
	localPipe      = "raw pipes, a local process that waits"
)

// waiting names the contender whose cell waits.
func waiting(f flavor, skill string) string {
	return "hotcell, " + f.String() + ", " + skill + " that waits"
}

// warmCall is a call of a skill for which a cell waits. Waiting for that is not part of it; neither is the cell's end.
func (b *bench) warmCall(f flavor, skill string) contender {
	return contender{waiting(f, skill), func(ctx context.Context) (timing, error) {
		s, err := b.yard.site(f, true)
		if err == nil {
			err = s.stocked(ctx, skill)
		}
		if err != nil {
			return timing{}, err
		}
		t, err := s.call(ctx, skill)
		return t, errors.Join(err, s.stocked(ctx, skill)) // the next contender does not run beside what is started ahead here
	}}
}

// coldCall is a call in a cell that is made for it. It is destroyed in the background, as in production, but before the
// next contender runs.
func (b *bench) coldCall(f flavor, name string) contender {
	return contender{name, func(ctx context.Context) (timing, error) {
		s, err := b.yard.site(f, false)
		if err != nil {
			return timing{}, err
		}
		t, err := s.call(ctx, childSkill)
		if err != nil {
			return t, err
		}
		return t, errors.Join(s.settle(ctx), pause(ctx))
	}}
}

func warmSection(ctx context.Context, b *bench) error {
	runsc := framesContainer
	runsc.runtime = onRunsc.runtime
	return b.race(ctx, "warm", b.rounds, []contender{
		b.warmCall(onDocker, framesSkill),
		{rawAttach, b.yard.bare(framesContainer).waiting},
		b.warmCall(onDocker, prestartSkill),
		b.warmCall(onDocker, importSkill),
		b.warmCall(onDocker, childSkill),
		{rawExec, b.yard.bare(execContainer).waiting},
		b.warmCall(onRunsc, framesSkill),
		{rawAttachRunsc, func(ctx context.Context) (timing, error) {
			if err := b.yard.possible(onRunsc); err != nil {
				return timing{}, err
			}
			return b.yard.bare(runsc).waiting(ctx)
		}},
		b.warmCall(onRunsc, prestartSkill),
		b.warmCall(onOCI, framesSkill),
		{runcPipe, b.yard.bundles(framesSkill, false).waiting},
		{localPipe, starter(local).waiting},
		b.warmCall(onOCI, prestartSkill),
		b.warmCall(onOCI, childSkill),
	})
}

func coldSection(ctx context.Context, b *bench) error {
	return b.race(ctx, "cold", b.rounds, []contender{
		b.coldCall(onDocker, coldDocker),
		{rawEngine, b.yard.bare(pythonContainer).cold},
		{rawSame, b.yard.copied(childSkill, false).cold},
		{dockerRun, starter(dockerCLI).cold},
		b.coldCall(onOCI, coldOCI),
		{runcRun, b.yard.bundles(childSkill, false).cold},
		b.coldCall(onRunsc, coldRunsc),
	})
}
