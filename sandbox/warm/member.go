package warm

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// member is one cell that was started ahead, and the sandbox that a call gets once it is leased.
type member struct {
	sandbox.Sandbox
	name    string
	memory  int64
	made    time.Time
	release func() // gives back what the cell holds beside itself
	leased  func() // tells the keeper that a place is free

	stdin          sandbox.Stdio
	stdout, stderr faucet

	words atomic.Int64 // bytes that it printed while it waited
	most  int64        // of these

	mu    sync.Mutex
	line  []byte        // the first line, as far as it has come
	said  bool          // the first line is complete
	ready chan struct{} // closed when that line was the ready line

	once sync.Once // closes dead
	dead chan struct{}
	why  string // once dead is closed: why the cell is of no use, before its lease
	gone func(m *member, why string)
}

// watchOver starts to read a started cell. gone is called when it is no longer fit to be leased.
func watchOver(box sandbox.Sandbox, name string, memory int64, release func(), most int64, gone func(*member, string)) *member {
	m := &member{
		Sandbox: box, name: name, memory: memory, made: time.Now(), release: release, most: most, gone: gone,
		stdin: box.Stdio(), ready: make(chan struct{}), dead: make(chan struct{}),
	}
	m.stdout = drop(m.stdin.Stdout, func(p []byte) {
		m.count(p)
		if !m.hear(p) {
			m.fail("it said something else than ready")
		}
	}, func() { m.fail("it ended") })
	m.stderr = drop(m.stdin.Stderr, m.count, func() {})
	return m
}

// fail takes the cell out of the pool, unless a call has it. It does not wait for the cell's end: who brings what the cell says
// calls it, and has to be done before the cell is destroyed.
func (m *member) fail(why string) {
	m.once.Do(func() {
		m.why = why
		close(m.dead)
		m.gone(m, why)
	})
}

// count counts what is dropped. A cell that goes on and on is of no use.
func (m *member) count(p []byte) {
	if m.words.Add(int64(len(p))) > m.most+drip {
		m.fail("it printed too much")
	}
}

// hear collects the first line. It reports false when that is not the ready line; what comes after it is dropped.
func (m *member) hear(p []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.said {
		return true
	}
	line, _, whole := bytes.Cut(p, []byte("\n"))
	if len(m.line)+len(line) > drip {
		return false
	}
	m.line = append(m.line, line...)
	if !whole {
		return true
	}
	m.said = true
	if wall.TypeOf(m.line) != wall.TypeReady {
		return false
	}
	m.line = append(m.line, '\n')
	close(m.ready)
	return true
}

// lease hands the cell's streams over to a call. It reports false when the cell has ended.
func (m *member) lease() bool {
	m.mu.Lock()
	first := m.line
	m.mu.Unlock()
	select {
	case <-m.dead:
		return false
	default:
	}
	return m.stdout.Restore(first) && m.stderr.Restore(nil)
}

// Waited implements [sandbox.Waited].
func (m *member) Waited() string { return m.name }

// Start does nothing: the cell has started.
func (m *member) Start(ctx context.Context) error { return ctx.Err() }

// Stdio returns the streams from the lease on. The first line of Stdout is the cell's ready line.
func (m *member) Stdio() sandbox.Stdio {
	return sandbox.Stdio{Stdin: m.stdin.Stdin, Stdout: m.stdout, Stderr: m.stderr, Takes: m.stdin.Takes, Settles: m.stdin.Settles}
}

// Wait waits for the end of the cell, which a call has by now.
func (m *member) Wait(ctx context.Context) (sandbox.Exit, error) {
	m.leased()
	return m.Sandbox.Wait(ctx)
}

// Destroy destroys the cell and then gives back what it held.
func (m *member) Destroy(ctx context.Context) error {
	m.leased()
	if err := m.Sandbox.Destroy(ctx); err != nil {
		return err
	}
	m.release()
	return nil
}

// Evidence implements [sandbox.Witness] as far as the inner cell does.
func (m *member) Evidence() sandbox.Evidence { return evidence(m.Sandbox) }

// Unenforced implements [sandbox.Lenient] as far as the inner cell does.
func (m *member) Unenforced() []string { return sandbox.Unenforced(m.Sandbox) }
