package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/doctor"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/policies/compile"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/kubernetes"
)

// How long a cluster may take. A pod's images may have to be pulled.
const (
	podLimit     = 30 * time.Second // from a pod's creation until its gate waits
	podTrial     = 40 * time.Second // of the call whose cell looks at itself
	podTidy      = 20 * time.Second // for its pod to be gone, which a busy node takes its time for
	leaveLimit   = 5 * time.Second  // for what is left of the supervisor that doctor was
	clusterClose = 12 * time.Second // for pods that are being removed
)

// gatherCluster asks a cluster what doctor judges, where cells are pods.
func gatherCluster(ctx context.Context, cfg *config.Config, id string, log *slog.Logger) doctor.Facts {
	set := doctorSettings(cfg, embedded)
	set.MinUID, set.MaxUID = kubernetes.FirstUID, kubernetes.LastUID
	about := doctor.Cluster{Said: cfg.Kubernetes.NetworkPolicy == config.NetworkPolicyEnforced, Accepted: cfg.Sandbox.AcceptUnenforced}
	from := doctor.ClusterSources{
		Host:   func(ctx context.Context) doctor.Host { return doctor.LookAround(ctx, "/", set, "") },
		Owners: func() ([]instance.Info, error) { return instance.List(filepath.Join(cfg.DataDir, host.InstancesDir)) },
	}
	options := host.ClusterOptions(cfg, id, log)
	options.Accept = kubernetes.Controls() // doctor looks, whatever is accepted, and then says what is not
	options.Timeouts = kubernetes.Timeouts{Request: askLimit, Ready: podLimit}
	driver, err := kubernetes.New(options)
	if err != nil {
		about.None = err.Error()
		return doctor.GatherCluster(ctx, set, about, from)
	}
	defer within(clusterClose, func() {
		op, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
		defer cancel()
		_ = driver.Leave(op) // or its pods own nothing any more
		_ = driver.Close()
	})
	from.Cluster, from.Things = driver.InspectCluster, driver.List
	from.Network = func(ctx context.Context) (sandbox.NetworkTry, error) { return tryNetwork(ctx, cfg, driver, id) }
	try := trial{cfg: cfg, driver: driver, store: empty{driver}, instance: id, limit: podTrial, tidyFor: podTidy, cpu: policies.Core / 5, log: log}
	from.Cell = func(ctx context.Context) doctor.Cell { return try.in(ctx, cfg.Kubernetes.RunnerImage, images.Builtin) }
	kept, _, err := host.OwnImages(cfg, log)
	if err == nil {
		defer within(closeLimit, func() { _ = kept.Close() })
		from.Image = func(ctx context.Context, ref string) doctor.Image { return allowedImage(ctx, cfg, kept, ref) }
		from.Pins = func(ctx context.Context) (doctor.Pins, error) { return pinFacts(ctx, cfg, false) }
	} else {
		from.Image = func(context.Context, string) doctor.Image { return doctor.Image{Failed: err.Error()} }
	}
	return doctor.GatherCluster(ctx, set, about, from)
}

// empty are the images of a cell that needs none: for that of a pod the runner's stands in.
type empty struct{ driver sandbox.Driver }

// Resolve implements [images.Store].
func (e empty) Resolve(ctx context.Context, ref string, _ images.PullPolicy) (images.Image, error) {
	caps, err := e.driver.Capabilities(ctx)
	return images.Image{Ref: ref, ID: images.BuiltinID(caps.Arch), OS: caps.OS, Arch: caps.Arch}, err
}

// tryNetwork has two cells try what a skill could reach.
func tryNetwork(ctx context.Context, cfg *config.Config, driver *kubernetes.Driver, id string) (sandbox.NetworkTry, error) {
	caps, err := driver.Capabilities(ctx)
	if err != nil {
		return sandbox.NetworkTry{}, err
	}
	runner, err := host.RunnerTree(embedded, caps.Arch)
	if err != nil {
		return sandbox.NetworkTry{}, err
	}
	engine, err := host.EngineTrees(embedded)(caps.Arch)
	if err != nil {
		return sandbox.NetworkTry{}, err
	}
	skill := host.ProbeSkill(trialName, images.Builtin, podTrial)
	skill.Policy.Limits.CPU = policies.Core / 10 // what a pod may have is set aside for it, and these have little to do
	effective, err := policies.Narrow(trial{cfg: cfg}.policy(), skill.Policy, policies.Policy{})
	if err != nil {
		return sandbox.NetworkTry{}, err
	}
	return driver.TryNetwork(ctx, func() (*sandbox.Spec, error) {
		spec, err := compile.Compile(effective, compile.Workload{
			CallID: rand.Text(), Skill: trialName, Instance: id, Host: host.HostID(), UID: compile.MinUID, Expires: time.Now().Add(podLimit + time.Minute),
			Image: sandbox.Image{ID: images.BuiltinID(caps.Arch), Ref: images.Builtin}, OS: "linux", Arch: caps.Arch, Command: wall.ProbeCommand(),
			Bundle: sandbox.Tree{Name: "bundle", Digest: skill.Bundle.Digest, Target: wall.DirSkill, FS: skill.Bundle.FS},
			Runner: runner, Engine: engine,
		})
		if err == nil { // what it runs is the runner's own, and needs no bundle
			spec.Trees = slices.DeleteFunc(spec.Trees, func(t sandbox.Tree) bool { return t.Target == wall.DirSkill })
		}
		return spec, err
	})
}
