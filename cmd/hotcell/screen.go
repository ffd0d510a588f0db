package main

import (
	"io"
	"os"
	"strings"
	"sync"

	"github.com/charmbracelet/lipgloss"
	"golang.org/x/term"
)

// screen is one of the two outputs as people see it. It knows whether it may use colour and move the cursor, and keeps
// a progress bar below the lines that are written. It is safe for concurrent use.
type screen struct {
	w     io.Writer
	live  bool // a terminal that takes colour and cursor movement
	style styles
	width func() int

	mu  sync.Mutex
	bar *bar // nil when there is none
	err error
}

// styles are the few looks that output has. On a plain screen all of them are text as it stands.
type styles struct {
	dim, bold, good, bad, warn lipgloss.Style
}

// newScreen looks at w: colour and a bar are for terminals that can do both, and only where NO_COLOR is not set.
func newScreen(w io.Writer, getenv func(string) string) *screen {
	f, ok := w.(*os.File)
	live := isTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb" && getenv("TERM") != ""
	width := func() int {
		if ok {
			if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
				return columns
			}
		}
		return 80
	}
	return &screen{w: w, live: live, style: newStyles(w, live), width: width}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func newStyles(w io.Writer, colour bool) styles {
	// The numbers are termenv's: the sixteen colours that every terminal has, and none. Set here, nothing is asked of
	// the terminal or of the process's environment.
	const ansi, ascii = 2, 3
	r := lipgloss.NewRenderer(w)
	r.SetColorProfile(ascii)
	if colour {
		r.SetColorProfile(ansi)
	}
	return styles{
		dim:  r.NewStyle().Faint(colour),
		bold: r.NewStyle().Bold(colour),
		good: r.NewStyle().Foreground(lipgloss.Color("2")),
		bad:  r.NewStyle().Foreground(lipgloss.Color("1")),
		warn: r.NewStyle().Foreground(lipgloss.Color("3")),
	}
}

// paint gives each line of text a style, without the padding that lipgloss adds to a block.
func paint(style lipgloss.Style, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = style.Render(line)
	}
	return strings.Join(lines, "\n")
}

// line writes text and a line feed above the bar.
func (s *screen) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.above(text + "\n")
}

// Write implements [io.Writer] for logs.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.above(string(p))
	return len(p), s.err
}

func (s *screen) above(text string) {
	if s.bar != nil {
		s.bar.hide()
	}
	s.put(text)
	if s.bar != nil {
		s.bar.show()
	}
}

func (s *screen) put(text string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.w, text)
	}
}

// progress shows how far a call is. Only a live screen has a bar.
func (s *screen) progress(pct int, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar == nil {
		s.bar = &bar{screen: s}
	}
	s.bar.set(pct, message)
}

// endProgress takes the bar away.
func (s *screen) endProgress() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		s.bar.hide()
		s.bar = nil
	}
}

// failed is the error of the first write that did not succeed.
func (s *screen) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
