package store

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkCall is what a call costs the journal: its acceptance and its end, each committed.
func BenchmarkCall(b *testing.B) {
	for _, sync := range []string{"off", "normal", "full"} {
		b.Run(sync, func(b *testing.B) {
			s := opened(b, Options{Sync: sync})
			for n := 0; b.Loop(); n++ {
				r := taken(fmt.Sprintf("c%d", n), fmt.Sprintf("r%d", n))
				accept(b, s, r)
				end(b, s, answered(r, "fine"))
			}
		})
	}
}

// BenchmarkAccept is what a call waits for before anything that depends on it is done.
func BenchmarkAccept(b *testing.B) {
	s := opened(b, Options{})
	for n := 0; b.Loop(); n++ {
		accept(b, s, taken(fmt.Sprintf("c%d", n), fmt.Sprintf("r%d", n)))
	}
}

// BenchmarkOpen is opening a journal that is there already, as every command does.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "hotcell.db")
	for b.Loop() {
		s, err := openAt(context.Background(), Options{Path: path, Keep: Keep{Events: time.Hour}})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSay is one event of a skill that floods.
func BenchmarkSay(b *testing.B) {
	s := opened(b, Options{})
	accept(b, s, taken("c1", "r1"))
	event := json.RawMessage(`{"type":"skill/event","id":"5898a8e6fa794bf988380a4db7eb1527","version":"1.0","ts":1796020629.211,"kind":"log","req_id":"r1","data":{"level":"info","message":"a line of a log as long as most"},"seq":1}`)
	n := 0
	for b.Loop() {
		s.Say("c1", n, false, event)
		if n++; n%10000 == 0 {
			flush(b, s)
		}
	}
	flush(b, s)
}

// BenchmarkCallsAtOnce is what a call costs where many come at once and share transactions.
func BenchmarkCallsAtOnce(b *testing.B) {
	s := opened(b, Options{})
	var n atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := n.Add(1)
			r := taken(fmt.Sprintf("c%d", i), fmt.Sprintf("r%d", i))
			accept(b, s, r)
			end(b, s, answered(r, "fine"))
		}
	})
}
