package host

import (
	"context"
	"log/slog"

	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/install"
	"github.com/hotcell/hotcell/internal/skills"
)

// OpenInstaller opens the bundles that operators upload. The folder is there. A library, where there is one, knows at once of
// what changes; others hear of it.
func OpenInstaller(ctx context.Context, cfg *config.Config, lib *skills.Library, log *slog.Logger) (*install.Installer, error) {
	o := install.Options{Log: log}
	if lib != nil {
		o.Changed = func(name string) {
			for i, src := range lib.Sources() {
				if src.Label != skills.SourceInstalled {
					continue
				}
				if _, err := lib.Settle(0, skills.Place{Source: i, Folder: name}); err != nil {
					log.Warn("skills not read again", "error", err)
				}
			}
		}
	}
	return install.Open(ctx, cfg.InstalledSkills(), o)
}
