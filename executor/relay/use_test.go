package relay

import (
	"errors"
	"strings"
	"testing"
)

// Lines by which a cell uses its grants are handed on and are no events; those that are refused are told and charged.
func TestUse(t *testing.T) {
	lines := strings.Join([]string{
		`{"type":"cell/open","id":1,"port":"a"}`,
		`{"type":"cell/data","id":1,"data":"aGk="}`,
		`{"type":"cell/tool","id":"1","name":"x"}`,
		`{"type":"cell/close","id":1}`,
		`{"type":"cell/lease"}`,
		`{"type":"skill/event","kind":"log","data":{"message":"between"}}`,
	}, "\n") + "\n"
	var used []string
	got := relayed(t, Options{Use: func(kind string, line []byte) error {
		used = append(used, kind+" "+string(line))
		if kind == "cell/tool" {
			return errors.New("not allowed: no tools")
		}
		return nil
	}}, strings.NewReader(lines))
	if len(used) != 4 || !strings.HasPrefix(used[1], `cell/data {"type":"cell/data"`) {
		t.Errorf("used %q", used)
	}
	want := []string{
		"log the cell sent a line of type cell/tool: not allowed: no tools",
		`log the cell sent a line of type "cell/lease", which is not allowed`,
		"log between",
	}
	if messages := got.messages(); strings.Join(messages, "\n") != strings.Join(want, "\n") {
		t.Errorf("events %q, want %q", messages, want)
	}

	got = relayed(t, Options{}, strings.NewReader(lines))
	if messages := got.messages(); len(messages) != 6 || !strings.Contains(messages[0], `"cell/open", which is not allowed`) {
		t.Errorf("events of a call without grants: %q", messages)
	}
}

func TestUseCostsNothingUnlessItIsRefused(t *testing.T) {
	flood := strings.Repeat(`{"type":"cell/data","id":1,"data":"aGVsbG8="}`+"\n", 1000)
	over := func(m Milestone) bool { return m.Over == BudgetOutput }
	got := relayed(t, Options{Output: 4096, Use: func(string, []byte) error { return nil }}, strings.NewReader(flood))
	if got.milestone(over) != nil || len(got.events) != 0 {
		t.Errorf("a stream was charged: %d events", len(got.events))
	}
	got = relayed(t, Options{Output: 4096, Use: func(string, []byte) error { return errors.New("no") }}, strings.NewReader(flood))
	if got.milestone(over) == nil {
		t.Error("a flood of refused lines was free")
	}
}
