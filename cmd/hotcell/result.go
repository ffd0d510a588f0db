package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
)

const (
	maxSummary = 2 << 10
	maxShown   = 1 << 20 // bytes of data that are shown to people
	maxRows    = 1000    // findings that are shown one a line
)

// showResult writes what a call brought to out: a summary line and the data. A failure without data has nothing here;
// its one line is [failureLine].
func showResult(out *screen, resp *a2e.CallResponse) {
	if resp.Data == nil {
		return
	}
	result, data := resp.Data, decoded(resp.Data.Data)
	summary := block(summaryText(result.Summary), maxSummary)
	switch {
	case result.Success && summary == "":
		summary = oneLine(resp.Name, 80) + " succeeded"
	case !result.Success && summary == "" && data == nil:
		return
	case summary == "":
		summary = oneLine(resp.Name, 80) + " failed"
	}
	mark := out.style.good.Render("✓")
	if !result.Success {
		mark = out.style.bad.Render("✗")
	}
	out.line(fmt.Sprintf("%s %s %s", mark, indented(summary), out.style.dim.Render("("+took(result.DurationMS)+")")))
	if body := dataText(out, data); body != "" {
		out.line(body)
	}
	if result.Truncated {
		out.line(out.style.warn.Render("  the data is not whole: it is longer than limits.output, or the skill says that it was cut"))
	}
}

// decoded is a result's data as values, which may come as the JSON text that the skill wrote.
func decoded(data any) any {
	raw, ok := data.(json.RawMessage)
	if !ok {
		return data
	}
	value, err := decodeJSON(string(raw))
	if err != nil {
		return string(raw)
	}
	return value
}

// indented keeps the lines after the first apart from hotcell's own.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

func summaryText(summary any) string {
	switch s := summary.(type) {
	case nil:
		return ""
	case string:
		return s
	}
	return safeJSON(compact(summary))
}

// dataText is a result's data for people: text as it is, a list of findings one a line, all else as indented JSON.
func dataText(out *screen, data any) string {
	switch data := data.(type) {
	case nil:
		return ""
	case string:
		return "  " + indented(block(data, maxShown))
	case map[string]any:
		return objectText(out, data)
	}
	return jsonText(data)
}

func objectText(out *screen, data map[string]any) string {
	var parts []string
	rest := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		list, ok := findings(data[key])
		switch {
		case !ok:
			rest[key] = data[key]
		case len(list) > 0:
			parts = append(parts, findingLines(out, list))
		}
	}
	if len(rest) > 0 {
		parts = append(parts, jsonText(rest))
	}
	return strings.Join(parts, "\n")
}

func jsonText(data any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("  ", "  ")
	if err := enc.Encode(data); err != nil {
		return "  (data that has no JSON form)"
	}
	text, cut := shorten(strings.TrimSpace(b.String()), maxShown)
	if cut {
		text = strings.ToValidUTF8(text, "") + "\n  … (--json shows all of it)"
	}
	return "  " + safeJSON(text)
}

// findings reports whether value is a list of objects that each have a message and a line or a severity.
func findings(value any) ([]map[string]any, bool) {
	list, ok := value.([]any)
	if !ok {
		return nil, false
	}
	rows := make([]map[string]any, 0, len(list))
	for _, item := range list {
		row, ok := item.(map[string]any)
		if !ok || str(row["message"]) == "" || (row["line"] == nil && row["severity"] == nil) {
			return nil, false
		}
		rows = append(rows, row)
	}
	return rows, true
}

func findingLines(out *screen, rows []map[string]any) string {
	lines := make([]string, 0, min(len(rows), maxRows)+1)
	for i, row := range rows {
		if i == maxRows {
			lines = append(lines, fmt.Sprintf("  … and %d more (--json shows all)", len(rows)-i))
			break
		}
		lines = append(lines, findingLine(out, row))
	}
	return strings.Join(lines, "\n")
}

// findingLine is "file:line:col severity message (rule)" without what is not there.
func findingLine(out *screen, row map[string]any) string {
	var place []string
	for _, key := range []string{"file", "line", "column"} {
		value := row[key]
		if key == "column" && value == nil {
			value = row["col"]
		}
		if text := oneLine(scalar(value), 200); text != "" {
			place = append(place, text)
		}
	}
	severity := oneLine(str(row["severity"]), 20)
	style := out.style.warn
	switch strings.ToLower(severity) {
	case "error", "critical", "high":
		style = out.style.bad
	case "info", "note", "low", "style":
		style = out.style.dim
	}
	line := fmt.Sprintf("  %-8s %s %s", strings.Join(place, ":"), style.Render(fmt.Sprintf("%-8s", severity)),
		oneLine(str(row["message"]), maxLineText))
	if rule := oneLine(str(row["rule"]), 80); rule != "" {
		line += " " + out.style.dim.Render("("+rule+")")
	}
	return line
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case json.Number:
		return v.String()
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}
