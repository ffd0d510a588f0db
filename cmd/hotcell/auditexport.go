package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/store"
)

func (a *app) exportAuditCmd() *cobra.Command {
	var f auditFilter
	var out string
	var after int64
	c := &cobra.Command{
		Use: "export", Short: "Print the rows of the audit as NDJSON, the oldest first", Args: exactly(),
		Long: "Print the rows of the audit as NDJSON, the oldest first, each with its hash. Without a filter 'hotcell audit verify --file'\n" +
			"can look at them wherever they are. What calls used in detail is no part of it: each call's row has the sums.",
		Example: "  hotcell audit export --output audit.ndjson\n  hotcell audit export --after 812 >> shipped.ndjson\n" +
			"  hotcell audit export --kind call.end --since 24h | jq -r '[.at, .principal, .skill, .data.code] | @tsv'",
		RunE: func(c *cobra.Command, _ []string) error {
			q, err := f.query(time.Now())
			if err != nil {
				return err
			}
			if q.After = after; after < 0 {
				return usagef("--after %d: expected the number of a row, or 0", after)
			}
			journal, err := a.auditStore(c.Context())
			if err != nil {
				return err
			}
			defer journal.Close()
			if err := f.find(c.Context(), journal, &q); err != nil {
				return err
			}
			return a.exportAudit(c.Context(), journal, q, out)
		},
	}
	f.flags(c)
	c.Flags().Int64Var(&after, "after", 0, "only rows behind the one of this `NUMBER`")
	c.Flags().StringVar(&out, "output", "", "write to `FILE` instead, which must not be there")
	return c
}

func (a *app) exportAudit(ctx context.Context, journal *store.Store, q control.AuditQuery, out string) (err error) {
	w := a.stdout
	if out != "" {
		f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return usagef("--output: %w", plainPathError(err))
		}
		err = writeExport(ctx, journal, q, f)
		if err == nil {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.Remove(out) // half an export could be taken for a whole one
		}
		return err
	}
	return writeExport(ctx, journal, q, w)
}

// exportLines writes rows as an export has them.
func exportLines(w io.Writer) *json.Encoder {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	return lines
}

func writeExport(ctx context.Context, journal *store.Store, q control.AuditQuery, w io.Writer) error {
	buffered := bufio.NewWriterSize(w, 256<<10)
	lines := exportLines(buffered)
	if err := journal.EachAuditRow(ctx, q, func(r *control.AuditRow) error { return lines.Encode(r) }); err != nil {
		return err
	}
	return buffered.Flush()
}
