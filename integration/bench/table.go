package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// print is the report for a terminal.
func (r *report) print(w io.Writer) {
	for _, s := range everySection() {
		rows := r.of(s.name)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s: %s\n", s.name, s.what)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(tw, "\tp50\t±\tp95\tp99\tn\tunit\t")
		for _, row := range rows {
			fmt.Fprintf(tw, "%s\t%s\t%.0f%%\t%s\t%s\t%d\t%s\t\n", row.Name, digits(row.P50), row.Spread, digits(row.P95), digits(row.P99), row.N, row.Unit)
		}
		_ = tw.Flush()
		fmt.Fprintln(w)
	}
	for _, key := range r.keys() {
		fmt.Fprintf(w, "%s  %.4g\n", key, r.Ratios[key])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Absent)) {
		fmt.Fprintf(w, "absent: %s: %s\n", name, r.Absent[name])
	}
}

func (r *report) of(section string) (rows []row) {
	for _, row := range r.Rows {
		if row.Section == section {
			rows = append(rows, row)
		}
	}
	return rows
}

// digits writes a figure with about three digits.
func digits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// The marks in a page between which a table stands.
const (
	markBegin = "<!-- bench:%s -->"
	markEnd   = "<!-- bench:end -->"
)

// document replaces the tables in a page. One whose section has no rows stays as it is.
func (r *report) document(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	page := string(b)
	for _, s := range everySection() {
		if rows := r.of(s.name); len(rows) > 0 {
			page, err = replace(page, s.name, markdown(rows))
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	for name, text := range map[string]string{"ratios": r.ratioTable(), "machine": r.machineLine()} {
		if page, err = replace(page, name, text); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return os.WriteFile(file, []byte(page), 0o644)
}

// replace puts a text between a mark and the next end mark.
func replace(page, name, text string) (string, error) {
	begin := fmt.Sprintf(markBegin, name)
	before, rest, found := strings.Cut(page, begin+"\n")
	_, after, ended := strings.Cut(rest, markEnd)
	if !found || !ended {
		return "", fmt.Errorf("expected a line %q and a line %q after it", begin, markEnd)
	}
	return before + begin + "\n" + text + markEnd + after, nil
}

func markdown(rows []row) string {
	var b strings.Builder
	b.WriteString("| | p50 | ± | p95 | p99 | |\n|---|--:|--:|--:|--:|---|\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s | %.0f %% | %s | %s | %s |\n", row.Name, digits(row.P50), row.Spread, digits(row.P95), digits(row.P99), row.Unit)
	}
	return b.String()
}

func (r *report) ratioTable() string {
	var b strings.Builder
	b.WriteString("| key | |\n|---|--:|\n")
	for _, key := range r.keys() {
		fmt.Fprintf(&b, "| `%s` | %.4g |\n", key, r.Ratios[key])
	}
	return b.String()
}

func (r *report) machineLine() string {
	what := r.Machine["cluster"]
	if what == nil {
		what = fmt.Sprint("Docker ", r.Machine["engine"])
	}
	return fmt.Sprintf("%v processors, %v/%v, %v, %v; %v.\n",
		r.Machine["cpus"], r.Machine["os"], r.Machine["arch"], r.Machine["go"], what, r.Machine["at"])
}
