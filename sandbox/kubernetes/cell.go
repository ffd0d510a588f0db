package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hotcell/hotcell/internal/outflow"
	"github.com/hotcell/hotcell/internal/seal"
	"github.com/hotcell/hotcell/sandbox"
)

var (
	errNotStarted = errors.New("cell has not started")
	errStarted    = errors.New("cell was started before")
	errDestroyed  = errors.New("cell is destroyed")
)

// cell is one pod. It is created → started → ended, and destroyed from any of these.
type cell struct {
	d     *Driver
	name  string
	uid   string
	seen  *sight
	hello seal.Hello
	lacks string // the words of the controls that it is without, with commas
	load  fs.FS  // has the runner, where the pod has the loader in its place
	later bool   // what it runs is said after Create

	stdout, stderr *outflow.Buffer

	mu        sync.Mutex
	started   bool
	killed    bool // by us
	destroyed bool
	stdinDone bool
	line      *line // while attached
	why       error // the connection ended
	early     *line // to a gate that has answered before Start

	up      chan struct{} // the gate has answered
	begun   chan error    // the program has started, or not
	ended   chan seal.End // it has ended, in the gate's words
	cut     chan struct{} // closed when the connection is no more
	settled sync.Once
	exited  chan struct{} // closed when exit and exitErr stand
	exit    sandbox.Exit
	exitErr error

	own    context.Context    // of the connection and what waits for the end
	cancel context.CancelFunc // of own
	work   sync.WaitGroup
}

var (
	_ sandbox.Sandbox = (*cell)(nil)
	_ sandbox.Lenient = (*cell)(nil)
)

func newCell(d *Driver, pod *corev1.Pod, s *sight, p *plan) *cell {
	return &cell{
		d: d, name: pod.Name, uid: string(pod.UID), seen: s, hello: p.hello, load: p.load, lacks: pod.Annotations[annotationUnenforced], stdout: outflow.New(), stderr: outflow.New(),
		up: make(chan struct{}, 1), begun: make(chan error, 1), ended: make(chan seal.End, 1), cut: make(chan struct{}),
		exited: make(chan struct{}), cancel: func() {},
	}
}

// ID names the pod and which one of that name it is.
func (c *cell) ID() string { return c.d.idOf(c.name, c.uid) }

// settlesLater is for what is done beside waiting for the cluster's word.
const settlesLater = 2 * time.Second

// Unenforced implements [sandbox.Lenient].
func (c *cell) Unenforced() []string {
	if c.lacks == "" {
		return nil
	}
	return strings.Split(c.lacks, ",")
}

// Stdio returns the streams. Stdout and Stderr are io.Closers too: closing one drops the rest of it, so that the other goes
// on. Stdin can be written as soon as Start has returned.
func (c *cell) Stdio() sandbox.Stdio {
	return sandbox.Stdio{Stdin: (*input)(c), Stdout: c.stdout, Stderr: c.stderr, Takes: takes / 2, Settles: c.d.limits.Settle + settlesLater}
}

// settle records how the cell ended. The first call counts.
func (c *cell) settle(exit sandbox.Exit, err error) {
	c.settled.Do(func() {
		c.exit, c.exitErr = exit, err
		close(c.exited)
	})
}

// finish ends the streams. What has been received can still be read.
func (c *cell) finish(err error) {
	c.stdout.Finish(err)
	c.stderr.Finish(err)
}

// connection returns the line to the gate, nil where there is none.
func (c *cell) connection() *line {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line
}

// input is the cell's stdin.
type input cell

func (i *input) Write(p []byte) (int, error) {
	i.mu.Lock()
	l, done := i.line, i.stdinDone
	i.mu.Unlock()
	switch {
	case done:
		return 0, io.ErrClosedPipe
	case l == nil:
		return 0, errNotStarted
	}
	written := 0
	for written < len(p) {
		part := p[written:min(len(p), written+seal.MaxFrame/2)]
		if err := l.send(seal.Data, part); err != nil {
			return written, fmt.Errorf("stdin of cell %s: %w", i.name, err)
		}
		written += len(part)
	}
	return written, nil
}

// Close delivers EOF to the process; before Start, as soon as it starts.
func (i *input) Close() error {
	i.mu.Lock()
	l, done := i.line, i.stdinDone
	i.stdinDone = true
	i.mu.Unlock()
	if l == nil || done {
		return nil
	}
	_ = l.send(seal.EOF, nil) // fails only when the connection is gone, and stdin with it
	return nil
}
