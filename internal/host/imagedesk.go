package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/skills"
)

// AllImages are those that a driver has, and beside those of an engine the ones that were imported. With ask, registries are asked
// what their tags are now.
func AllImages(ctx context.Context, cfg *config.Config, kept *Keeping, ask bool) ([]images.Row, error) {
	rows, err := kept.List(ctx, ask, !kept.Engine)
	if err != nil || !kept.Engine {
		return rows, err
	}
	own, _, err := OwnImages(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	more, err := own.List(ctx, false, true)
	for _, r := range more {
		if r.State == images.StateOwn || r.State == images.StatePulled {
			rows = append(rows, r)
		}
	}
	return rows, errors.Join(err, own.Close())
}

// PinImage pins a tag to what it is here now, with fetch to what its registry has now, or to a digest, and enters that into the
// audit. Who does it is in the context.
func PinImage(ctx context.Context, cfg *config.Config, kept *Keeping, to audit.Recorder, ref string, fetch bool) (images.Image, images.Pin, error) {
	if err := allowedName(cfg, ref); err != nil {
		return images.Image{}, images.Pin{}, err
	}
	img, p, err := kept.Pin(ctx, ref, fetch)
	var missing *images.UnavailableError
	if errors.As(err, &missing) {
		return img, p, fmt.Errorf("image %s: %s", missing.Ref, strings.TrimSuffix(missing.Why, images.PullFirst))
	}
	if err != nil {
		return img, p, err
	}
	return img, p, RecordPin(ctx, to, images.Tag(img.Ref), p)
}

// allowedName checks whether the policy lets an image in. That it wants digests is met by the pin of a tag; one with a digest is
// checked for what it is.
func allowedName(cfg *config.Config, ref string) error {
	policy := cfg.Policy.Images
	if images.Tag(ref) != "" {
		policy.RequireDigest = false
	}
	return policy.Check(ref)
}

// RecordPin enters into the audit what a tag is pinned to now.
func RecordPin(ctx context.Context, to audit.Recorder, tag string, p images.Pin) error {
	return recordDone(ctx, to, audit.Entry{Kind: audit.ImagePin, Data: map[string]any{"image": audit.Text(images.Familiar(tag)), "digest": p.Digest, "id": p.ID}})
}

// UnpinImage takes a pin away, enters that into the audit, and reports whether there was one.
func UnpinImage(ctx context.Context, lock *images.Lock, to audit.Recorder, tag string) (bool, error) {
	if was, err := lock.Unset(ctx, tag); err != nil || !was {
		return false, err
	}
	return true, recordDone(ctx, to, audit.Entry{Kind: audit.ImageUnpin, Data: map[string]any{"image": audit.Text(images.Familiar(tag))}})
}

// deskDoor is the door that the audit has of what is done at an [imageDesk].
const deskDoor = "console"

// imageDesk keeps the images of a daemon for its admins. Who asks is the identity in the context.
type imageDesk struct {
	cfg   *config.Config
	kept  *Keeping
	audit audit.Recorder
	lib   skills.Catalog // names images that stay
}

var _ control.Images = imageDesk{}

// List implements [control.Images].
func (d imageDesk) List(ctx context.Context, ask bool) ([]control.ImageRow, error) {
	rows, err := AllImages(ctx, d.cfg, d.kept, ask)
	if err != nil {
		return nil, d.fault(ctx, err)
	}
	pins, err := d.kept.Lock.Pins()
	if err != nil {
		return nil, d.fault(ctx, err)
	}
	out := []control.ImageRow{}
	for _, r := range rows {
		one := control.ImageRow{Ref: r.Ref, ID: r.ID, Digest: r.Digest, Bytes: r.Size, State: r.State, Note: PlainEngine(r.Note)}
		if p, is := pins[images.Tag(r.Ref)]; is && r.State != images.StateOwn && r.State != images.StatePulled {
			one.Pinned = p.Since
		}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b control.ImageRow) int { return cmp.Or(cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

// Pull implements [control.Images].
func (d imageDesk) Pull(ctx context.Context, ref string, progress func(control.PullProgress)) (control.ImageRow, error) {
	ctx = images.WithProgress(ctx, func(p images.Progress) {
		progress(control.PullProgress{Ref: p.Ref, Step: p.Step, Done: p.Done, Total: p.Total})
	})
	return d.pin(ctx, ref, true)
}

// Pin implements [control.Images].
func (d imageDesk) Pin(ctx context.Context, ref string) (control.ImageRow, error) {
	return d.pin(ctx, ref, false)
}

func (d imageDesk) pin(ctx context.Context, ref string, fetch bool) (control.ImageRow, error) {
	if !images.CanPin(ref) {
		return control.ImageRow{}, &control.Fault{Message: fmt.Sprintf("image %.200q: expected NAME:TAG in lower case, or NAME:TAG@sha256:... with 64 hex digits", ref)}
	}
	img, p, err := PinImage(deskActor(ctx), d.cfg, d.kept, d.audit, ref, fetch)
	if err != nil {
		return control.ImageRow{}, d.fault(ctx, err)
	}
	return control.ImageRow{Ref: images.Familiar(images.Tag(img.Ref)), ID: img.ID, Digest: p.Digest, Bytes: img.Size, State: images.StatePinned, Pinned: p.Since}, nil
}

// Unpin implements [control.Images].
func (d imageDesk) Unpin(ctx context.Context, ref string) (bool, error) {
	tag := images.Tag(ref)
	if tag == "" || !images.CanPin(ref) {
		return false, &control.Fault{Message: fmt.Sprintf("image %.200q: expected NAME:TAG", ref)}
	}
	was, err := UnpinImage(deskActor(ctx), d.kept.Lock, d.audit, tag)
	return was, d.fault(ctx, err)
}

// Prune implements [control.Images].
func (d imageDesk) Prune(ctx context.Context, dry bool) ([]control.ImageVerdict, error) {
	all, err := d.kept.Prune(ctx, images.PruneOptions{Keep: time.Duration(d.cfg.Images.Keep), Dry: dry, Needed: NeededImages(d.cfg, d.lib)})
	if !dry {
		err = errors.Join(err, recordRemoved(deskActor(ctx), d.audit, all))
	}
	out := []control.ImageVerdict{}
	for _, v := range all {
		out = append(out, control.ImageVerdict{Ref: v.Ref, ID: v.ID, Bytes: v.Size, Used: v.Used, Removed: v.Removed, Kept: v.Kept})
	}
	return out, d.fault(ctx, err)
}

// fault is an error that admins may read: those of images are about names, registries and engines.
func (d imageDesk) fault(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &control.Fault{Message: PlainEngine(plainRefusal(err))}
}

// deskActor is a context for what the identity in it does at a desk.
func deskActor(ctx context.Context) context.Context {
	id := auth.FromContext(ctx)
	return audit.By(ctx, audit.Actor{Principal: id.Principal, Agent: id.Agent, Door: deskDoor})
}
