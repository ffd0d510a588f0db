package images

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// KeeperOptions are what a [Keeper] works with. Store is required.
type KeeperOptions struct {
	Store  Store
	Lock   *Lock             // nil: nothing is pinned
	Ledger *Ledger           // of what Store pulled; nil: nothing is collected
	Allow  func(Image) error // says no to an image by its content; nil: all may be used
	Log    *slog.Logger      // nil: none
}

// Keeper is a [Store] that resolves each tag once: what a call found first is pinned, and is what every later one gets, until
// somebody pins the tag again. What was built or loaded on the engine itself has no digest that a registry would know: it is
// pinned when somebody says so, and not by calls. A Keeper is safe for concurrent use.
type Keeper struct {
	o    KeeperOptions
	once sync.Map // remarks that were made
}

var _ Store = (*Keeper)(nil)

// forgetful is a store that remembers answers for a while.
type forgetful interface{ Forget(ref string) }

// NewKeeper returns a keeper.
func NewKeeper(o KeeperOptions) *Keeper {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Keeper{o: o}
}

// Resolve returns the image that ref is pinned to, pins it where it is not, and fetches it if the policy says so.
func (k *Keeper) Resolve(ctx context.Context, ref string, pull PullPolicy) (Image, error) {
	if ref == Builtin {
		return k.o.Store.Resolve(ctx, ref, pull)
	}
	target, tag := ref, ""
	if k.o.Lock != nil {
		tag = Tag(ref)
	}
	pinned := false
	if tag != "" {
		p, ok, err := k.o.Lock.find(tag)
		if err != nil {
			k.remark("the lock file can't be used: "+err.Error(), "image", ref)
			return Image{}, &UnavailableError{Ref: ref, Why: "nobody knows what it is pinned to, since " + LockName + " can't be used: hotcell's log says why"}
		}
		if ok {
			target, pinned = p.target, true
		}
	}
	img, err := k.present(ctx, target, pull)
	if err != nil {
		return img, blame(ref, target, pinned, err)
	}
	if tag != "" && !pinned {
		if img, err = k.pin(ctx, ref, tag, img); err != nil {
			return img, err
		}
	}
	img.Ref = ref
	if k.o.Allow != nil {
		if err := k.o.Allow(img); err != nil {
			return Image{}, err
		}
	}
	return img, nil
}

// Forget makes the next caller who asks for ref look whether it is there.
func (k *Keeper) Forget(ref string) {
	f, ok := k.o.Store.(forgetful)
	if !ok {
		return
	}
	f.Forget(ref)
	if tag := Tag(ref); tag != "" && k.o.Lock != nil {
		if p, ok, err := k.o.Lock.find(tag); ok && err == nil {
			f.Forget(p.target)
		}
	}
}

// blame makes an error about the content that a tag is pinned to one about the tag.
func blame(ref, target string, pinned bool, err error) error {
	var gone *UnavailableError
	if !pinned || !errors.As(err, &gone) {
		return err
	}
	return &UnavailableError{
		Ref: ref, Retryable: gone.Retryable,
		Why: fmt.Sprintf("pinned to %s (hotcell images pin %s pins it anew): %s", Digest(target), ref, gone.Why),
	}
}

// present resolves a reference to an image that nobody collects before its user is known as such.
func (k *Keeper) present(ctx context.Context, ref string, pull PullPolicy) (Image, error) {
	if k.o.Ledger != nil {
		k.o.Ledger.refresh()
	}
	img, err := k.o.Store.Resolve(ctx, ref, pull)
	if err != nil || k.o.Ledger == nil || !k.o.Ledger.use(img.ID) {
		return img, err
	}
	if err := k.o.Ledger.note(ctx, img.ID); err != nil {
		k.remark("the use of an image can't be noted, so that it may be collected while it is used", "image", ref, "error", err)
		return img, nil
	}
	if f, ok := k.o.Store.(forgetful); ok {
		f.Forget(ref)
	}
	if pull == PullAlways {
		pull = PullMissing
	}
	return k.o.Store.Resolve(ctx, ref, pull)
}

// pin pins what a call found behind a tag that had no pin. Where another process was first, its pin holds.
func (k *Keeper) pin(ctx context.Context, ref, tag string, img Image) (Image, error) {
	made, ok := PinOf(ref, img, ByCall)
	if !ok || made.Digest == "" || made.Digest == img.ID && !k.brought(img.ID) {
		return img, nil
	}
	stands, err := k.o.Lock.add(ctx, tag, made)
	if err != nil {
		if ctx.Err() != nil {
			return Image{}, context.Cause(ctx)
		}
		k.o.Lock.hold(tag, made)
		k.remark("an image is pinned for this process alone: the lock file can't be written", "image", ref, "digest", made.Digest, "error", err)
		return img, nil
	}
	if stands.Digest == made.Digest {
		k.o.Log.Info("an image is pinned", "image", ref, "digest", made.Digest)
		return img, nil
	}
	target := stands.Target(tag)
	img, err = k.present(ctx, target, PullMissing)
	if err != nil {
		return img, blame(ref, target, true, err)
	}
	return img, nil
}

// brought reports whether hotcell pulled an image. Where ids are digests of manifests, an engine has one for what was built
// there, too, and nobody else knows whether a registry has it.
func (k *Keeper) brought(id string) bool {
	return k.o.Ledger != nil && k.o.Ledger.has(id)
}

// remark logs something the first time that it happens.
func (k *Keeper) remark(text string, args ...any) {
	if _, said := k.once.LoadOrStore(text, true); !said {
		k.o.Log.Warn(text, args...)
	}
}

// PinOf is the pin for an image that was found behind a tag. ok is false where nothing can be pinned.
func PinOf(ref string, img Image, by string) (p Pin, ok bool) {
	p = Pin{ID: img.ID, Platform: img.OS + "/" + img.Arch, By: by, Since: time.Now().UTC().Truncate(time.Second)}
	_, mine := Repository(ref)
	if _, theirs := Repository(img.RepoDigest); img.RepoDigest != "" && theirs == mine {
		p.Digest = Digest(img.RepoDigest)
	}
	return p, p.check() == nil
}

// Pin makes a tag stand for what is behind it now, on the engine or with fetch in the registry, or for the content that a digest
// behind the tag names. Calls get it from then on.
func (k *Keeper) Pin(ctx context.Context, ref string, fetch bool) (Image, Pin, error) {
	name, digest, _ := strings.Cut(ref, "@")
	tag := Tag(name)
	if !CanPin(ref) {
		return Image{}, Pin{}, fmt.Errorf("image %.200q: expected NAME:TAG, or NAME:TAG@sha256:... with 64 hex digits", ref)
	}
	if digest != "" {
		_, repository := Repository(name)
		ref = repository + "@" + digest
	}
	pull, by := PullMissing, ByPin
	if fetch {
		pull, by = PullAlways, ByPull
	}
	if f, ok := k.o.Store.(forgetful); ok {
		f.Forget(ref)
	}
	img, err := k.present(ctx, ref, pull)
	if err != nil {
		return img, Pin{}, err
	}
	img.Ref = name
	if k.o.Allow != nil {
		if err := k.o.Allow(img); err != nil {
			return img, Pin{}, err
		}
	}
	p, ok := PinOf(name, img, by)
	if !ok {
		return img, p, fmt.Errorf("image %s: its id %.80q is none that can be pinned", ref, img.ID)
	}
	return img, p, k.o.Lock.Set(ctx, tag, p)
}
