package images

import (
	"path/filepath"
	"testing"
	"time"
)

// What can't be noted for hours is in use meanwhile: once it is noted, its last use is that of then, and not when it was pulled.
func TestLedgerOwesUses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pulled.json")
	l := OpenLedger(path, "here")
	t.Cleanup(l.Close)
	pulled := time.Now().Add(-5 * time.Hour).UTC()
	l.owed = map[string]Entry{sum("1"): {Ref: "team/x:1", On: "here", Pulled: pulled, Used: pulled}}
	l.set(sum("1"), pulled)
	l.refresh()
	if !l.use(sum("1")) {
		t.Fatal("a use after hours need not be noted")
	}
	if err := l.note(t.Context(), sum("1")); err != nil {
		t.Fatal(err)
	}
	if e := noted(t, l); time.Since(e.Used) > time.Hour || !e.Pulled.Equal(pulled) {
		t.Errorf("%+v", e)
	}
	later := time.Now().Add(time.Minute).UTC()
	err := l.file.change(t.Context(), func(all *entries) (bool, error) { // another process uses it
		e := all.Images[sum("1")]
		e.Used = later
		all.Images[sum("1")] = e
		return true, nil
	})
	l.owe(sum("1"), Entry{Ref: "team/x:1", On: "here", Pulled: pulled, Used: pulled})
	if e := noted(t, l); err != nil || !e.Used.Equal(later) {
		t.Errorf("%+v, %v: what another process said is lost", e, err)
	}
}

func noted(t *testing.T, l *Ledger) Entry {
	t.Helper()
	all, err := l.Entries()
	if err != nil {
		t.Fatal(err)
	}
	return all[sum("1")]
}
