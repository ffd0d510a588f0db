package policies

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Explain writes the policy as a table of fields, values and who decided them, and below it what was cut. The text ends
// with a line feed; what comes from a skill is quoted where it holds anything but printable characters.
func (e Effective) Explain(w io.Writer) error {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FIELD\tVALUE\tFROM")
	for _, c := range e.Choices {
		fmt.Fprintf(table, "%s\t%s\t%s\n", c.Field, printable(c.Value), c.From)
	}
	if len(e.Clamps) > 0 {
		fmt.Fprint(table, "\nCUT\tASKED\tGRANTED\n")
	}
	for _, c := range e.Clamps {
		fmt.Fprintf(table, "%s\t%s by %s\t%s by %s\n", c.Field, printable(c.Asked), c.Asker, printable(c.Granted), c.By)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// String says the cut in one line, for logs and events.
func (c Clamp) String() string {
	if c.By == Memory {
		return fmt.Sprintf("%s: the %s asks for %s, %s has room for %s", c.Field, c.Asker, printable(c.Asked), c.By, printable(c.Granted))
	}
	return fmt.Sprintf("%s: the %s asks for %s, the %s allows %s", c.Field, c.Asker, printable(c.Asked), c.By, printable(c.Granted))
}

func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) < 0 {
		return s
	}
	return strconv.Quote(s)
}
