package main

import (
	"github.com/charmbracelet/lipgloss"
	"github.com/schollz/progressbar/v3"
)

// barWidth is the bar's own width in columns; barRest what stands beside it, the percentage and blanks.
const (
	barWidth = 24
	barRest  = 12
)

// bar is the progress bar of a live screen, which holds its lock while it calls.
type bar struct {
	screen  *screen
	pct     int
	message string
}

func (b *bar) set(pct int, message string) {
	b.pct, b.message = min(max(pct, 0), 100), message
	b.show()
}

// show draws the bar into the cursor's line. It makes the library's bar anew each time, since that one ends for good at
// 100 % and a skill may go on after it.
func (b *bar) show() {
	const parts = 1000 // the library rounds down: 29 of 100 would be 28 %
	p := progressbar.NewOptions(parts,
		progressbar.OptionSetWriter(barWriter{b.screen}),
		progressbar.OptionUseANSICodes(true),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetWidth(barWidth),
		progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetDescription(b.fitted()),
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "━", SaucerHead: "━", SaucerPadding: "─"}),
	)
	if b.pct == 0 {
		_ = p.RenderBlank() // a write that fails is kept by the screen
		return
	}
	_ = p.Set(min(b.pct*10+4, parts))
}

// fitted is as much of the message as the line has room for, since a line that wraps can't be taken away.
func (b *bar) fitted() string {
	room := b.screen.width() - barWidth - barRest
	if room <= 0 {
		return ""
	}
	return lipgloss.NewStyle().Inline(true).MaxWidth(room).Render(b.message)
}

func (b *bar) hide() { b.screen.put("\r\x1b[2K") }

// barWriter writes past the screen's lock, which the bar's owner holds.
type barWriter struct{ screen *screen }

func (w barWriter) Write(p []byte) (int, error) {
	w.screen.put(string(p))
	return len(p), w.screen.err
}
