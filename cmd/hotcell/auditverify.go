package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
)

func (a *app) verifyAuditCmd() *cobra.Command {
	var head, file string
	var noKey, asJSON bool
	c := &cobra.Command{
		Use: "verify", Short: "Look whether the audit is as it was written", Args: exactly(),
		Long: "Look whether the audit is as it was written: no row was edited, removed, repeated, moved or put in. The first bad row is\n" +
			"named, and the exit code is 1. Who can write the file and knows the key can make another chain that looks as good: keep what\n" +
			"'hotcell audit head' prints elsewhere now and then, and give it as --head.",
		Example: "  hotcell audit verify\n  hotcell audit verify --head 812:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n" +
			"  hotcell audit export | hotcell audit verify --file -",
		RunE: func(c *cobra.Command, _ []string) error {
			anchor, err := readHead(head)
			if err != nil {
				return err
			}
			report, err := a.verifyAudit(c.Context(), anchor, file, noKey)
			if err != nil {
				return err
			}
			return a.printReport(report, asJSON)
		},
	}
	flags := c.Flags()
	flags.StringVar(&head, "head", "", "a row that must be there, `N:HASH` as 'hotcell audit head' printed it, or HASH")
	flags.StringVar(&file, "file", "", "look at an export in `FILE` instead, - for standard input: at its chain, for its seals need the key")
	flags.BoolVar(&noKey, "no-key", false, "look at no seal: for a journal whose key is elsewhere")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func readHead(s string) (h control.AuditHead, err error) {
	if s == "" {
		return h, nil
	}
	n, hash, numbered := strings.Cut(s, ":")
	if !numbered {
		n, hash = "0", s
	}
	if h.N, err = strconv.ParseInt(n, 10, 64); err == nil && h.N >= 0 {
		err = h.Hash.UnmarshalText([]byte(hash))
	}
	if err != nil || len(h.Hash) != 32 || h.N < 0 || numbered && h.N == 0 {
		return h, usagef("--head %q: expected N:HASH as 'hotcell audit head' prints it, or HASH, 64 hex digits", oneLine(s, 100))
	}
	return h, nil
}

func (a *app) verifyAudit(ctx context.Context, anchor control.AuditHead, file string, noKey bool) (control.AuditReport, error) {
	switch file {
	case "":
	case "-":
		return verifyExport(a.stdin, anchor)
	default:
		f, err := os.Open(file)
		if err != nil {
			return control.AuditReport{}, usagef("--file: %w", plainPathError(err))
		}
		defer f.Close()
		return verifyExport(f, anchor)
	}
	journal, err := a.auditStore(ctx)
	if err != nil {
		return control.AuditReport{}, err
	}
	defer journal.Close()
	if noKey {
		return journal.VerifyAuditWithoutKey(ctx, anchor)
	}
	return journal.VerifyAudit(ctx, anchor)
}

// maxExportLine bounds a line of an export.
const maxExportLine = 256 << 10

// verifyExport looks at rows that came without their journal.
func verifyExport(r io.Reader, anchor control.AuditHead) (control.AuditReport, error) {
	check := audit.NewChecker(audit.Key{}, nil, anchor)
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxExportLine)
	for n := 1; lines.Scan() && !check.Failed(); n++ {
		var row control.AuditRow
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&row); err != nil || row.N == 0 {
			check.Fail(0, "line %d is no row of an export: %v", n, errors.Join(err))
			break
		}
		check.Next(&row)
		if written, err := exportLine(&row); err != nil || !bytes.Equal(written, lines.Bytes()) { // a field that is there twice, something behind the row
			check.Fail(row.N, "row %d was edited: its line is not as an export writes it", row.N)
		}
	}
	if err := lines.Err(); err != nil {
		return control.AuditReport{}, fmt.Errorf("an export can't be read: %w", err)
	}
	return check.End(nil), nil
}

// exportLine is a row as an export writes it.
func exportLine(row *control.AuditRow) ([]byte, error) {
	var b bytes.Buffer
	err := exporter(&b).Encode(row)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (a *app) printReport(r control.AuditReport, asJSON bool) error {
	if asJSON {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else if r.OK {
		seals := "their seals"
		if !r.Keyed {
			seals = "no seals, which need the key"
		}
		a.out.line(fmt.Sprintf("ok: %d %s, %s, and %d %s of what calls used; head %s",
			r.Rows, plural(int(r.Rows), "row", "rows"), seals, r.Uses, plural(int(r.Uses), "entry", "entries"), r.Head))
	}
	switch {
	case r.OK:
		return a.out.failed()
	case asJSON:
		return silent(exitFailed)
	}
	return &exitError{code: exitFailed, err: fmt.Errorf("the audit is not as it was written: %s", oneLine(r.Fault, 500))}
}

func (a *app) headAuditCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "head", Short: "Print the number and the hash of the last row, to be kept elsewhere", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			journal, err := a.auditStore(c.Context())
			if err != nil {
				return err
			}
			defer journal.Close()
			h, err := journal.AuditHead(c.Context())
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(h)
			case h.N == 0:
				return usagef("the audit has no row yet")
			}
			a.out.line(h.String())
			return a.out.failed()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
