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
		return notEmpty(journal.VerifyAuditWithoutKey(ctx, anchor))
	}
	r, err := notEmpty(journal.VerifyAudit(ctx, anchor))
	if err == nil && r.OK && !r.Keyed {
		return r, errors.New("the seals were not looked at: the key of the audit is not beside the journal: put it back, or look at the hashes alone with --no-key")
	}
	return r, err
}

// notEmpty refuses to call nothing well: an export that failed at the other end of a pipe, or a journal that was emptied. Each
// journal has the row about its key, or about its last trim.
func notEmpty(r control.AuditReport, err error) (control.AuditReport, error) {
	if err == nil && r.OK && r.Rows == 0 {
		err = errors.New("the audit has no row: nothing was verified")
	}
	return r, err
}

// maxExportLine bounds a line of an export.
const maxExportLine = 256 << 10

// verifyExport looks at rows that came without their journal.
func verifyExport(r io.Reader, anchor control.AuditHead) (control.AuditReport, error) {
	check := audit.NewChecker(audit.Key{}, nil, anchor)
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxExportLine)
	n := 1
	for ; lines.Scan() && !check.Failed(); n++ {
		row, err := exportedRow(lines.Bytes())
		if err != nil {
			check.Fail(0, "line %d is %v", n, err)
			break
		}
		check.Next(&row)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		check.Fail(0, "line %d is no row of an export: it is too long, more than %d KiB", n, maxExportLine>>10)
	case err != nil:
		return control.AuditReport{}, fmt.Errorf("an export can't be read: %w", err)
	}
	return notEmpty(check.End(nil), nil)
}

// exportedRow reads one line as an export writes it and no other way, in which another program could read another row.
func exportedRow(line []byte) (row control.AuditRow, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&row); err != nil {
		return row, fmt.Errorf("no row of an export: %w", err)
	}
	var again bytes.Buffer
	if err := exportLines(&again).Encode(&row); err != nil || row.N == 0 {
		return row, errors.New("no row of an export")
	}
	if !bytes.Equal(bytes.TrimSpace(line), bytes.TrimSpace(again.Bytes())) {
		return row, errors.New("not as an export writes it: a field twice or in other letters, or something behind the row")
	}
	return row, nil
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
