package host

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/skills"
)

// cleanUp bounds how long it takes to close what was opened before something failed.
const cleanUp = 20 * time.Second

// Options are what a configuration does not say.
type Options struct {
	Programs fs.FS        // what runs inside cells: the files that [RunnerFile] and [EngineFile] name
	Plugins  []a2e.Plugin // serve skills in this process
	Version  string       // of hotcell, for metrics
	Log      *slog.Logger // required
}

// System is hotcell wired together. Its owner drains the supervisor and then closes it.
type System struct {
	Skills     skills.Catalog
	Catalog    *Catalog
	Watch      func(ctx context.Context) // keeps the skills up to date until ctx ends
	Supervisor *executor.Supervisor
	Metrics    http.Handler
	Auth       auth.Authenticator              // knows who calls
	Probe      func(ctx context.Context) error // asks the engine whether it is there
	Check      func(ctx context.Context) error // says whether what cells rely on is there, for the drivers that can tell
	Installer  catalog.Installer               // keeps the bundles that operators upload
	Audit      control.Auditor                 // reads the audit
	Explain    control.Explainer               // explains the policies of shipped skills
	Images     control.Images                  // keeps the images of cells, for admins
	Journalled func() error                    // says why no call can be journalled
	Canary     *Canary                         // makes a cell now and then to see whether it can; nil: nobody does
	Lost       <-chan struct{}                 // closed once other supervisors have declared this one dead; nil: they never do
	Close      func() error
}

// ConfigError is a configuration that can't be used.
type ConfigError struct{ Err error }

// Error returns the reason.
func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *ConfigError) Unwrap() error { return e.Err }

// reason is that of a path error alone: "no such file or directory".
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
