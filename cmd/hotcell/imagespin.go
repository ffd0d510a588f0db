package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/store"
)

// keeping runs do with the images of the driver that makes cells here. It is cancelled by a signal.
func (a *app) keeping(ctx context.Context, do func(ctx context.Context, cfg *config.Config, kept *host.Keeping) error) error {
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	if err := host.DataFolder(cfg.DataDir); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 1)
	defer a.notify(signals)()
	interrupted := make(chan struct{})
	ended := make(chan struct{})
	defer close(ended)
	go func() { // ends with ended
		select {
		case <-signals:
			close(interrupted)
			cancel()
		case <-ended:
		}
	}()
	kept, err := a.openImages(ctx, cfg)
	if err != nil {
		return err
	}
	err = do(ctx, cfg, kept)
	if failed := kept.Close(); err == nil {
		err = failed
	}
	select {
	case <-interrupted:
		return silent(exitInterrupted)
	default:
		return plainly(err)
	}
}

// openImages opens the images of the driver that makes cells here.
func (a *app) openImages(ctx context.Context, cfg *config.Config) (*host.Keeping, error) {
	log := a.logger(cfg, slog.LevelWarn)
	if cfg.Sandbox.Driver == host.DriverOCI || chosen(ctx, cfg, host.NewInstance()) == host.DriverOCI {
		kept, _, err := host.OwnImages(cfg, log)
		return kept, err
	}
	return host.EngineImages(cfg, 0, log, nil)
}

// plainly shows an error without the category that adapters put behind an engine's failure. It decides the exit code all the same.
func plainly(err error) error {
	if err == nil {
		return nil
	}
	return &engineFault{err}
}

type engineFault struct{ err error }

func (e *engineFault) Error() string { return plainEngine(e.err.Error()) }

func (e *engineFault) Unwrap() error { return e.err }

func (a *app) imagesPullCmd() *cobra.Command {
	return a.pinning("pull NAME...", "Fetch what a registry has under a tag now, and pin the tag to it", true)
}

func (a *app) imagesPinCmd() *cobra.Command {
	c := a.pinning("pin NAME...", "Pin a tag to what it is here now, or to a digest", false)
	c.Long = "Pin a tag to what it is here now, or to a digest behind it. Calls get that content from then on, whatever the tag\n" +
		"stands for later. What is not here is fetched.\n\n" +
		"  hotcell images pin python:3.12-slim\n" +
		"  hotcell images pin python:3.12-slim@sha256:..."
	return c
}

func (a *app) pinning(use, short string, fetch bool) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: someOf("NAME..."),
		RunE: func(c *cobra.Command, args []string) error {
			for _, ref := range args {
				if !images.CanPin(ref) {
					return usagef("image %q: expected NAME:TAG in lower case, or NAME:TAG@sha256:... with 64 hex digits", oneLine(ref, 200))
				}
			}
			return a.keeping(c.Context(), func(ctx context.Context, cfg *config.Config, kept *host.Keeping) error {
				return a.audited(ctx, cfg, func(journal *store.Store) error {
					for _, ref := range args {
						if err := a.pin(ctx, cfg, kept, journal, ref, fetch); err != nil {
							return err
						}
					}
					return a.out.failed()
				})
			})
		},
	}
}

func (a *app) pin(ctx context.Context, cfg *config.Config, kept *host.Keeping, journal *store.Store, ref string, fetch bool) error {
	defer a.errs.endProgress()
	img, p, err := host.PinImage(images.WithProgress(host.ByOperator(ctx), a.showPull), cfg, kept, journal, ref, fetch)
	if err != nil {
		return err
	}
	a.errs.endProgress()
	a.out.line(fmt.Sprintf("%s  %s", oneLine(img.Ref, 200), cmp.Or(p.Digest, p.ID)))
	return nil
}

// showPull shows how far a pull is, where there is a terminal to show it on.
func (a *app) showPull(p images.Progress) {
	if !a.errs.live {
		return
	}
	pct := 0
	if p.Total > 0 {
		pct = int(p.Done * 100 / p.Total)
	}
	a.errs.progress(pct, fmt.Sprintf("%s %s", oneLine(p.Ref, 100), oneLine(p.Step, 40)))
}

func (a *app) imagesUnpinCmd() *cobra.Command {
	return &cobra.Command{
		Use: "unpin NAME", Short: "Take a pin away: the next call pins the tag anew", Args: exactly("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, _, err := a.settings()
			if err != nil {
				return err
			}
			tag := images.Tag(args[0])
			if tag == "" || !images.CanPin(args[0]) {
				return usagef("image %q: expected NAME:TAG", oneLine(args[0], 200))
			}
			lock := images.OpenLock(cfg.LockPath())
			pins, err := lock.Pins()
			if err != nil {
				return err
			}
			if _, is := pins[tag]; !is {
				return usagef("%q is not pinned: 'hotcell images list' shows what is", oneLine(args[0], 200))
			}
			return a.audited(c.Context(), cfg, func(journal *store.Store) error {
				_, err := host.UnpinImage(host.ByOperator(c.Context()), lock, journal, tag)
				return err
			})
		},
	}
}

func (a *app) imagesPruneCmd() *cobra.Command {
	var dry, asJSON bool
	var age string
	c := &cobra.Command{
		Use: "prune", Short: "Remove the images that hotcell pulled and nothing needs", Args: exactly(),
		Long: "Remove the images that hotcell pulled, that no tag is pinned to, that no skill and no configuration names, that no\n" +
			"container was made from and that were not used for images.keep. What others brought, was built here or imported stays.",
		RunE: func(c *cobra.Command, _ []string) error {
			var keep time.Duration
			if c.Flags().Changed("keep") {
				d, err := config.ParseAge(age)
				if keep = time.Duration(d); err != nil || keep < images.Grace {
					return usagef("--keep %q: expected an hour or more, such as 7d, 36h or 90m", oneLine(age, 60))
				}
			}
			return a.keeping(c.Context(), func(ctx context.Context, cfg *config.Config, kept *host.Keeping) error {
				if keep == 0 {
					keep = time.Duration(cfg.Images.Keep)
				}
				lib, err := a.loadLibrary(cfg)
				if err != nil {
					return err // an image would go that a skill names
				}
				o := images.PruneOptions{Keep: keep, Dry: dry, Needed: host.NeededImages(cfg, lib)}
				if dry {
					all, err := kept.Prune(ctx, o)
					return errors.Join(a.showPruned(all, true, asJSON), err)
				}
				return a.audited(ctx, cfg, func(journal *store.Store) error {
					all, err := kept.Prune(ctx, o)
					return errors.Join(host.RecordPruned(ctx, journal, all), a.showPruned(all, false, asJSON), err)
				})
			})
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "only say what would be removed")
	c.Flags().StringVar(&age, "keep", "", "`TIME` since its last use that an image stays, such as 7d, at least 1h (default: images.keep)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) showPruned(all []images.Verdict, dry, asJSON bool) error {
	if asJSON {
		if all == nil {
			all = []images.Verdict{}
		}
		return a.printJSON(all)
	}
	if len(all) == 0 {
		a.out.line("hotcell has pulled no image that is still here")
		return a.out.failed()
	}
	var rows [][]string
	for _, v := range all {
		became := "removed"
		if dry {
			became = "would be removed"
		}
		if !v.Removed {
			became = "kept: " + oneLine(v.Kept, 200)
		}
		rows = append(rows, []string{oneLine(v.Ref, 200), images.Short(v.ID), megabytes(v.Size), became})
	}
	table(a.out, []string{"IMAGE", "ID", "SIZE", "WHAT"}, rows)
	return a.out.failed()
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// repin moves the pins of tags that were imported to what they are now.
func (a *app) repin(ctx context.Context, cfg *config.Config, all []images.Image) error {
	lock := images.OpenLock(cfg.LockPath())
	pins, err := lock.Pins()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(img images.Image) bool {
		_, pinned := pins[images.Tag(img.Ref)]
		return !pinned
	})
	if len(all) == 0 {
		return nil
	}
	return a.audited(ctx, cfg, func(journal *store.Store) error {
		for _, img := range all {
			p, ok := images.PinOf(img.Ref, img, images.ByPin)
			if !ok {
				continue
			}
			if err := lock.Set(ctx, images.Tag(img.Ref), p); err != nil {
				return err
			}
			if err := host.RecordPin(host.ByOperator(ctx), journal, images.Tag(img.Ref), p); err != nil {
				return err
			}
			a.out.line(fmt.Sprintf("%s  pinned to it", oneLine(img.Ref, 200)))
		}
		return nil
	})
}

// listAll gathers what hotcell knows of images.
func (a *app) listAll(ctx context.Context, cfg *config.Config, ask bool) ([]images.Row, error) {
	kept, err := a.openImages(ctx, cfg)
	if err != nil {
		return nil, err
	}
	rows, err := host.AllImages(ctx, cfg, kept, ask)
	return rows, errors.Join(err, kept.Close())
}

// rowsJSON is the rows as JSON, an empty list where there are none.
func rowsJSON(rows []images.Row) json.RawMessage {
	if rows == nil {
		return json.RawMessage("[]")
	}
	text, _ := json.Marshal(rows) // plain values
	return text
}
