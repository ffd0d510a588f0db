package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// table writes rows in aligned columns, a heading above them. The last column takes what room is left on a terminal.
func table(out *screen, heading []string, rows [][]string) {
	room := 0
	if out.live {
		room = out.width()
	}
	columns(out, heading, rows, room)
}

// whole is a table whose lines are not cut: a narrow terminal wraps them.
func whole(out *screen, heading []string, rows [][]string) { columns(out, heading, rows, 0) }

func columns(out *screen, heading []string, rows [][]string, room int) {
	widths := make([]int, len(heading))
	for _, row := range append([][]string{heading}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], lipgloss.Width(cell))
		}
	}
	out.line(out.style.bold.Render(tableLine(heading, widths, room)))
	for _, row := range rows {
		out.line(tableLine(row, widths, room))
	}
}

func tableLine(row []string, widths []int, room int) string {
	var b strings.Builder
	for i, cell := range row {
		if i == len(row)-1 {
			b.WriteString(cell)
			break
		}
		b.WriteString(cell + strings.Repeat(" ", widths[i]-lipgloss.Width(cell)+2))
	}
	line := strings.TrimRight(b.String(), " ")
	if room > 0 && lipgloss.Width(line) > room {
		line = lipgloss.NewStyle().MaxWidth(room-1).Render(line) + "…"
	}
	return line
}

// facts writes names and values, one a line.
func facts(out *screen, pairs [][2]string) {
	widest := 0
	for _, p := range pairs {
		if p[1] != "" {
			widest = max(widest, len(p[0]))
		}
	}
	for _, p := range pairs {
		if p[1] == "" {
			continue
		}
		out.line(fmt.Sprintf("%s  %s", out.style.dim.Render(fmt.Sprintf("%-*s", widest, p[0])), indented(p[1])))
	}
}

// printJSON writes a value as indented JSON, for programs and people alike.
func (a *app) printJSON(value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	a.out.line(safeJSON(string(text)))
	return a.out.failed()
}
