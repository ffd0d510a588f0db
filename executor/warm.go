package executor

import (
	"strconv"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/policies/compile"
	"github.com/hotcell/hotcell/sandbox"
)

// maxKeys bounds how many keys are remembered. Each costs a spec to find again.
const maxKeys = 4096

// keys remembers under which key the cells of a blueprint wait, so that a call which gets a waiting cell compiles nothing.
type keys struct {
	off bool // nothing waits

	mu    sync.Mutex
	known map[string]string // by fingerprint
}

func newKeys(d sandbox.Driver) *keys {
	_, pools := d.(sandbox.Pool)
	return &keys{off: !pools, known: map[string]string{}}
}

// of returns the key of b; "" where nothing waits.
func (k *keys) of(b *blueprint) (string, error) {
	if k.off {
		return "", nil
	}
	print := fingerprint(b.eff, b.work)
	k.mu.Lock()
	key, ok := k.known[print]
	k.mu.Unlock()
	if ok {
		return key, nil
	}
	work := b.work
	work.UID = compile.MinUID
	spec, err := compile.Compile(b.eff, work)
	if err != nil {
		return "", err
	}
	if key, err = compile.Key(spec); err != nil {
		return "", err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.known) >= maxKeys {
		clear(k.known)
	}
	k.known[print] = key
	return key, nil
}

// fingerprint tells apart what compiles to specs with different keys. The content of a tree is its digest, and of an image
// its id.
func fingerprint(eff policies.Effective, w compile.Workload) string {
	l := limits(eff.Limits)
	b := make([]byte, 0, 1<<10)
	for _, n := range []int64{int64(l.Memory), int64(l.CPU), int64(l.PIDs), int64(l.Files), int64(l.Workspace), int64(l.Out), int64(l.Output)} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	b = strconv.AppendBool(strconv.AppendBool(b, w.Frames), w.Prestart)
	for _, list := range [][]string{
		{eff.Runtime, w.Skill, w.Tenant, w.Instance, w.Image.ID, w.OS, w.Arch, w.Bundle.Name, w.Bundle.Digest, w.Runner.Digest, w.Engine.Digest},
		eff.Network.Allow, w.Image.Env, w.Image.Volumes, w.Entrypoint, w.Cmd, w.Command, w.Env,
	} {
		b = strconv.AppendInt(b, int64(len(list)), 10)
		for _, s := range list {
			b = append(append(strconv.AppendInt(append(b, ' '), int64(len(s)), 10), ' '), s...)
		}
	}
	for _, p := range w.Ports {
		b = append(append(append(strconv.AppendInt(b, int64(p.Number), 10), ' '), p.Name...), ' ')
	}
	return string(b)
}

// limits has all fields of [policies.Limits], or this does not compile: a field that [fingerprint] leaves out would let calls
// share what they must not.
type limits struct {
	Memory                 policies.Bytes
	CPU                    policies.MilliCPU
	PIDs, Files            int64
	Workspace, Out, Output policies.Bytes
}

// lease returns a cell that waits for a call like this one, and its name; nil where none does.
func (s *Supervisor) lease(b *blueprint) (sandbox.Sandbox, string) {
	pool, ok := s.cfg.Driver.(sandbox.Pool)
	if !ok || b.key == "" {
		return nil, ""
	}
	box, name := pool.Lease(b.key)
	if box != nil {
		s.held.take(name)
	}
	return box, name
}

// ahead is [Supervisor.lease] for a call that may have its cell before the journal has it: one that was granted nothing. Its cell
// can't reach anything, and what it says is not read until the journal has the call. Should hotcell be killed in between, the cell
// dies with it, and it is as if the request had never come; where the journal refuses the call, the cell is destroyed unheard.
//
// A caller whose call was refused so waits for the journal a while: requests that are sent again and again cost no cells.
func (s *Supervisor) ahead(c *call, p *plan, b *blueprint) (sandbox.Sandbox, string) {
	if p.grants.lease != nil || len(p.grants.all) > 0 || s.refused.lately(c.who.Principal, time.Now()) {
		return nil, ""
	}
	return s.lease(b)
}

// refusedFor is how long a principal gets no cell ahead after one was in vain.
const refusedFor = time.Minute

// refused knows for which principals a cell was leased in vain, and when. Of more than it has room for, it knows it of all.
type refused struct {
	mu    sync.Mutex
	at    map[string]time.Time
	until time.Time // everybody's, where there was no room
}

const mostRefused = 1000

func (r *refused) note(principal string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == nil || len(r.at) >= mostRefused {
		if r.at != nil {
			r.until = now.Add(refusedFor)
		}
		r.at = map[string]time.Time{}
	}
	r.at[principal] = now
}

func (r *refused) lately(principal string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Before(r.until) {
		return true
	}
	at, ok := r.at[principal]
	if ok && now.Sub(at) >= refusedFor {
		delete(r.at, principal)
		ok = false
	}
	return ok
}

// waits reports whether the cell of that name waits for a call.
func (s *Supervisor) waits(name string) bool {
	pool, ok := s.cfg.Driver.(sandbox.Pool)
	return ok && pool.Keeps(name)
}

// again makes the specs of cells that are started ahead for calls like this one.
func (s *Supervisor) again(b *blueprint) func(time.Duration) (*sandbox.Spec, func(), error) {
	return func(wait time.Duration) (*sandbox.Spec, func(), error) {
		uid, release, err := s.user()
		if err != nil {
			return nil, nil, err
		}
		spec, err := compile.Compile(b.eff, b.of(s, uid, func(w *compile.Workload) {
			w.Waits, w.CallID, w.Expires = true, ulid.Make().String(), time.Now().Add(wait+policies.MaxTimeout+expiry)
		}))
		if err != nil {
			release()
			return nil, nil, err
		}
		spec.Key, spec.Line = b.key, b.line
		return spec, release, nil
	}
}

// Room reports whether waiting cells may have so much memory beside the calls in flight and the next one that queues.
func (s *Supervisor) Room(memory int64) bool {
	queue := s.gate.now()
	return queue == nil || queue.Room(memory)
}

// Busy reports whether calls queue, for a share or for their turn to start a cell.
func (s *Supervisor) Busy() bool {
	queue := s.gate.now()
	_, _, turns := s.gate.starts.Use()
	return queue != nil && queue.Busy() || turns > 0
}
