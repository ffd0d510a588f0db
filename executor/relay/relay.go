package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/wall"
)

// The budgets' names, as they are reported when one is exceeded.
const (
	BudgetOutput   = "output" // the bytes of events and plain output together, as JSON
	BudgetEvents   = "events" // their number
	BudgetArtifact = "out"    // artifacts
	BudgetResult   = "result" // the result line
)

// mostEvents bounds the number of a call's events: what waits for a slow consumer costs memory beside its bytes.
const mostEvents = 1 << 17

// Options shape a [Relay].
type Options struct {
	ReqID  string
	First  int   // number of the first event
	Output int64 // bytes of events and plain output together, and of the longest result line
	Out    int64 // bytes of artifacts
	Frames bool  // the image has no runner, so cell/exit from it means nothing

	// Redact holds secrets that the cell was given. They are taken out of all that the relay lets out, also where they are
	// escaped, in base64 or broken into pieces: a guard against accidents and not against a skill that hides them. Values
	// of fewer than 8 bytes stay.
	Redact [][]byte

	// Keep is told each event, in order, as soon as it is read. It must return at once and not hold on to it: its data
	// lies in the reader's buffer. Nil: nobody keeps them.
	Keep func(ev *a2e.Event)

	// Use takes the lines by which the cell uses what its call was granted: streams and tools. It must return at once and not
	// hold on to the line. Such a line costs nothing of the budgets, unless Use returns an error: that becomes a warning. Nil:
	// no such line is allowed.
	Use func(kind string, line []byte) error

	// Deliver takes the events in order, from one goroutine, and may block.
	Deliver func(ctx context.Context, ev *a2e.Event)
}

// Milestone is something in a cell's output that the life of the call turns on. Exactly one field is set, or Ended is.
type Milestone struct {
	Ready  bool         // the runner is up
	Result *wall.Result // the first valid result
	Exit   *wall.Exit   // the runner's evidence
	Over   string       // a budget was exceeded; nothing more is relayed
	Ended  bool         // the stream has ended
	Err    error        // with Ended: why, nil for an orderly end
}

// Relay reads one cell.
type Relay struct {
	opts       Options
	box        *outbox
	milestones chan Milestone
	secrets    *redaction // nil: none

	mu     sync.Mutex
	quiet  bool // over budget, or the call has ended
	closed bool // the call has ended
	result bool
	exit   bool
	ready  bool
	output int64
	out    int64
	events int     // that were charged
	cost   int64   // of the line at hand, in bytes
	seq    int     // of the next event
	last   float64 // when the last one came
	counts Counts
	open   map[string]bool // artifacts that had a chunk: true once final
	lines  atomic.Uint64
}

// New returns a relay that has read nothing yet.
func New(opts Options) *Relay {
	return &Relay{
		opts: opts, seq: opts.First, box: newOutbox(), open: map[string]bool{}, secrets: newRedaction(opts.Redact),
		milestones: make(chan Milestone, 5), // one of each kind: sending never blocks
	}
}

// Milestones returns the channel of milestones, each kind at most once.
func (r *Relay) Milestones() <-chan Milestone { return r.milestones }

// Read reads the cell's stdout to its end. It never waits for the consumer.
func (r *Relay) Read(stdout io.Reader) {
	lines := wall.NewReader(stdout, wall.MaxLine, int(r.opts.Output))
	for {
		line, err := lines.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			r.milestones <- Milestone{Ended: true, Err: err}
			return
		}
		r.lines.Add(1)
		r.line(line)
	}
}

// Lines returns how many lines have been read, which tells whether the cell still says something.
func (r *Relay) Lines() uint64 { return r.lines.Load() }

// Deliver hands events to the consumer until [Relay.Close] and the last event, or until ctx ends. What is left then is
// dropped.
func (r *Relay) Deliver(ctx context.Context) {
	defer r.box.drop()
	next := r.opts.First
	for {
		block, more := r.box.take(ctx)
		if r.box.missing() > 0 {
			e := logEvent("error", "events were lost: hotcell could not read back what it had put on its disk")
			e.seq, e.id, e.at = next, a2e.NewID(), a2e.Now()
			r.opts.Deliver(ctx, e.message(r.opts.ReqID))
		}
		if !more {
			return
		}
		for len(block) > 0 && ctx.Err() == nil {
			var e event
			e, block = unpack(block)
			next = e.seq + 1
			r.opts.Deliver(ctx, e.message(r.opts.ReqID))
		}
	}
}

// Say puts a log event of the supervisor's own among the cell's.
func (r *Relay) Say(level, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.put(logEvent(level, fmt.Sprintf(format, args...)))
	}
}

// Status puts a status event of the supervisor's own among the cell's.
func (r *Relay) Status(kind, message string, data map[string]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		text := strings.ToValidUTF8(message, "\uFFFD")
		r.put(event{kind: a2e.KindStatus, data: map[string]any{"message": text, "kind": kind, "data": data}})
	}
}

// Connect sets [Options.Use] of a relay that reads nothing yet.
func (r *Relay) Connect(use func(kind string, line []byte) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opts.Use = use
}

// put lets an event out, without secrets.
func (r *Relay) put(e event) {
	r.secrets.event(&e)
	r.emit(e)
}

// silence is how long no event came, in seconds, for the next one to be delivered before anything else is done.
const silence = 1e-3

// emit numbers an event.
func (r *Relay) emit(e event) {
	e.seq, e.id, e.at = r.seq, a2e.NewID(), a2e.Now()
	r.seq++
	r.box.put(e)
	if e.at-r.last > silence {
		runtime.Gosched() // or the consumer would wait for what follows this event
	}
	r.last = e.at
	if r.opts.Keep != nil {
		r.opts.Keep(e.message(r.opts.ReqID))
	}
}

// Close ends the events: what the cell says from now on is read and dropped.
func (r *Relay) Close() {
	r.mu.Lock()
	if !r.quiet {
		for _, e := range r.secrets.left() {
			r.emit(e)
		}
	}
	r.quiet, r.closed = true, true
	r.mu.Unlock()
	r.box.close()
}

// Hush drops whatever the cell says from now on, unless it has said more lines than so many: then it reports false.
func (r *Relay) Hush(most uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Lines() > most {
		return false
	}
	r.quiet, r.closed = true, true
	return true
}

func (r *Relay) line(l wall.Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Bytes += int64(len(l.Bytes)) + l.Dropped
	if r.quiet {
		if !r.closed {
			r.counts.Dropped++
		}
		return
	}
	r.cost = int64(len(l.Bytes)) + l.Dropped
	if l.Cut {
		r.cut(l)
		return
	}
	parsed := wall.Parse(l.Bytes)
	switch kind := parsed.Type(); kind {
	case wall.TypeReady:
		r.up(l.Bytes)
	case wall.TypeEvent:
		r.event(parsed)
	case wall.TypeResult:
		r.terminal(l.Bytes)
	case wall.TypeExit:
		r.exited(l.Bytes)
	case wall.TypeOpen, wall.TypeData, wall.TypeCredit, wall.TypeClose, wall.TypeTool:
		r.use(kind, l.Bytes)
	case "":
		r.plain(l.Bytes)
	default:
		r.forbidden(kind)
	}
}

func (r *Relay) forbidden(kind string) {
	r.note("the cell sent a line of type " + r.clip(kind) + ", which is not allowed")
}

// use lets the cell use what its call was granted.
func (r *Relay) use(kind string, b []byte) {
	if r.opts.Use == nil {
		r.forbidden(kind)
		return
	}
	if err := r.opts.Use(kind, b); err != nil {
		r.note("the cell sent a line of type " + kind + ": " + err.Error())
	}
}

// up is the runner's first word.
func (r *Relay) up(b []byte) {
	ready, err := wall.DecodeReady(b)
	switch {
	case err != nil:
		r.note("the cell sent a malformed ready line: " + err.Error())
	case ready.Protocol != wall.Protocol:
		r.note(fmt.Sprintf("the cell's runner speaks protocol %d, not %d", ready.Protocol, wall.Protocol))
	case !r.ready:
		r.ready = true
		r.milestones <- Milestone{Ready: true}
	default:
		r.charge(r.cost, 0)
	}
}

// cut handles a line that was too long. A result that does not fit ends the call; anything else is told.
func (r *Relay) cut(l wall.Line) {
	r.counts.Truncated++
	if l.Type == wall.TypeResult && !r.result {
		r.over(BudgetResult)
		return
	}
	r.note(fmt.Sprintf("a line was %d bytes too long and was cut: %s", l.Dropped, r.clip(string(l.Bytes))))
}

func (r *Relay) event(line wall.Parsed) {
	ev, data, err := line.Event()
	if err != nil {
		r.note("the cell sent a malformed event: " + err.Error())
		return
	}
	if r.secrets != nil && ev.Kind != a2e.KindArtifact { // before values within become texts
		ev.Data = r.secrets.json(ev.Data)
		data = wall.Parse(ev.Data)
	}
	e := shaped(ev.Kind, ev.Data, data)
	if ev.Kind != a2e.KindArtifact {
		if r.charge(e.size(), 0) {
			r.put(e)
		}
		return
	}
	size, why := r.artifact(e)
	switch {
	case why != "":
		r.note(why)
	case r.charge(0, size):
		r.put(e)
	}
}

func (r *Relay) terminal(b []byte) {
	res, err := wall.DecodeResult(b)
	switch {
	case err != nil:
		r.note("the cell sent a malformed result: " + err.Error())
	case r.result:
		r.note("the cell sent another result, which was ignored: the first one stands")
	default:
		r.result = true
		r.secrets.result(&res)
		r.milestones <- Milestone{Result: &res}
	}
}

func (r *Relay) exited(b []byte) {
	x, err := wall.DecodeExit(b)
	switch {
	case r.opts.Frames:
		r.note("the cell sent a line of type cell/exit, which is not allowed")
	case err != nil:
		r.note("the runner sent a malformed exit line: " + err.Error())
	case !r.exit:
		r.exit = true
		r.secrets.exit(&x)
		r.milestones <- Milestone{Exit: &x}
	default:
		r.charge(r.cost, 0)
	}
}

// plain is a line that is no frame: the plain output of an image without a runner, or the engine's own noise.
func (r *Relay) plain(b []byte) {
	if r.charge(int64(len(b)), 0) {
		r.put(logEvent("info", string(b)))
	}
}

// note is a warning about the line at hand. The whole line is charged, or a flood of bad lines would be free.
func (r *Relay) note(message string) {
	if r.charge(max(r.cost, int64(len(message))), 0) {
		r.put(logEvent("warn", message))
	}
}

// charge takes from the budgets, and reports whether they hold.
func (r *Relay) charge(output, artifact int64) bool {
	r.events++
	r.output += max(output, 0)
	r.out += artifact
	switch {
	case r.events > mostEvents:
		r.over(BudgetEvents)
	case r.output > r.opts.Output:
		r.over(BudgetOutput)
	case r.out > r.opts.Out:
		r.over(BudgetArtifact)
	default:
		return true
	}
	return false
}

func (r *Relay) over(budget string) {
	r.quiet = true
	r.milestones <- Milestone{Over: budget}
}

// clip quotes the beginning of a text of the cell's.
func (r *Relay) clip(s string) string {
	const most = 120
	s = r.secrets.head(s)
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q…", s[:most])
}
