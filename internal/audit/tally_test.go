package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
)

type kept []audit.Entry

func (k *kept) Write(e audit.Entry) { *k = append(*k, e) }

// What calls use is counted for each, between Open and Close, and all of it is passed on.
func TestTally(t *testing.T) {
	next := &kept{}
	tally := audit.NewTally(next)
	tally.Open("a")
	tally.Open("b")
	for _, e := range []audit.Entry{
		{Call: "a", Kind: "llm.request", Data: map[string]any{"provider": "p", "tokens_in": int64(9), "tokens_out": 2}},
		{Call: "a", Kind: "llm.request", Data: map[string]any{"provider": "p", "reason": "budget", "status": 429, "tokens_in": 1.0, "tokens_out": json.Number("3")}},
		{Call: "a", Kind: "tool.call", Data: map[string]any{"tool": "time", "code": "ok"}},
		{Call: "a", Kind: "llm.request", Data: map[string]any{"provider": "p", "status": 500}},
		{Call: "a", Kind: "tool.call", Data: map[string]any{"tool": "time", "code": "permission_denied"}},
		{Call: "a", Kind: "tool.call", Data: map[string]any{"tool": "time", "code": "tool_execution_failure"}},
		{Call: "a", Kind: "egress.connect", Data: map[string]any{"host": "h", "port": 443, "verdict": "connected", "reason": "bytes"}},
		{Call: "a", Kind: "egress.connect", Data: map[string]any{"host": "h", "port": 443, "verdict": "refused", "reason": "policy"}},
		{Call: "a", Kind: "egress.connect", Data: map[string]any{"host": "h", "port": 443, "verdict": "failed", "reason": "unreachable"}},
		{Call: "a", Kind: "agent.turn", Data: map[string]any{"text": "x"}},
		{Call: "c", Kind: "tool.call", Data: map[string]any{"tool": "time"}},
	} {
		tally.Write(e)
	}
	want := &control.Uses{
		Providers: map[string]int{"p": 3}, Tools: map[string]int{"time": 3}, Hosts: map[string]int{"h:443": 3}, Refused: 3, Failed: 3, TokensIn: 10, TokensOut: 5,
	}
	if d := cmp.Diff(want, tally.Close("a")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, call := range []string{"a", "b", "c"} {
		if u := tally.Close(call); u != nil {
			t.Errorf("%s: %v", call, u)
		}
	}
	tally.Write(audit.Entry{Call: "a", Kind: "tool.call"}) // too late to be counted
	if u := tally.Close("a"); u != nil || len(*next) != 12 {
		t.Errorf("%v, %d passed on", u, len(*next))
	}
}

// A skill that makes up names makes no row large, whatever they are made of: its row would be dropped.
func TestTallyIsBounded(t *testing.T) {
	tally := audit.NewTally(audit.Nobody)
	for filler, apart := range map[string]int{"x": 30, "\x01": 5, "": 64} {
		tally.Open("a")
		for i := range 1000 {
			name := fmt.Sprint(i, strings.Repeat(filler, 10_000))
			tally.Write(audit.Entry{Call: "a", Kind: "tool.call", Data: map[string]any{"tool": name, "code": "ok"}})
			tally.Write(audit.Entry{Call: "a", Kind: "egress.connect", Data: map[string]any{"host": name, "port": 1}})
		}
		u := tally.Close("a")
		b, err := json.Marshal(u)
		if err != nil || len(b) > 10<<10 {
			t.Errorf("%q: %d bytes, %v", filler, len(b), err)
		}
		if n := len(u.Tools) + len(u.Hosts); n < apart || u.Tools["other"]+len(u.Tools)-1 != 1000 || u.Hosts["other"]+len(u.Hosts)-1 != 1000 {
			t.Errorf("%q: %d names are told apart, %d and %d are others", filler, n, u.Tools["other"], u.Hosts["other"])
		}
	}
}

// Whatever is changed in a row changes its hash, and no two fields can trade bytes.
func TestHashCoversEveryField(t *testing.T) {
	base := control.AuditRow{N: 1, Kind: "k", Call: "c", Principal: "p", Agent: "a", Door: "d", Skill: "s", Data: []byte("{}"), Prev: control.Sum{1}}
	seen := map[string]bool{audit.Hash(&base).String(): true}
	for i, change := range []func(r *control.AuditRow){
		func(r *control.AuditRow) { r.N++ }, func(r *control.AuditRow) { r.At = r.At.Add(1000) }, func(r *control.AuditRow) { r.Kind = "x" },
		func(r *control.AuditRow) { r.Call = "x" }, func(r *control.AuditRow) { r.Principal = "x" }, func(r *control.AuditRow) { r.Agent = "x" },
		func(r *control.AuditRow) { r.Door = "x" }, func(r *control.AuditRow) { r.Skill = "x" }, func(r *control.AuditRow) { r.Data = []byte("{x}") },
		func(r *control.AuditRow) { r.Prev = control.Sum{2} }, func(r *control.AuditRow) { r.Principal, r.Agent = "pa", "" },
		func(r *control.AuditRow) { r.Principal, r.Agent = "", "pa" },
	} {
		r := base
		change(&r)
		if h := audit.Hash(&r).String(); seen[h] {
			t.Errorf("change %d is not covered", i)
		} else {
			seen[h] = true
		}
	}
}

// A key is never printed.
func TestKeysAreNotPrinted(t *testing.T) {
	secret := []byte(strings.Repeat("k", audit.KeyBytes))
	key := audit.NewKey(secret)
	if s := fmt.Sprintf("%v %+v %#v %s", key, key, key, key); strings.Contains(s, "kkk") || strings.Contains(s, "107") {
		t.Error(s)
	}
	if !audit.NewKey(secret[1:]).None() || audit.NewKey(nil).String() != "none" {
		t.Error("a short key is one")
	}
}

// A row's texts are such that an export of it has its hash.
func TestTextsKeepTheirHash(t *testing.T) {
	r := control.AuditRow{Kind: audit.CallEnd, Principal: "\xff\xfe", Skill: strings.Repeat("x", 255) + "\xc3\xa9", Data: []byte(`{}`)}
	audit.Link(&r, control.AuditHead{}, audit.Key{})
	text, err := json.Marshal(&r)
	var again control.AuditRow
	if err := errors.Join(err, json.Unmarshal(text, &again)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(audit.Hash(&again), r.Hash) {
		t.Errorf("the hash of %s is %v", text, audit.Hash(&again))
	}
}

// What callers choose is in a row as an export has it: otherwise that would look edited.
func TestTextsSurviveAnExport(t *testing.T) {
	for _, s := range []string{"plain", "\xff\xfe", strings.Repeat("\xff", 300), strings.Repeat("é", 200)} {
		text := audit.Text(s)
		b, err := json.Marshal(text)
		var back string
		if err != nil || json.Unmarshal(b, &back) != nil || back != text || len(text) > 260 {
			t.Errorf("%q became %q and %q, %v", s, text, back, err)
		}
	}
}
