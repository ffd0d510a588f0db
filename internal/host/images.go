package host

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/hotcell/hotcell/images"
	imagesdocker "github.com/hotcell/hotcell/images/docker"
	"github.com/hotcell/hotcell/images/layout"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/engineapi"
	"github.com/hotcell/hotcell/internal/skills"
)

// pulledName is the file in the data folder that says what hotcell pulled.
const pulledName = "pulled.json"

// Keeping is a store of images with what it is wired from.
type Keeping struct {
	*images.Keeper
	Store  images.Depot
	Lock   *images.Lock
	Engine bool // an engine has them; else the data folder
	Close  func() error
}

// EngineImages are the images of the engine. Each answer of it is good for remember. The observer may be nil.
func EngineImages(cfg *config.Config, remember time.Duration, log *slog.Logger, watch engineapi.Observer) (*Keeping, error) {
	ledger := images.OpenLedger(filepath.Join(cfg.DataDir, pulledName), imagesdocker.Host(""))
	store, err := imagesdocker.New(imagesdocker.Options{Remember: remember, Logins: Logins(cfg, log), Ledger: ledger, Watch: watch})
	if err != nil {
		return nil, err
	}
	k := keeping(cfg, store, ledger, store.Close, log)
	k.Engine = true
	return k, nil
}

// OwnImages are the images of the data folder, for cells that no engine makes.
func OwnImages(cfg *config.Config, log *slog.Logger) (*Keeping, *layout.Store, error) {
	ledger := images.OpenLedger(filepath.Join(cfg.DataDir, pulledName), layoutName)
	store, err := openLayout(cfg, &layout.Remote{Logins: Logins(cfg, log), Ledger: ledger})
	if err != nil {
		return nil, nil, err
	}
	return keeping(cfg, store, ledger, store.Close, log), store, nil
}

// layoutName stands for the data folder where an engine has its address.
const layoutName = "data_dir"

func keeping(cfg *config.Config, store images.Depot, ledger *images.Ledger, end func() error, log *slog.Logger) *Keeping {
	lock := images.OpenLock(cfg.LockPath())
	return &Keeping{
		Keeper: images.NewKeeper(images.KeeperOptions{
			Store: store, Lock: lock, Ledger: ledger, Allow: cfg.Policy.Images.CheckContent, Log: log,
		}),
		Store: store, Lock: lock,
		Close: func() error {
			err := end()
			lock.Close()
			ledger.Close()
			return err
		},
	}
}

// Logins finds the logins of registries. Each is read anew for each pull.
func Logins(cfg *config.Config, log *slog.Logger) images.Logins {
	refs := keysOf(cfg, log)
	return func(registry string) (*images.Login, error) {
		ref, ok := cfg.Images.Auth[registry]
		if !ok {
			return nil, nil
		}
		text, err := refs.Resolve(ref)
		if err != nil {
			return nil, err
		}
		return images.ParseLogin(text)
	}
}

// pruneEvery is how often a daemon that is told to looks for images that nothing needs.
const pruneEvery = 24 * time.Hour

// pruneFirst is how long after its start it does so first: an engine has other things to do then.
const pruneFirst = 10 * time.Minute

// NeededImages are those that the configuration or a loaded skill names, each with who does.
func NeededImages(cfg *config.Config, lib skills.Catalog) map[string]string {
	needed := map[string]string{}
	for _, skill := range lib.List() {
		if ref := skill.Run.Image; ref != "" {
			needed[ref] = "skill " + skill.Name
		}
	}
	for _, digest := range cfg.Policy.Images.Digests {
		if digest != "*" {
			needed[digest] = "policy.images.digests"
		}
	}
	for kind, ref := range cfg.Images.Defaults {
		needed[ref] = "images.defaults." + kind
	}
	return needed
}

// pruneImages removes images that nothing needs, daily until ctx ends.
func pruneImages(ctx context.Context, k *Keeping, to audit.Recorder, needed func() map[string]string, keep time.Duration, log *slog.Logger) {
	for pause := pruneFirst; ; pause = pruneEvery {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		all, err := k.Prune(ctx, images.PruneOptions{Keep: keep, Needed: needed()})
		err = errors.Join(err, recordRemoved(ctx, to, all))
		if err != nil && ctx.Err() == nil {
			log.Warn("not all images that nothing needs could be removed, which is tried again in a day", "error", err)
		}
		for _, v := range all {
			if v.Removed {
				log.Info("removed an image that nothing needs", "image", v.Ref, "id", v.ID, "bytes", v.Size)
			}
		}
	}
}

// RecordPruned enters into the audit what the user of this process removed with a command.
func RecordPruned(ctx context.Context, to audit.Recorder, all []images.Verdict) error {
	return recordRemoved(ByOperator(ctx), to, all)
}

func recordRemoved(ctx context.Context, to audit.Recorder, all []images.Verdict) error {
	var errs []error
	for _, v := range all {
		if v.Removed {
			errs = append(errs, recordDone(ctx, to, audit.Entry{Kind: audit.ImageRemove, Data: map[string]any{"image": audit.Text(v.Ref), "id": v.ID}}))
		}
	}
	return errors.Join(errs...)
}
