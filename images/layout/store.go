package layout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/hotcell/hotcell/images"
)

// Options configure a [Store].
type Options struct {
	Dir    string // where images are kept; made with the first import
	Bounds Bounds
	Remote *Remote // nil: nothing is pulled
}

// Bounds are what one import may bring. A zero field takes the default.
type Bounds struct {
	Bytes   int64 // of the archive, and of all that comes out of it; 16 GiB
	Entries int   // files, folders and links of one image, over all its layers; 1,000,000
}

// Store resolves the images that were imported into a folder. It is safe for concurrent use, by several processes too.
type Store struct {
	dir    string
	bounds Bounds
	making sync.Mutex // the built-in image
	remote *Remote    // nil: nothing is pulled
	pulls  *images.Pulls
	memory memory
}

var _ images.Store = (*Store)(nil)

// New makes a store. Nothing is read or written yet.
func New(opts Options) (*Store, error) {
	if !filepath.IsAbs(opts.Dir) {
		return nil, fmt.Errorf("image folder %q: expected an absolute path", opts.Dir)
	}
	s := &Store{dir: opts.Dir, bounds: opts.Bounds}
	if s.bounds.Bytes <= 0 {
		s.bounds.Bytes = 16 << 30
	}
	if s.bounds.Entries <= 0 {
		s.bounds.Entries = 1_000_000
	}
	if opts.Remote != nil {
		remote := *opts.Remote
		if remote.Limit <= 0 {
			remote.Limit = 10 * time.Minute
		}
		s.remote, s.pulls = &remote, images.NewPulls(remote.Limit)
	}
	return s, nil
}

// Close ends pulls in flight.
func (s *Store) Close() error {
	if s.pulls != nil {
		s.pulls.Close()
	}
	return nil
}

// Resolve returns the image behind a reference, a content id or a digest. It fetches where it may and the policy says so.
func (s *Store) Resolve(ctx context.Context, ref string, pull images.PullPolicy) (images.Image, error) {
	if err := ctx.Err(); err != nil {
		return images.Image{}, err
	}
	if ref == images.Builtin {
		return s.builtin(ctx)
	}
	switch {
	case pull == images.PullAlways && s.remote == nil:
		return images.Image{}, &images.UnavailableError{Ref: ref, Why: "the pull policy is always, and images of this driver are imported, never pulled: set policy.images.pull to missing"}
	case pull == images.PullAlways && !idPattern.MatchString(ref):
		if err := s.pull(ctx, ref); err != nil {
			return images.Image{}, err
		}
	}
	img, err := s.remembered(ref)
	if !errors.Is(err, errMissing) {
		return img, err
	}
	if pull != images.PullMissing || s.remote == nil || idPattern.MatchString(ref) {
		return images.Image{}, missing(ref)
	}
	if err := s.pull(ctx, ref); err != nil {
		return images.Image{}, err
	}
	if img, err = s.known(ref); errors.Is(err, errMissing) {
		err = &images.UnavailableError{Ref: ref, Why: "not present right after its pull: someone removes it", Retryable: true}
	}
	return img, err
}

// errMissing says that an image is not here.
var errMissing = errors.New("not here")

// known returns an image that is here.
func (s *Store) known(ref string) (images.Image, error) {
	key, err := refKey(ref)
	if err != nil {
		return images.Image{}, &images.UnavailableError{Ref: ref, Why: err.Error()}
	}
	index, err := s.readIndex()
	if err != nil {
		return images.Image{}, err
	}
	id, ok := index.Refs[key]
	if idPattern.MatchString(ref) {
		id, ok = ref, true
	}
	if !ok {
		return images.Image{}, errMissing
	}
	img, err := s.image(id)
	if errors.Is(err, fs.ErrNotExist) {
		return images.Image{}, errMissing
	}
	img.Ref, img.RepoDigest = ref, index.digestOf(key, id)
	return img, err
}

// digestOf is the reference by digest under which an image was pulled from the repository of a reference, "" if it was not.
func (ix *index) digestOf(key, id string) string {
	if ix.Held[key] {
		return shortRef(key)
	}
	repo, _, tagged := cutTag(key)
	for _, held := range slices.Sorted(maps.Keys(ix.Held)) {
		if theirs, _, _ := strings.Cut(held, "@"); tagged && theirs == repo && ix.Refs[held] == id {
			return shortRef(held)
		}
	}
	return ""
}

func missing(ref string) error {
	return &images.UnavailableError{Ref: ref, Why: fmt.Sprintf("not imported: docker save %s | hotcell images import -", ref)}
}

// image returns what is known of an image whose tree is there.
func (s *Store) image(id string) (images.Image, error) {
	if _, err := s.Rootfs(id); err != nil {
		return images.Image{}, err
	}
	return s.readMeta(id)
}

// Rootfs returns the tree of an image by its id. The error wraps [fs.ErrNotExist] where it is not there.
func (s *Store) Rootfs(id string) (string, error) {
	if !idPattern.MatchString(id) {
		return "", fmt.Errorf("image id %.80q: expected sha256: and 64 hex digits: %w", id, fs.ErrNotExist)
	}
	dir := s.rootfs(id)
	if _, err := os.Lstat(dir); err != nil {
		return "", fmt.Errorf("image %s: %w", id, err)
	}
	return dir, nil
}

// List returns the images by reference, sorted.
func (s *Store) List(ctx context.Context) ([]images.Image, error) {
	index, err := s.readIndex()
	if err != nil {
		return nil, err
	}
	var all []images.Image
	for _, ref := range slices.Sorted(maps.Keys(index.Refs)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if isDigest(ref) {
			continue
		}
		img, err := s.image(index.Refs[ref])
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		img.Ref = shortRef(ref)
		all = append(all, img)
	}
	return all, nil
}

var idPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// refKey is the full form of a reference: "python" is "index.docker.io/library/python:latest".
func refKey(ref string) (string, error) {
	if idPattern.MatchString(ref) {
		return ref, nil
	}
	parsed, err := name.ParseReference(ref, name.WeakValidation)
	if err != nil {
		return "", fmt.Errorf("expected a reference like name:tag, or sha256: and 64 hex digits")
	}
	return parsed.Name(), nil
}

// shortRef is a reference as people write it.
func shortRef(key string) string {
	short := strings.TrimPrefix(key, "index.docker.io/")
	return strings.TrimPrefix(short, "library/")
}
