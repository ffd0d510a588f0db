package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/store"
)

// BenchmarkAuditExport is `hotcell audit export` of 100,000 rows into a file.
func BenchmarkAuditExport(b *testing.B) {
	const writers, each = 50, 2000
	dir := b.TempDir()
	journal, err := store.Open(context.Background(), store.Options{Path: filepath.Join(dir, "hotcell.db"), Key: filepath.Join(dir, "audit.key"), Sync: "off"})
	if err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			data := map[string]any{"bundle": strings.Repeat("b", 64), "image": strings.Repeat("i", 64), "policy": strings.Repeat("p", 64), "text": strings.Repeat("t", 500)}
			for range each {
				if err := journal.Record(context.Background(), audit.Entry{Kind: audit.BundleInstall, Skill: "word-count", Data: data}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if err := journal.Close(); err != nil {
		b.Fatal(err)
	}
	out := filepath.Join(dir, "x.ndjson")
	for b.Loop() {
		bench := newBench(b, succeed(nil, ""))
		if code := bench.run("audit", "export", "--output", out, "--data-dir", dir); code != exitOK {
			b.Fatal(bench.err.String())
		}
		if err := os.Remove(out); err != nil {
			b.Fatal(err)
		}
	}
}
