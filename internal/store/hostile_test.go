package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
)

// No caller and no cell makes a row about a call so long that it is dropped.
func TestNobodyCrowdsOutARow(t *testing.T) {
	s := opened(t, Options{Now: func() time.Time { return start }})
	worst := strings.Repeat("\x01", 1000) // six bytes each, as JSON
	r := taken("01A", worst)
	accept(t, s, r)
	tally := audit.NewTally(s)
	tally.Open(r.ID)
	for i := range 200 {
		tally.Write(audit.Entry{Call: r.ID, Kind: "tool.call", Data: map[string]any{"tool": fmt.Sprint(i, worst[:80])}})
		tally.Write(audit.Entry{Call: r.ID, Kind: "egress.connect", Data: map[string]any{"host": fmt.Sprint(i, strings.Repeat("x", 250)), "port": 1}})
	}
	flush(t, s)
	text, groups := audit.Text(worst), make([]string, 16)
	for i := range groups {
		groups[i] = strings.Repeat("g", 256)
	}
	r = answered(r, "done")
	r.Account = &control.Account{Uses: tally.Close(r.ID), Groups: groups, Correlation: text, Version: text, Ref: text, Pinned: text, Image: "sha256:7"}
	end(t, s, r)
	all, err := s.AuditRows(t.Context(), control.AuditQuery{})
	if err != nil || len(all) != 1 || !strings.Contains(string(all[0].Data), `"image":"sha256:7"`) || !strings.Contains(string(all[0].Data), `"used":{"rows":400,`) {
		t.Errorf("%.300v, %v", all, err)
	}
}
