package store

import (
	"context"
	"fmt"
	"path/filepath"
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

// BenchmarkOpen is opening a journal that is there already, as every command does.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "hotcell.db")
	for b.Loop() {
		s, err := Open(context.Background(), Options{Path: path, Keep: Keep{Events: time.Hour}})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
