package relay

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
)

// BenchmarkRelay is a line of a cell that floods, from its bytes to its event.
func BenchmarkRelay(b *testing.B) {
	for name, size := range map[string]int{"100": 100, "1Ki": 1 << 10, "64Ki": 64 << 10} {
		b.Run(name, func(b *testing.B) {
			const head, foot = `{"type":"skill/event","kind":"log","data":{"level":"info","message":"`, "\"}}\n"
			line := head + strings.Repeat("x", size-len(head)-len(foot)) + foot
			b.SetBytes(int64(size))
			for n := 0; n < b.N; n += 10_000 {
				flood(b, line, min(b.N-n, 10_000))
			}
		})
	}
}

func flood(b *testing.B, line string, times int) {
	got := 0
	r := New(Options{ReqID: "r", Output: 1 << 40, Deliver: func(context.Context, *a2e.Event) { got++ }})
	var work sync.WaitGroup
	work.Go(func() { r.Deliver(b.Context()) })
	r.Read(io.LimitReader(&endless{line: line}, int64(len(line)*times)))
	r.Close()
	work.Wait()
	if got != times {
		b.Fatalf("%d events of %d", got, times)
	}
}

// endless says one line again and again.
type endless struct {
	line string
	at   int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		m := copy(p[n:], e.line[e.at:])
		n, e.at = n+m, (e.at+m)%len(e.line)
	}
	return n, nil
}
