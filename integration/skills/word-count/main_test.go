package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const call = `{"type":"skill/call/req","id":"a","name":"word-count","arguments":{"text":"The cat and the dog.\nDon't!","top":2}}` + "\n"

func TestRunAnswersOneCall(t *testing.T) {
	var out bytes.Buffer
	in := "not json\n" + `{"type":"cell/lease","secrets":{}}` + "\n" + call + `{"type":"cell/later"}` + "\n" + `{"type":"cell/done"}` + "\nrest"
	if err := run(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	got := decode(t, out.Bytes())
	if len(got) != 12 || got[0]["type"] != "cell/ready" {
		t.Fatalf("lines = %v, want ready, ten events and a result", got)
	}
	for i, ev := range got[1:11] {
		want := map[string]any{"type": "skill/event", "kind": "progress", "data": map[string]any{"pct": float64(10 * (i + 1)), "message": "Counting words"}}
		if diff := cmp.Diff(want, ev); diff != "" {
			t.Errorf("event %d (-want +got):\n%s", i, diff)
		}
	}
	want := map[string]any{
		"type": "skill/result", "success": true, "summary": "6 words in 2 lines",
		"data": map[string]any{"words": 6.0, "lines": 2.0, "characters": 27.0, "top": []any{
			map[string]any{"word": "the", "count": 2.0}, map[string]any{"word": "and", "count": 1.0},
		}},
	}
	if diff := cmp.Diff(want, got[11]); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestRunStaysUntilItIsDone(t *testing.T) {
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(in, out) }()
	go func() { _, _ = io.WriteString(feed, call) }()
	dec := json.NewDecoder(answers)
	for line := (map[string]any{}); line["type"] != "skill/result"; {
		clear(line)
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
	}
	read := make(chan error, 1)
	go func() { _, err := io.WriteString(feed, `{"type":"cell/later"}`+"\n"); read <- err }()
	select {
	case err := <-ended:
		t.Fatalf("it ended before cell/done: %v", err)
	case err := <-read:
		if err != nil {
			t.Fatal(err)
		}
	}
	feed.Close()
	if err := <-ended; err != nil {
		t.Errorf("the end of the input after the result: %v", err)
	}
}

func TestRunFails(t *testing.T) {
	tests := []struct {
		name, in, want string
	}{
		{name: "no request", in: `{"type":"cell/done"}` + "\n", want: "no skill/call/req: EOF"},
		{name: "too long a line", in: strings.Repeat("x", maxLine+1), want: "standard input: bufio.Scanner: token too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := run(strings.NewReader(tt.in), io.Discard); err == nil || err.Error() != tt.want {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
	broken := errors.New("broken")
	if err := run(strings.NewReader(call), writer(func([]byte) (int, error) { return 0, broken })); !errors.Is(err, broken) {
		t.Errorf("error = %v, want the writer's", err)
	}
}

func TestBadArguments(t *testing.T) {
	got := answer([]byte(`{"type":"skill/call/req","arguments":{"text":7}}`), func(int, string) {})
	if got.Success || got.ErrorCode != "bad_arguments" || !strings.Contains(got.Error, "text") {
		t.Errorf("result = %+v", got)
	}
}

func TestCount(t *testing.T) {
	tests := []struct {
		text string
		top  int
		want counts
	}{
		{text: "", top: 5, want: counts{Top: []frequent{}}},
		{text: "é\n\n", top: 1, want: counts{Words: 1, Lines: 2, Characters: 3, Top: []frequent{{"é", 1}}}},
		{text: "b a B", top: -1, want: counts{Words: 3, Lines: 1, Characters: 5, Top: []frequent{}}},
	}
	for _, tt := range tests {
		got := count(tt.text, tt.top, func(int, string) {})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func decode(t *testing.T, out []byte) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range bytes.Lines(out) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, m)
	}
	return all
}
