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
	accepted := control.Record{Call: control.Call{ID: "01A", ReqID: "r1", Skill: "asker", Accepted: time.Now(), State: control.Queued}}
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
		if code := list("--json", "--call", id); code != exitOK || json.Unmarshal(b.out.Bytes(), &entries) != nil || len(entries) != 1 || entries[0].Call != "01A" || entries[0].Skill != "asker" {
			t.Errorf("of %s: exit %d, %q %s", id, code, b.out.String(), b.err.String())
		}
	}
	if code := list("--limit", "1"); code != exitOK || strings.Count(b.out.String(), "\n") != 2 || !strings.Contains(b.out.String(), "egress.connect") {
		t.Errorf("the newest: exit %d, %q %s", code, b.out.String(), b.err.String())
	}
	if code := list("--limit", "-1"); code != exitUsage {
		t.Errorf("a negative limit: exit %d", code)
	}
	if code := list("--call", "01C"); code != exitUsage || !strings.Contains(b.err.String(), `there is no call "01C"`) {
		t.Errorf("of no call: exit %d, %s", code, b.err.String())
	}
}

// A line says the most important first, and nothing of it is lost.
func TestAuditText(t *testing.T) {
	for _, tt := range []struct{ kind, data, want string }{
		{"llm.request", `{"provider":"p","model":"m","status":200,"tokens_in":9,"tokens_out":1,"cost":0.0000215,"ms":3,"bytes":7}`, "p/m, 200, 9 + 1 tokens, cost 0.0000215, 3 ms"},
		{"llm.request", `{"provider":"p","model":"m","status":200,"tokens_in":1500000,"tokens_out":1,"estimated":true,"ms":3}`, "p/m, 200, 1500000 + 1 tokens, estimated, 3 ms"},
		{"llm.request", `{"provider":"p","model":"","status":403,"reason":"model","tokens_in":0,"tokens_out":0,"ms":0}`, "p/?, 403, model, 0 ms"},
		{"llm.request", `{"provider":"p","model":"m","status":502,"reason":"provider","error":"no such host","ms":2}`, "p/m, 502, provider, no such host, 2 ms"},
		{"egress.connect", `{"host":"a.example","port":443,"verdict":"refused","reason":"no","bytes_in":0,"bytes_out":5}`, "a.example:443, refused, no, 0 B in, 5 B out"},
		{"tool.call", `{"tool":"time","code":"ok","bytes":144,"ms":0}`, "time, ok, 144 B, 0 ms"},
		{"call.end", `{"code":"ok","driver":"kubernetes","confidence":"engine","unenforced":["seccomp","network"]}`, "ok, kubernetes, engine, unenforced seccomp network"},
		{"agent.turn", `{"turn":1}`, `{"turn":1}`},
		{"tool.call", `{"dropped":"why"}`, `{"dropped":"why"}`},
	} {
		if got := auditText(control.AuditRow{Kind: tt.kind, Data: json.RawMessage(tt.data)}); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.data, got, tt.want)
		}
	}
}
