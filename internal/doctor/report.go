package doctor

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Level is how a check came out.
type Level string

// The levels. A skipped check could not be made, which is not good.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Fail Level = "fail"
	Skip Level = "skip"
)

// Mark returns the level's sign: ✓ ! ✗ and – for what was skipped.
func (l Level) Mark() string {
	switch l {
	case OK:
		return "✓"
	case Warn:
		return "!"
	case Fail:
		return "✗"
	case Skip:
	}
	return "–"
}

// Check is one thing that was looked at. Found and Hint are clean texts on one line.
type Check struct {
	ID    string `json:"id"`
	Level Level  `json:"level"`
	Found string `json:"found"`
	Hint  string `json:"hint"` // what to do, "" where nothing has to be done
}

// Report is the result of an examination. OK is false when a check failed.
type Report struct {
	OK     bool    `json:"ok"`
	Checks []Check `json:"checks"`
}

// Check returns the check with that id, nil where there is none.
func (r *Report) Check(id string) *Check {
	for i := range r.Checks {
		if r.Checks[i].ID == id {
			return &r.Checks[i]
		}
	}
	return nil
}

// count returns how many checks came out at a level.
func (r *Report) count(level Level) int {
	n := 0
	for _, c := range r.Checks {
		if c.Level == level {
			n++
		}
	}
	return n
}

// Print writes one line for each check, and one with the sum. paint gives a text the look of a level; nil leaves it plain.
func (r *Report) Print(w io.Writer, paint func(Level, string) string) error {
	if paint == nil {
		paint = func(_ Level, text string) string { return text }
	}
	widest := 0
	for _, c := range r.Checks {
		widest = max(widest, len(c.ID))
	}
	for _, c := range r.Checks {
		line := fmt.Sprintf("%s %-*s  %s", paint(c.Level, c.Level.Mark()), widest, c.ID, c.Found)
		if c.Hint != "" {
			line += " → " + c.Hint
		}
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d ok, %d to look at, %d failed, %d not checked\n", r.count(OK), r.count(Warn), r.count(Fail), r.count(Skip))
	return err
}

// The longest texts of a check, in bytes.
const (
	maxFound = 600
	maxWord  = 120 // of what somebody else has said
)

// clean makes text fit for a terminal: one line, no control character, nothing that turns the direction of writing, at
// most limit bytes.
func clean(s string, limit int) string {
	cut := len(s) > limit
	if cut {
		s = s[:limit]
		for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsGraphic(r) && r != utf8.RuneError:
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, ""))
	s = strings.Join(strings.Fields(s), " ")
	if cut {
		s += "…"
	}
	return s
}

// word cleans something short that an engine, a cell or a file has said; "unknown" stands for nothing.
func word(s string) string {
	if s = clean(s, maxWord); s == "" {
		return "unknown"
	}
	return s
}

// exam collects checks.
type exam struct {
	facts  Facts
	checks []Check
}

func (e *exam) add(id string, level Level, found, hint string) {
	e.checks = append(e.checks, Check{ID: id, Level: level, Found: clean(found, maxFound), Hint: clean(hint, maxFound)})
}

func (e *exam) ok(id, format string, args ...any) { e.add(id, OK, fmt.Sprintf(format, args...), "") }

func (e *exam) skip(id, format string, args ...any) {
	e.add(id, Skip, "not checked: "+fmt.Sprintf(format, args...), "")
}

// either is for checks that are good or not.
func (e *exam) either(id string, good bool, found, otherwise string, level Level, hint string) {
	if good {
		e.add(id, OK, found, "")
		return
	}
	e.add(id, level, otherwise, hint)
}
