package kubernetes

import (
	"context"
	"encoding/binary"
	"io"
	"time"

	"github.com/hotcell/hotcell/internal/gate"
	"github.com/hotcell/hotcell/internal/seal"
)

// introduce says the hello. Where the pod's first program is the loader, it first makes the runner of it.
func (c *cell) introduce(ctx context.Context, l *line) error {
	if c.load != nil {
		if err := c.sendRunner(ctx, l); err != nil {
			return err
		}
	}
	return seal.WriteHello(l.in, c.hello)
}

// sendRunner has the loader become the runner, once it has answered: nobody may be there.
func (c *cell) sendRunner(ctx context.Context, l *line) error {
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for answered := false; !answered; {
		if err := l.length(0); err != nil {
			return err
		}
		select {
		case <-l.loader:
			answered = true
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	f, err := c.load.Open(runnerFile)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := l.length(info.Size()); err != nil {
		return err
	}
	_, err = io.CopyN(l.in, f, info.Size())
	return err
}

func (l *line) length(n int64) error {
	_, err := l.in.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	return err
}

// fromLoader reports whether a line is the loader's, which says nothing sealed. After the first sealed one there is no loader.
func (l *line) fromLoader(text []byte) bool {
	if l.loader == nil || l.sealed || string(text) != gate.LoaderSays {
		return false
	}
	select {
	case l.loader <- struct{}{}:
	default:
	}
	return true
}

// loaderGrace is how long Create waits for a loader to become the gate, or to say that it may not, once its pod runs. After that Start
// tries it once more, by all ways that there are.
const loaderGrace = 5 * time.Second

// refusedFor is how long pods have an init container after a node did not let a loader do its work.
const refusedFor = 10 * time.Minute

// loaderRefused reports whether pods are made without a loader for now.
func (d *Driver) loaderRefused() bool {
	return time.Since(time.Unix(d.refused.Load(), 0)) < refusedFor
}

// refusedLoader reports whether a node did not let the pod's loader do its work. For a while pods have an init container then. What else
// may not be executed there, which an image can bring about, says nothing of loaders.
func (c *cell) refusedLoader() bool {
	pod, _ := c.seen.look()
	if c.load == nil || pod == nil {
		return false
	}
	t := ending(pod)
	if t == nil || t.ExitCode != exitNotExecutable {
		return false
	}
	if !c.d.loaderRefused() {
		c.d.log.Warn("a node does not let pods execute a program that is in memory alone: they get theirs from an init container, which takes longer", "node", pod.Spec.NodeName)
	}
	c.d.refused.Store(time.Now().Unix())
	return true
}

// exitNotExecutable is the exit code of the loader that may not become another program. The gate in its place has it only once it has
// said why.
const exitNotExecutable = 126
