package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/doctor"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

const (
	trialName  = "doctor-probe"
	trialLimit = 10 * time.Second // of the call
	trialTidy  = 3 * time.Second  // for its cell to be gone, when the time for all is up
)

// trial is one call, made just like any other, of a skill that looks at its cell.
type trial struct {
	cfg      *config.Config
	driver   sandbox.Driver
	store    images.Store
	instance string
	limit    time.Duration     // of the call; 0: trialLimit
	tidyFor  time.Duration     // for its cell to be gone; 0: trialTidy
	cpu      policies.MilliCPU // 0: the skill's own
	log      *slog.Logger
}

// cell runs the call in one of the default images that are there, or else in the smallest image of the engine: all that it
// needs is in the runner.
func (t trial) cell(ctx context.Context, defaults []doctor.Image) doctor.Cell {
	const hint = "'make image' in hotcell's sources builds an image for skills"
	for _, img := range defaults {
		switch {
		case img.ID != "":
			return t.in(ctx, img.Ref, img.ID)
		case img.Failed != "":
			return doctor.Cell{Skipped: "nobody knows which images are there", Hint: "see 'images'"}
		}
	}
	store, ok := t.store.(interface {
		Smallest(context.Context) (images.Image, error)
	})
	if !ok {
		return doctor.Cell{Skipped: "no image of images.defaults is there", Hint: "bring one over: 'docker save IMAGE | hotcell images import -'"}
	}
	img, err := store.Smallest(ctx)
	switch {
	case err != nil:
		return doctor.Cell{Skipped: "no image of images.defaults is there, and others can't be listed: " + plainEngine(err.Error()), Hint: hint}
	case img.ID == "":
		return doctor.Cell{Skipped: "the engine has no image", Hint: hint}
	}
	c := t.in(ctx, img.Ref, img.ID)
	if c.Failed != "" {
		return doctor.Cell{Skipped: fmt.Sprintf("no image of images.defaults is there, and %s, the smallest, can't be used: %s", img.Ref, c.Failed), Hint: hint}
	}
	return c
}

func (t trial) in(ctx context.Context, ref, id string) doctor.Cell {
	began := time.Now()
	skill := host.ProbeSkill(trialName, id, cmp.Or(t.limit, trialLimit))
	if t.cpu > 0 {
		skill.Policy.Limits.CPU = t.cpu
	}
	effective, err := policies.Narrow(t.policy(), skill.Policy, policies.Policy{})
	if err != nil {
		return doctor.Cell{Failed: err.Error()}
	}
	probe, call, err := t.call(ctx, skill)
	if err != nil {
		return doctor.Cell{Image: ref, Failed: err.Error()}
	}
	limits := effective.Limits
	return doctor.Cell{
		Image: ref, Took: time.Since(began), Probe: probe, Source: call.Confidence, Lacks: call.Unenforced,
		Want: doctor.Limits{Memory: int64(limits.Memory), PIDs: limits.PIDs, CPU: int64(limits.CPU), Files: limits.Files},
	}
}

// policy is the operator's without limits: those of the trial are what its program needs, and whether they hold is what it
// tells.
func (t trial) policy() policies.Policy {
	p := t.cfg.OperatorPolicy()
	p.Limits = policies.Limits{}
	return p
}

// call makes a supervisor for one call, and returns what the cell saw and what the call's record says. As a
// supervisor it has a file in the data folder, if that is there: should this process be killed, another one removes its
// cell.
func (t trial) call(ctx context.Context, skill *skills.Skill) (probe *wall.Probe, record control.Call, err error) {
	cfg := executor.Config{
		Driver: t.driver, Images: t.store, Skills: host.OneSkill(skill),
		Runner: func(arch string) (sandbox.Tree, error) { return host.RunnerTree(embedded, arch) },
		Policy: t.policy(), Pull: images.PullNever, MaxCells: 1,
		Instance: t.instance, Host: host.HostID(), RunDir: host.RunDir(t.cfg), Log: t.log,
	}
	forgive := func() {}
	if exists(t.cfg.DataDir) {
		if own, err := instance.Open(filepath.Join(t.cfg.DataDir, host.InstancesDir), t.instance); err == nil {
			defer own.Close()
			cfg.Owners = own
			forgive = func() { _ = own.Poisoned(nil) }
		}
	}
	supervisor, err := executor.New(cfg)
	if err != nil {
		return nil, record, err
	}
	defer func() {
		op, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(t.tidyFor, trialTidy))
		defer cancel()
		if drained := supervisor.Drain(op); drained != nil && err == nil {
			err = errors.New("it ran, but did not go away")
		}
		if err != nil && t.tidy(op) {
			forgive()
		}
	}()
	resp := supervisor.Call(ctx, a2e.Caller{Door: "doctor"}, &a2e.CallRequest{Name: skill.Name}, unheard)
	switch e := failure(resp); {
	case e == nil:
	case e.Code == a2e.Timeout:
		return nil, record, fmt.Errorf("it was not made, started and done within %s", cmp.Or(t.limit, trialLimit))
	default:
		return nil, record, errors.New(string(e.Code) + ": " + plainEngine(e.Message))
	}
	if calls, err := supervisor.List(ctx, 1); err == nil && len(calls) == 1 {
		record = calls[0]
	}
	probe, err = probeOf(resp.Data.Data)
	return probe, record, err
}

// tidy removes what a call that failed has left: an engine may finish a cell whose maker has stopped to wait for it. It reports
// whether nothing is left.
func (t trial) tidy(ctx context.Context) (gone bool) {
	for _, pause := range []time.Duration{0, 500 * time.Millisecond, time.Second} {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
		all, err := t.driver.List(ctx)
		if err != nil {
			return false
		}
		gone = true
		for _, l := range all {
			if l.Labels[sandbox.LabelInstance] == t.instance && l.Kind != "volume" {
				gone = false
				_ = t.driver.Remove(ctx, l.ID) // or whoever sweeps next
			}
		}
	}
	return gone
}

var unheard = a2e.EventWriterFunc(func(context.Context, *a2e.Event) error { return nil })

// probeOf reads what the cell has printed.
func probeOf(data any) (*wall.Probe, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	probe := new(wall.Probe)
	if err := json.Unmarshal(text, probe); err != nil || len(probe.Status) == 0 {
		return nil, errors.New("the cell answered with something else than what it sees")
	}
	return probe, nil
}
