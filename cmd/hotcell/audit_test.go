package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/store"
)

func TestAuditList(t *testing.T) {
	b := newBench(t, succeed(nil, ""))
	dir := t.TempDir()
	list := func(more ...string) int {
		b.out.Reset()
		b.err.Reset()
		return b.run(append([]string{"audit", "list", "--data-dir", dir}, more...)...)
	}
	if code := list(); code != exitUsage || !strings.Contains(b.err.String(), "there is no journal yet") {
		t.Errorf("without a journal: exit %d, %s", code, b.err.String())
	}
	journal, err := store.Open(context.Background(), store.Options{Path: filepath.Join(dir, "hotcell.db")})
	if err != nil {
		t.Fatal(err)
	}
	accepted := control.Record{Call: control.Call{ID: "01A", ReqID: "r1", Accepted: time.Now(), State: control.Queued}}
	if _, err := journal.Accept(context.Background(), accepted, time.Time{}); err != nil {
		t.Fatal(err)
	}
	journal.Write(audit.Entry{At: time.Unix(1, 0), Call: "01A", Kind: "llm.request", Data: map[string]any{"model": "small\x1b[31m"}})
	journal.Write(audit.Entry{At: time.Unix(2, 0), Call: "01B", Kind: "egress.connect"})
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	if code := list(); code != exitOK || strings.Count(b.out.String(), "\n") != 3 || strings.Contains(b.out.String(), "\x1b[31m") {
		t.Errorf("all: exit %d, %q %s", code, b.out.String(), b.err.String())
	}
	for _, id := range []string{"01A", "r1"} {
		var entries []audit.Entry
		if code := list("--json", "--call", id); code != exitOK || json.Unmarshal(b.out.Bytes(), &entries) != nil || len(entries) != 1 || entries[0].Call != "01A" {
			t.Errorf("of %s: exit %d, %q %s", id, code, b.out.String(), b.err.String())
		}
	}
	if code := list("--call", "01C"); code != exitUsage || !strings.Contains(b.err.String(), `there is no call "01C"`) {
		t.Errorf("of no call: exit %d, %s", code, b.err.String())
	}
}
