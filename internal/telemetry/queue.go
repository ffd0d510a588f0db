package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Bounds on what waits to be exported.
const (
	queueLen    = 4096             // spans
	batchLen    = 512              // spans of one request
	batchWait   = 2 * time.Second  // that a span waits for others
	exportLimit = 20 * time.Second // of one batch, with all its tries
	flushLimit  = 5 * time.Second  // of all that is left at the end
	tellEvery   = time.Minute
)

// queue exports spans in the background. It never holds up who ends one: what does not fit is dropped and counted.
type queue struct {
	out   sdktrace.SpanExporter
	log   *slog.Logger
	hide  []string      // values that no error may repeat
	flush time.Duration // for all that is left at the end
	spans chan sdktrace.ReadOnlySpan

	lost  atomic.Int64 // that were not told yet
	total atomic.Int64

	life    context.Context // of the requests
	end     context.CancelFunc
	closing chan struct{}
	once    sync.Once
	work    sync.WaitGroup

	told  time.Time // the worker's, like why
	why   error
	batch []sdktrace.ReadOnlySpan
}

func newQueue(out sdktrace.SpanExporter, log *slog.Logger, hide []string, flush time.Duration) *queue {
	q := &queue{out: out, log: log, hide: hide, flush: flush, spans: make(chan sdktrace.ReadOnlySpan, queueLen), closing: make(chan struct{})}
	q.life, q.end = context.WithCancel(context.Background())
	q.work.Go(q.run)
	return q
}

// OnStart implements [sdktrace.SpanProcessor].
func (q *queue) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements [sdktrace.SpanProcessor].
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	select {
	case q.spans <- s:
	default:
		q.lose(1)
	}
}

func (q *queue) lose(n int) {
	q.lost.Add(int64(n))
	q.total.Add(int64(n))
}

// ForceFlush implements [sdktrace.SpanProcessor]; nobody asks for it.
func (q *queue) ForceFlush(context.Context) error { return nil }

// Shutdown implements [sdktrace.SpanProcessor]: it exports what is left, as far as ctx and a bound of its own allow.
func (q *queue) Shutdown(ctx context.Context) error {
	q.once.Do(func() {
		limit := time.AfterFunc(q.flush, q.end)
		defer limit.Stop()
		defer context.AfterFunc(ctx, q.end)()
		close(q.closing)
		q.work.Wait()
		q.end()
	})
	return q.out.Shutdown(ctx)
}

// run collects batches and exports them.
func (q *queue) run() {
	q.batch = make([]sdktrace.ReadOnlySpan, 0, batchLen)
	tick := time.NewTicker(batchWait)
	defer tick.Stop()
	for {
		select {
		case s := <-q.spans:
			if q.batch = append(q.batch, s); len(q.batch) == batchLen {
				q.export()
			}
		case <-tick.C:
			q.export()
			q.tell(false)
		case <-q.closing:
			q.drain()
			return
		}
	}
}

// drain exports what is there, and counts as lost what can't be.
func (q *queue) drain() {
	for {
		select {
		case s := <-q.spans:
			if q.batch = append(q.batch, s); len(q.batch) == batchLen {
				q.export()
			}
		default:
			q.export()
			q.tell(true)
			return
		}
	}
}

func (q *queue) export() {
	if len(q.batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(q.life, exportLimit)
	defer cancel()
	err := ctx.Err()
	if err == nil {
		err = q.out.ExportSpans(ctx, q.batch)
	}
	if err != nil {
		q.why = err
		q.lose(len(q.batch))
	}
	clear(q.batch)
	q.batch = q.batch[:0]
}

// tell says in the log how much was lost since the last time, and why.
func (q *queue) tell(last bool) {
	if !last && time.Since(q.told) < tellEvery {
		return
	}
	n := q.lost.Swap(0)
	if n == 0 {
		return
	}
	q.told = time.Now()
	why := "they come faster than the collector takes them"
	if q.why != nil {
		why = q.redacted(q.why)
	}
	q.why = nil
	q.log.Warn("spans of traces were lost: calls are not affected", "spans", n, "lost_in_all", q.total.Load(), "error", why)
}

// redacted is an error in a few words, without the values of headers, which a collector may repeat.
func (q *queue) redacted(err error) string {
	const most = 300
	text := err.Error()
	for _, v := range q.hide {
		text = strings.ReplaceAll(text, v, "[redacted]")
	}
	if len(text) > most {
		text = fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
	}
	return text
}
