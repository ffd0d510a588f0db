package main

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"sync"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/integration/rig"
)

var onCluster = flavor{driver: "kubernetes"}

// The contenders on a cluster.
const (
	coldCluster = "hotcell, kubernetes, Python"
	rawPod      = "raw create, watch, attach: a pod of the same image and resources"
	rawPodSame  = "raw create, watch, attach: the same pod"
	rawPodWaits = "raw attach, a pod that waits"

	atOnce     = 20 // pods
	podsAtOnce = "hotcell, kubernetes, 20 calls at once, cold"
	podsPace   = "hotcell, kubernetes, cold calls, 8 in flight"
	podsRSS    = "a supervisor, per pod that waits"
	unitMinute = "calls/min"
)

// clusterSections are those of make bench-kube.
func clusterSections() []section {
	return []section{
		{"kube-warm", "a call whose pod waits, and the floor below it", clusterWarm},
		{"kube-cold", "a call in a pod of its own, and what it takes without hotcell", clusterCold},
		{"kube-scale", "many pods on one node", clusterScale},
	}
}

// clusterSkills are the same programs with less of a node, as what a pod may have is set aside for it.
func clusterSkills() fstest.MapFS {
	const few = "limits: {memory: " + podMemory + ", cpu: \"0.4\"}\n"
	const tiny = "limits: {memory: 32Mi, cpu: \"0.05\"}\n"
	frames, small := names[framesSkill], names[smallSkill]
	return rig.Merge(
		fstest.MapFS{
			frames + "/SKILL.md":   {Data: []byte("---\nname: " + frames + "\ndescription: counts words\n---\n"), Mode: 0o644},
			frames + "/skill.yaml": {Data: []byte("run: {image: '" + wordCountImage + "', frames: true}\n" + few), Mode: 0o644},
			small + "/SKILL.md":    {Data: []byte("---\nname: " + small + "\ndescription: counts words\n---\n"), Mode: 0o644},
			small + "/skill.yaml":  {Data: []byte("run: {image: '" + wordCountImage + "', frames: true}\n" + tiny), Mode: 0o644},
		},
		rig.PythonSkill(names[childSkill], few, program),
		rig.PythonSkill(names[prestartSkill], "run: {prestart: true}\n"+few, program),
	)
}

func clusterWarm(ctx context.Context, b *bench) error {
	return b.race(ctx, "kube-warm", b.rounds, []contender{
		b.calmCall(framesSkill),
		{rawPodWaits, podWaits(b.yard.framesPods())},
		b.calmCall(prestartSkill),
	})
}

// calmCall is a warm call in a pod that has waited as long as a raw one does: what it used of its processors to start is forgotten.
func (b *bench) calmCall(skill string) contender {
	c := b.warmCall(onCluster, skill)
	call := c.run
	c.run = func(ctx context.Context) (timing, error) {
		s, err := b.yard.site(onCluster, true)
		if err == nil {
			err = errors.Join(s.stocked(ctx, skill), rest(ctx, podRest))
		}
		if err != nil {
			return timing{}, err
		}
		return call(ctx)
	}
	return c
}

func clusterCold(ctx context.Context, b *bench) error {
	return b.race(ctx, "kube-cold", b.rounds, []contender{
		b.coldCall(onCluster, coldCluster),
		{rawPod, b.yard.pythonPods().cold},
		{rawPodSame, b.yard.samePods(childSkill).cold},
	})
}

// clusterScale looks at how fast a node makes pods, and at what a supervisor holds for each that waits.
func clusterScale(ctx context.Context, b *bench) error {
	parts := map[string]func(context.Context) error{podsAtOnce: b.many, podsPace: b.steady, podsRSS: b.held}
	for _, name := range []string{podsAtOnce, podsPace, podsRSS} {
		if !b.wants("kube-scale", name) {
			continue
		}
		b.say("kube-scale: %s", name)
		limited, cancel := context.WithTimeout(ctx, 5*limit)
		err := parts[name](limited)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			b.out("kube-scale", name, 0, err)
		}
	}
	return nil
}

// many makes calls at once, each with a pod of its own.
func (b *bench) many(ctx context.Context) error {
	s, err := b.yard.site(onCluster, false)
	if err != nil {
		return err
	}
	took := make([]timing, atOnce)
	var mu sync.Mutex
	next := 0
	if err := together(ctx, atOnce, atOnce, func(ctx context.Context) error {
		t, err := s.call(ctx, smallSkill)
		mu.Lock()
		defer mu.Unlock()
		took[next] = t
		next++
		return err
	}); err != nil {
		return err
	}
	b.report.timed("kube-scale", podsAtOnce, took)
	return s.settle(ctx)
}

// steady is how many cold calls a node serves, one after another, with so many callers.
func (b *bench) steady(ctx context.Context) error {
	s, err := b.yard.site(onCluster, false)
	if err != nil {
		return err
	}
	const calls = 5 * 8
	began := time.Now()
	if err := together(ctx, 8, calls, func(ctx context.Context) error {
		_, err := s.call(ctx, smallSkill)
		return err
	}); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	b.report.add("kube-scale", podsPace, unitMinute, calls/time.Since(began).Minutes())
	return nil
}

// held looks at this process, which is the supervisor, with pods that wait and without.
func (b *bench) held(ctx context.Context) error {
	y := newYard(b.runner)
	y.cluster, y.idle, y.places, y.cells = b.yard.cluster, 30*time.Second, atOnce, 2*atOnce
	s, err := y.site(onCluster, true)
	if err != nil {
		return err
	}
	defer func() { y.cluster = nil; _ = y.close() }()
	burst := func() error {
		return together(ctx, atOnce, atOnce, func(ctx context.Context) error { _, err := s.call(ctx, smallSkill); return err })
	}
	waiting := func(n int) func() bool {
		return func() bool { return s.busy.Load() == 0 && len(s.Pool.Waiting(names[smallSkill])) == n }
	}
	var held [2]float64
	for i, n := range []int{0, atOnce} {
		if err := errors.Join(burst(), await(ctx, waiting(n)), rest(ctx, time.Second)); err != nil {
			return err
		}
		debug.FreeOSMemory()
		if held[i], err = memory(os.Getpid(), "RssAnon"); err != nil {
			return err
		}
	}
	b.report.add("kube-scale", podsRSS, unitKB, (held[1]-held[0])/atOnce/1e3)
	return nil
}
