package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hotcell/hotcell/executor/relay"
	"github.com/hotcell/hotcell/internal/a2e"
)

// The rows of the relay.
const (
	relayBytes  = "relay, lines of 1 KiB"
	relayEvents = "relay, lines of 100 bytes"
	relayStored = "relay, lines of 1 KiB, into the journal"
	cellBytes   = "a call in a cell of docker that floods, lines of 1 KiB"
	cellOCI     = "a call in a cell of oci that floods, lines of 1 KiB"
)

// floodLines is how many events one flood has, 64 MiB in lines of 1 KiB; floodLine is one of them.
const floodLines = 1 << 16

func floodLine(size int) string {
	const head, foot = `{"type":"skill/event","kind":"log","data":{"level":"info","message":"`, `"}}`
	return head + string(bytes.Repeat([]byte("a line of a log; "), size/17+1)[:size-len(head)-len(foot)-1]) + foot + "\n"
}

// flooding is a skill that tells as fast as Python can.
var flooding = fmt.Sprintf(`import sys
sys.stdin.readline()
line = %q
for _ in range(%d):
    sys.stdout.write(line * 64)
sys.stdout.write('{"type":"skill/result","success":true,"data":42}\n')
`, floodLine(1<<10), floodLines/2/64)

// overflowing is one that prints 1 GiB, whatever its limit is.
var overflowing = fmt.Sprintf(`import sys
sys.stdin.readline()
line = %q
for _ in range(%d):
    sys.stdout.write(line * 64)
`, floodLine(1<<10), 1<<30/(64<<10))

// relaySection measures how fast what a cell says is checked, numbered and delivered: in this process alone, and from a
// real cell through the engine. Figures are of whole floods.
func relaySection(ctx context.Context, b *bench) error {
	rounds := b.rounds/8 + 1
	all := []struct {
		name, unit string
		run        func(ctx context.Context) (float64, error)
	}{
		{relayBytes, unitRate, func(ctx context.Context) (float64, error) {
			took := relayFlood(ctx, 1<<10, nil)
			return floodLines * (1 << 10) / 1e6 / took.Seconds(), nil
		}},
		{relayEvents, unitEvent, func(ctx context.Context) (float64, error) {
			return floodLines / relayFlood(ctx, 100, nil).Seconds(), nil
		}},
		{relayStored, unitRate, b.storedFlood},
		{cellBytes, unitRate, func(ctx context.Context) (float64, error) { return b.cellFlood(ctx, onDocker) }},
		{cellOCI, unitRate, func(ctx context.Context) (float64, error) { return b.cellFlood(ctx, onOCI) }},
	}
	figures := map[string][]float64{}
	for round := range rounds {
		for _, c := range all {
			if !b.wants("relay", c.name) || round > 0 && figures[c.name] == nil {
				continue
			}
			b.say("relay, round %d of %d: %s", round+1, rounds, c.name)
			v, err := c.run(ctx)
			if err != nil {
				b.out("relay", c.name, round, err)
				delete(figures, c.name)
				continue
			}
			figures[c.name] = append(figures[c.name], v)
		}
	}
	for _, c := range all {
		if figures[c.name] != nil {
			b.report.add("relay", c.name, c.unit, figures[c.name]...)
		}
	}
	return nil
}

// relayFlood is how long the relay takes for a flood of a cell whose consumer keeps up.
func relayFlood(ctx context.Context, size int, keep func(*a2e.Event)) time.Duration {
	blob := bytes.Repeat([]byte(floodLine(size)), 64)
	delivered := 0
	r := relay.New(relay.Options{
		ReqID: "r", Output: 1 << 30, Out: 1 << 20, Keep: keep,
		Deliver: func(context.Context, *a2e.Event) { delivered++ },
	})
	began := time.Now()
	var work sync.WaitGroup
	work.Go(func() { r.Deliver(ctx) })
	r.Read(&repeated{blob: blob, times: floodLines / 64})
	r.Close()
	work.Wait()
	return time.Since(began)
}

// storedFlood is a flood whose events are journalled as well.
func (b *bench) storedFlood(ctx context.Context) (float64, error) {
	dir, err := b.yard.folder()
	if err != nil {
		return 0, err
	}
	super, err := fakeSupervisor(dir, 1, flooder)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := super.call(ctx, 0); err != nil {
		return 0, err
	}
	took := time.Since(began)
	return floodLines / 8 * (1 << 10) / 1e6 / took.Seconds(), super.close()
}

// cellFlood is a call whose cell floods, with a consumer that keeps up, until the answer.
func (b *bench) cellFlood(ctx context.Context, f flavor) (float64, error) {
	s, err := b.yard.site(f, true)
	if err != nil {
		return 0, err
	}
	if err := s.stocked(ctx, floodSkill); err != nil {
		return 0, err
	}
	t, err := s.call(ctx, floodSkill)
	return floodLines / 2 * (1 << 10) / 1e6 / t.done.Seconds(), err
}

// repeated reads a text again and again.
type repeated struct {
	blob  []byte
	times int
	at    int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.times == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.blob[r.at:])
	if r.at += n; r.at == len(r.blob) {
		r.at, r.times = 0, r.times-1
	}
	return n, nil
}
