package layout

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/durable"
	"golang.org/x/sys/unix"
)

// Import reads an archive, plain or with gzip, and returns its images, which can be resolved from then on. ref names the
// archive's only image; "" keeps the names within. What a reference named before is removed if nothing else names it.
// When it fails, no image is new; one that was unpacked before it failed may be there under its id.
func (s *Store) Import(ctx context.Context, r io.Reader, ref string) ([]images.Image, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := s.clear(); err != nil {
		return nil, err
	}
	spooled := s.path("tmp", "archive-"+strings.ToLower(rand.Text()))
	defer func() { _ = os.RemoveAll(spooled) }() // the next import clears what is left
	a, err := spool(ctx, spooled, r, newBudget(s.bounds.Bytes))
	if err != nil {
		return nil, err
	}
	defer a.close()
	found, err := a.sources()
	if err != nil {
		return nil, err
	}
	if err := rename(found, ref); err != nil {
		return nil, err
	}
	var all []images.Image
	for _, src := range found {
		img, err := s.take(ctx, src)
		if err != nil {
			return nil, err
		}
		all = append(all, img)
	}
	return all, errors.Join(s.name(found, all), s.collect())
}

// rename makes sure that every image has a name.
func rename(found []source, ref string) error {
	switch {
	case ref != "" && len(found) > 1:
		return fmt.Errorf("archive holds %d images: one name cannot be theirs", len(found))
	case ref != "":
		found[0].refs = []string{ref}
	}
	for _, src := range found {
		if len(src.refs) == 0 {
			return errors.New("archive does not name its image: give it a name with --ref NAME")
		}
		for _, ref := range src.refs {
			if _, err := refKey(ref); err != nil || idPattern.MatchString(ref) {
				return fmt.Errorf("image name %.200q: expected a reference like name:tag", ref)
			}
		}
	}
	return nil
}

// take unpacks an image, unless it is there.
func (s *Store) take(ctx context.Context, src source) (images.Image, error) {
	sum := sha256.Sum256(src.config)
	id := "sha256:" + hex.EncodeToString(sum[:])
	config, err := parseConfig(src.config)
	if err != nil {
		return images.Image{}, err
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH {
		return images.Image{}, fmt.Errorf("image %.200q is for %.32q/%.32q, and this machine is linux/%s", src.refs[0], config.OS, config.Architecture, runtime.GOARCH)
	}
	if len(config.RootFS.DiffIDs) != len(src.layers) {
		return images.Image{}, fmt.Errorf("image %.200q has %d layers, and its configuration says %d", src.refs[0], len(src.layers), len(config.RootFS.DiffIDs))
	}
	if img, err := s.image(id); err == nil {
		img.Ref = src.refs[0]
		return img, nil
	}
	img, err := s.unpack(ctx, id, src, config)
	if err != nil {
		return images.Image{}, fmt.Errorf("image %.200q: %w", src.refs[0], err)
	}
	return img, nil
}

// unpack makes an image's tree and its description. The tree gets its name last.
func (s *Store) unpack(ctx context.Context, id string, src source, config *v1.ConfigFile) (images.Image, error) {
	tmp := s.path("tmp", "rootfs-"+hexOf(id))
	defer func() { _ = os.RemoveAll(tmp) }() // not there after success
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return images.Image{}, err
	}
	root, err := os.OpenRoot(tmp)
	if err != nil {
		return images.Image{}, err
	}
	defer func() { _ = root.Close() }()
	t := &tree{root: root, entries: s.bounds.Entries, budget: newBudget(s.bounds.Bytes), written: newBudget(s.bounds.Bytes)}
	for i, open := range src.layers {
		if err := t.layer(ctx, open, config.RootFS.DiffIDs[i]); err != nil {
			return images.Image{}, fmt.Errorf("layer %d: %w", i+1, err)
		}
	}
	if err := settle(tmp); err != nil {
		return images.Image{}, err
	}
	img := describe(id, config, s.bounds.Bytes-t.budget.left)
	img.Ref = src.refs[0]
	if err := writeJSON(s.meta(id), img); err != nil {
		return images.Image{}, err
	}
	if err := os.RemoveAll(s.rootfs(id)); err != nil { // without a description it was never used
		return images.Image{}, err
	}
	return img, durable.Rename(tmp, s.rootfs(id))
}

// settle writes the tree to the disk, so that it is whole under its name even after a power cut.
func settle(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	if err := f.Chmod(0o755); err != nil {
		return err
	}
	return os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd())))
}

func describe(id string, config *v1.ConfigFile, size int64) images.Image {
	img := images.Image{
		ID: id, OS: config.OS, Arch: config.Architecture, Size: size, Created: config.Created.Time,
		Env: config.Config.Env, Entrypoint: config.Config.Entrypoint, Cmd: config.Config.Cmd,
		User: config.Config.User, WorkingDir: config.Config.WorkingDir,
	}
	for v := range config.Config.Volumes {
		img.Volumes = append(img.Volumes, filepath.Clean(v))
	}
	slices.Sort(img.Volumes)
	return img
}

// name makes references point to images.
func (s *Store) name(found []source, all []images.Image) error {
	index, err := s.readIndex()
	if err != nil {
		return err
	}
	for i, src := range found {
		for _, ref := range src.refs {
			key, err := refKey(ref)
			if err != nil {
				return err
			}
			index.Refs[key] = all[i].ID
			if repo, _, ok := cutTag(key); ok && src.digest != "" {
				index.Refs[repo+"@"+src.digest] = all[i].ID
			}
		}
	}
	index.prune()
	return s.writeIndex(index)
}

// prune drops the references by digest whose image has no other name and was not pulled.
func (ix *index) prune() {
	kept := make(map[string]bool)
	for key, id := range ix.Refs {
		kept[id] = kept[id] || !isDigest(key) || ix.Held[key]
	}
	maps.DeleteFunc(ix.Refs, func(_, id string) bool { return !kept[id] })
	maps.DeleteFunc(ix.Held, func(key string, _ bool) bool { return ix.Refs[key] == "" })
}

// release lets the references by digest of an image go with its last name.
func (ix *index) release(id string) {
	maps.DeleteFunc(ix.Held, func(key string, _ bool) bool { return ix.Refs[key] == id })
}

// Remove takes a name from its image, and removes the image where no other name is left. The error wraps
// [fs.ErrNotExist] where nothing has that name.
func (s *Store) Remove(ctx context.Context, ref string) error {
	key, err := refKey(ref)
	if err != nil {
		return fmt.Errorf("image name %.200q: expected a reference like name:tag", ref)
	}
	index, err := s.readIndex()
	if err != nil {
		return err
	}
	if _, ok := index.Refs[key]; !ok { // before lock, which makes the folder
		return fmt.Errorf("image %.200q: %w", ref, fs.ErrNotExist)
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if index, err = s.readIndex(); err != nil {
		return err
	}
	index.release(index.Refs[key])
	delete(index.Refs, key)
	index.prune()
	return errors.Join(s.writeIndex(index), s.collect())
}

// isDigest reports whether a full reference is one by digest, which goes with the last name of its image.
func isDigest(key string) bool { return strings.Contains(key, "@") }

// cutTag takes a full reference apart.
func cutTag(key string) (repo, tag string, ok bool) {
	i := strings.LastIndexByte(key, ':')
	if i < strings.LastIndexByte(key, '/') || isDigest(key) {
		return key, "", false
	}
	return key[:i], key[i+1:], true
}

// collect removes the images that no reference names. Their trees are no cell's: drivers run from copies.
func (s *Store) collect() error {
	index, err := s.readIndex()
	if err != nil {
		return err
	}
	used := make(map[string]bool)
	for _, id := range index.Refs {
		used[hexOf(id)] = true
	}
	var errs []error
	for _, kind := range []string{"rootfs", "meta"} {
		entries, err := os.ReadDir(s.path(kind))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !used[strings.TrimSuffix(e.Name(), ".json")] {
				errs = append(errs, os.RemoveAll(s.path(kind, e.Name())))
			}
		}
	}
	return errors.Join(errs...)
}
