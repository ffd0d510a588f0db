package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/doctor"
)

// examiner is `hotcell doctor` for the console of a daemon.
type examiner struct {
	gather func(ctx context.Context, cfg *config.Config, log *slog.Logger) doctor.Facts
	cfg    *config.Config
	log    *slog.Logger
}

// Examine implements [control.Examiner].
func (x examiner) Examine(ctx context.Context) (*control.Examination, error) {
	report := doctor.Examine(x.gather(ctx, x.cfg, x.log))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := &control.Examination{OK: report.OK, At: time.Now().UTC(), Findings: []control.Finding{}}
	for _, c := range report.Checks {
		out.Findings = append(out.Findings, control.Finding{ID: c.ID, Level: string(c.Level), Found: c.Found, Hint: c.Hint})
	}
	return out, nil
}
