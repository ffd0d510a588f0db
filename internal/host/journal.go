package host

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/store"
)

// AuditKey is the file with the key that seals the audit, beside the journal's file.
const AuditKey = "audit.key"

// OpenJournal opens the journal. There is no hotcell without one: a call that nobody remembers could run twice, or end
// without an answer.
func OpenJournal(ctx context.Context, cfg *config.Config, log *slog.Logger) (*store.Store, error) {
	return openJournal(ctx, cfg, log, nil)
}

func openJournal(ctx context.Context, cfg *config.Config, log *slog.Logger, watch store.Observer) (*store.Store, error) {
	o, err := journalOptions(cfg, log)
	if err != nil {
		return nil, err
	}
	o.Watch = watch
	if o.URL != "" && o.Secret == nil && watch != nil {
		log.Warn("the audit is not sealed: with a database, audit.key says where all supervisors find the key")
	}
	return store.Open(ctx, o)
}

// OpenAudit opens the journal to be read: no key is made where there is none.
func OpenAudit(ctx context.Context, cfg *config.Config, log *slog.Logger) (*store.Store, error) {
	o, err := journalOptions(cfg, log)
	if err != nil {
		return nil, err
	}
	o.ReadKey = true
	return store.Open(ctx, o)
}

func journalOptions(cfg *config.Config, log *slog.Logger) (o store.Options, err error) {
	keep := cfg.Store.Keep
	o = store.Options{
		Sync: cfg.Store.Sync, Log: log,
		Keep: store.Keep{
			Calls: time.Duration(keep.Calls), Events: time.Duration(keep.Events), Artifacts: time.Duration(keep.Artifacts),
			Max: int64(keep.Max), Replay: executor.Replay,
			Audit: time.Duration(cfg.Audit.Keep), AuditMax: int64(cfg.Audit.Max),
		},
	}
	resolved := *cfg
	if resolved.Store.URL, err = journalURL(cfg); err != nil {
		return o, err
	}
	if config.IsPostgres(resolved.Store.URL) {
		o.URL = resolved.Store.URL
	} else {
		o.Path = resolved.JournalPath()
		o.Key = filepath.Join(filepath.Dir(o.Path), AuditKey)
	}
	if cfg.Audit.Key != "" {
		if o.Secret, err = References(cfg).Resolve(cfg.Audit.Key); err != nil {
			return o, &ConfigError{fmt.Errorf("audit.key: %w", err)}
		}
	}
	return o, nil
}

// journalURL is store.url, or what it refers to. Its errors hold nothing of that.
func journalURL(cfg *config.Config) (string, error) {
	url := cfg.Store.URL
	if url == "" || strings.Contains(url, "://") {
		return url, nil
	}
	text, err := References(cfg).Resolve(url)
	if err != nil {
		return "", &ConfigError{fmt.Errorf("store.url: %w", err)}
	}
	url = strings.TrimSpace(string(text))
	path, isSQLite := strings.CutPrefix(url, "sqlite://")
	if !config.IsPostgres(url) && !(isSQLite && filepath.IsAbs(path)) {
		return "", &ConfigError{fmt.Errorf("store.url: what %s stands for is no URL of a store: expected postgres://USER:PASSWORD@HOST/DATABASE", cfg.Store.URL)}
	}
	return url, nil
}
