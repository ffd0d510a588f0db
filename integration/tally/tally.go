package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is a line of go test -json. Test is empty for what concerns a whole package.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

type tally struct {
	out                     io.Writer
	passed, failed, skipped int

	pending map[string]map[string]*strings.Builder // by package and test: output of tests that have not ended
	broken  map[string]bool                        // packages in which a test has failed
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, pending: map[string]map[string]*strings.Builder{}, broken: map[string]bool{}}
}

// String is the closing line.
func (t *tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
}

// read takes events until the end of r. Lines that are no events are printed as they are.
func (t *tally) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var ev event
		if json.Unmarshal(line, &ev) == nil && ev.Action != "" {
			t.take(ev)
		} else {
			_, _ = t.out.Write(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tally) take(ev event) {
	switch ev.Action {
	case "build-output":
		fmt.Fprint(t.out, ev.Output)
	case "output":
		t.output(ev)
	case "pass", "fail", "skip":
		if ev.Test == "" {
			t.endPackage(ev)
		} else {
			t.endTest(ev)
		}
	}
}

func (t *tally) output(ev event) {
	switch {
	case ev.Test == "":
		if ev.Output != "PASS\n" && ev.Output != "FAIL\n" {
			fmt.Fprint(t.out, ev.Output)
		}
	case !strings.HasPrefix(ev.Output, "=== "):
		tests := t.pending[ev.Package]
		if tests == nil {
			tests = map[string]*strings.Builder{}
			t.pending[ev.Package] = tests
		}
		if tests[ev.Test] == nil {
			tests[ev.Test] = &strings.Builder{}
		}
		tests[ev.Test].WriteString(ev.Output)
	}
}

func (t *tally) endTest(ev event) {
	text := t.pending[ev.Package][ev.Test]
	delete(t.pending[ev.Package], ev.Test)
	switch ev.Action {
	case "pass":
		t.passed++
		return
	case "fail":
		t.failed++
		t.broken[ev.Package] = true
	case "skip":
		t.skipped++
	}
	if text != nil {
		fmt.Fprint(t.out, text)
	}
}

// endPackage counts a failure that no test of the package accounts for, and shows what its tests said that never ended:
// that is where a panic or a time-out is told.
func (t *tally) endPackage(ev event) {
	left := t.pending[ev.Package]
	delete(t.pending, ev.Package)
	if ev.Action != "fail" {
		return
	}
	for _, test := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprint(t.out, left[test])
	}
	if !t.broken[ev.Package] {
		t.failed++
	}
}
