package doors

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// call is one call of the catalogue.
type call struct {
	Skill  string         `json:"skill"`
	Args   map[string]any `json:"args"`
	ID     string         `json:"id,omitempty"`     // of the request; "": the client makes one
	Cancel bool           `json:"cancel,omitempty"` // by its caller, once it has said something
	Files  bool           `json:"files,omitempty"`  // the caller wants its artifacts

	said int // how many messages of progress there are to wait for
}

// outcome is what a caller got, as each door tells it.
type outcome struct {
	Code   string            `json:"code"`   // "" for success
	Reason string            `json:"reason"` // detail.reason
	Data   any               `json:"data"`
	Said   []string          `json:"said"`  // the messages of its progress, in order
	Files  map[string]string `json:"files"` // digests of its artifacts, by name
}

// caller calls through one door.
type caller func(ctx context.Context, c call) (outcome, error)

// door is a column of the table.
type door struct {
	name  string
	needs string // a part for [testutil.Require]; "": none
	open  func(t *testing.T, d *daemon) caller
	quiet bool              // it gives no events
	none  map[string]string // rows that it has no way to say, and why
}

// row is a call and its outcome, whatever the door.
type row struct {
	name string
	call call
	want outcome
}

func rows() []row {
	text := map[string]any{"text": "a", "n": 42.0}
	unicode := map[string]any{"text": "grüße 日本語 🚀 \u202e \\ \" </script> \u2028 \u0007 e\u0301"}
	return []row{
		{"success", call{Skill: "echo", Args: text}, outcome{Data: text}},
		{"unicode", call{Skill: "echo", Args: unicode}, outcome{Data: unicode}},
		{"streaming", call{Skill: "talk"}, outcome{Data: "said", Said: []string{"one", "zwei ü", "三 🚀"}}},
		{"artifacts", call{Skill: "files", Files: true}, outcome{Data: "written", Files: artifacts()}},
		{"unknown_skill", call{Skill: "no-such-skill"}, outcome{Code: "unknown_skill"}},
		{"unauthorized", call{Skill: "secret", Args: text}, outcome{Code: "unauthorized"}},
		{"schema_violation", call{Skill: "echo", Args: map[string]any{"text": 7}}, outcome{Code: "schema_violation"}},
		{"skill_error", call{Skill: "fail"}, outcome{Code: "skill_error"}},
		{"skill_error by exit", call{Skill: "exit"}, outcome{Code: "skill_error", Reason: "exit"}},
		{"skill_error by flood", call{Skill: "flood"}, outcome{Code: "skill_error", Reason: "output_limit"}},
		{"runtime_error", call{Skill: "nowhere", Args: text}, outcome{Code: "runtime_error", Reason: "image_unavailable"}},
		{"timeout", call{Skill: "nap-briefly"}, outcome{Code: "timeout"}}, // on a busy machine it may not have said anything by then
		{"out_of_memory", call{Skill: "greedy"}, outcome{Code: "out_of_memory"}},
		{"sandbox_crash", call{Skill: "die"}, outcome{Code: "sandbox_crash", Reason: "signal"}},
		{"cancel", call{Skill: "nap", Cancel: true}, outcome{Code: "runtime_error", Reason: "cancelled", Said: []string{"asleep"}}},
	}
}

// patience bounds one call, queue included, on a machine that is busy with other tests.
const patience = 3 * time.Minute

// TestEveryCallThroughEveryDoor: the doors differ in how they say it, and in nothing else.
func TestEveryCallThroughEveryDoor(t *testing.T) {
	d := start(t)
	for _, column := range doorsOf() {
		t.Run(column.name, func(t *testing.T) {
			t.Parallel()
			if column.needs != "" {
				testutil.Require(t, column.needs)
			}
			through := column.open(t, d)
			for _, r := range rows() {
				if column.none[r.name] != "" {
					continue
				}
				t.Run(r.name, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					r.call.said = len(r.want.Said)
					got, err := through(ctx, r.call)
					if err != nil {
						t.Fatal(err)
					}
					want := r.want
					if column.quiet {
						want.Said = nil
					}
					if want.Code == "timeout" {
						got.Said = nil
					}
					if d := cmp.Diff(want, plain(got), cmpopts.EquateEmpty()); d != "" {
						t.Errorf("(-want +got):\n%s", d)
					}
				})
			}
			if column.none[reused] == "" {
				t.Run(reused, func(t *testing.T) { twice(t, through) })
			}
			t.Run("100 in parallel", func(t *testing.T) { crowd(t, through) })
		})
	}
}

// reused is the row of a request id that comes again with other arguments.
const reused = "invalid_message"

func twice(t *testing.T, through caller) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	id := a2e.NewID()
	for _, tt := range []struct {
		text string
		want outcome
	}{
		{"once", outcome{Data: map[string]any{"text": "once"}}},
		{"once", outcome{Data: map[string]any{"text": "once"}}}, // the same request: the same answer
		{"other", outcome{Code: "invalid_message", Reason: "duplicate_id"}},
	} {
		got, err := through(ctx, call{Skill: "echo", ID: id, Args: map[string]any{"text": tt.text}})
		if d := cmp.Diff(tt.want, plain(got), cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.text, err, d)
		}
	}
}

// ownProcess are the rows that a process has not which its client starts itself.
func ownProcess() map[string]string {
	return map[string]string{"unauthorized": "whoever starts the process is its operator: nobody is asked who calls"}
}

// plain makes the data what it is in JSON.
func plain(o outcome) outcome {
	b, err := json.Marshal(o.Data)
	if err != nil {
		o.Data = err.Error()
		return o
	}
	o.Data = nil
	_ = json.Unmarshal(b, &o.Data)
	return o
}

// crowd makes a hundred calls at once, each of which gets its own answer. They need no cell: a hundred of those would take
// longer than all else here.
func crowd(t *testing.T, through caller) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var group sync.WaitGroup
	for i := range crowdSize {
		group.Go(func() {
			path := page(i)
			got, err := through(ctx, call{Skill: "skill", Args: map[string]any{"name": "book", "filename": path}})
			want := outcome{Data: map[string]any{"name": "book", "path": path, "content": content(i), "bytes": float64(len(content(i)))}}
			if d := cmp.Diff(want, plain(got), cmpopts.EquateEmpty()); err != nil || d != "" {
				t.Errorf("%d: %v (-want +got):\n%s", i, err, d)
			}
		})
	}
	group.Wait()
}
