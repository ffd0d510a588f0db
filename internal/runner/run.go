package runner

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
)

// Exit codes of the runner itself. How the skill ended is in its exit line.
const (
	exitComplete = 0 // the exit line was written, or the supervisor said done
	exitHangup   = 1 // the supervisor was gone before the end
)

// errDone is why a life ends that the supervisor let go.
var errDone = errors.New("the supervisor said done")

// Run lives one life and returns the program's exit code. It returns when the exit line has been written and the
// supervisor has let go, or soon after stdin has ended, stdout has failed or ctx is done; then the skill is killed first.
//
// A read of stdin and a write to stdout cannot be interrupted. Where one of them hangs, Run leaves its goroutine behind:
// the program exits next.
func Run(ctx context.Context, cfg Config) int {
	ctx, hangup := context.WithCancelCause(ctx)
	defer hangup(nil)
	l := &life{cfg: cfg, initial: os.Getpid() == 1, say: &voice{w: wall.NewWriter(cfg.Stdout), hangup: hangup}}
	l.ports, l.failed = openPorts(l.say, cfg.Args.Ports)
	defer l.ports.close()
	l.in = listen(ctx, cfg, l.ports, hangup)
	code := make(chan int, 1)
	go func() { code <- l.live(ctx) }()
	select {
	case c := <-code:
		return c
	case <-ctx.Done():
	}
	l.killAll()
	select {
	case c := <-code:
		return c
	case <-time.After(hangupGrace):
		return hangupCode(ctx)
	}
}

func hangupCode(ctx context.Context) int {
	if errors.Is(context.Cause(ctx), errDone) {
		return exitComplete
	}
	return exitHangup
}

// life is one run of the program.
type life struct {
	cfg     Config
	initial bool // this process is PID 1 of its own namespace
	say     *voice
	in      *inbox
	ports   *ports       // nil where none are asked for
	failed  error        // what went wrong before there was anything to run
	moved   error        // what is wrong with the cell's mounts, which nobody in it can change
	pid     atomic.Int64 // of the skill's process, its session and its process group; 0 before it starts
}

// live goes through the life from the ready line to the exit line.
func (l *life) live(ctx context.Context) int {
	var early *child
	l.moved = checkMounts(l.cfg)
	err := l.failed
	if err == nil {
		early, err = l.ahead(ctx)
	}
	l.say.encode(wall.Ready{Type: wall.TypeReady, Protocol: wall.Protocol})
	before := l.oomKills()
	exit, ok := l.serve(ctx, early, err)
	if !ok {
		return hangupCode(ctx)
	}
	exit.Type = wall.TypeExit
	exit.OOMKills = since(before, l.oomKills())
	l.ports.finish()
	l.say.encode(exit)
	select {
	case <-ctx.Done():
	case <-time.After(doneGrace):
	}
	return exitComplete
}

// serve takes the request and runs the skill, unless its process runs already or failed to start. It reports false when
// the supervisor hung up.
func (l *life) serve(ctx context.Context, early *child, failed error) (wall.Exit, bool) {
	request, err := l.intake(ctx)
	if err == nil && l.moved != nil {
		l.killAll()
		return wall.Exit{ExitCode: cannotStart, StartError: l.moved.Error(), BadImage: true}, ctx.Err() == nil
	}
	if ctx.Err() != nil {
		l.killAll()
		early.drop()
		return wall.Exit{}, false
	}
	if err == nil {
		err = errors.Join(failed, l.discard(early))
	}
	if err == nil {
		var c *child
		if c, err = l.start(early, request); err == nil {
			return l.attend(ctx, c)
		}
	}
	l.killAll()
	early.drop()
	exit := wall.Exit{ExitCode: cannotStart, StartError: clip(err.Error(), maxStartError), Cancelled: l.in.isCancelled()}
	var start *startError
	if errors.As(err, &start) {
		exit.ExitCode = start.code
	}
	return exit, true
}

// attend stays with the skill's process to its end and beyond: what it left running is killed, its output drained, its
// artifacts sent.
func (l *life) attend(ctx context.Context, c *child) (wall.Exit, bool) {
	t := newTalk(l.say, l.cfg.Args.Output)
	c.listen(t)
	status, cancelled := l.watch(ctx, c, t.result)
	l.killRest(c)
	c.drain()
	if ctx.Err() != nil {
		return wall.Exit{}, false
	}
	exit := status.exit()
	exit.Cancelled = cancelled
	exit.StderrTail = t.tail.String()
	exit.OutputOver = t.over
	if l.sendArtifacts(ctx) && exit.OutputOver == "" {
		exit.OutputOver = overOut
	}
	// Plain output that is too long is cut, and says so. A result or files that are too large are no success: the
	// supervisor reads that off the exit line.
	if !t.hasResult && status.success() && (exit.OutputOver == "" || exit.OutputOver == overOutput) {
		l.say.encode(t.lastResort())
	}
	return exit, ctx.Err() == nil
}

// watch waits for the skill's process to end. It passes a cancellation on and ends a process that lingers after its
// result.
func (l *life) watch(ctx context.Context, c *child, result <-chan struct{}) (st status, cancelled bool) {
	cancel := l.in.cancelled
	force := []func(){c.terminate, c.kill}
	var linger <-chan time.Time
	for {
		select {
		case st = <-c.ended:
			return st, cancelled
		case <-cancel:
			cancel, cancelled = nil, true
			c.terminate()
		case <-result:
			result, linger = nil, time.After(lingerGrace)
		case <-linger:
			force[0]()
			if force = force[1:]; len(force) == 0 {
				linger = nil
				continue
			}
			linger = time.After(lingerGrace)
		case note := <-l.in.notes:
			l.say.log(levelWarn, note)
		case <-ctx.Done():
			l.killAll()
			select {
			case st = <-c.ended:
			case <-time.After(killGrace):
			}
			return st, cancelled
		}
	}
}
