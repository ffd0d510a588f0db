package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	ocilayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// source is an image in an archive.
type source struct {
	refs   []string // as the archive names it
	digest string   // of its manifest, "" if it has none
	config []byte
	layers []func() (io.ReadCloser, error) // uncompressed, lowest first
}

// sources finds the images of an archive. Newer engines save both forms at once.
func (a *archive) sources() ([]source, error) {
	found, err := a.saved()
	if errors.Is(err, fs.ErrNotExist) {
		found, err = a.laidOut()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("not an image archive (%w): expected the output of docker save, or an OCI archive", err)
	case err == nil && len(found) == 0:
		return nil, errors.New("archive holds no image for linux/" + runtime.GOARCH)
	}
	return found, err
}

// saved reads what docker save writes: manifest.json names configurations and layers.
func (a *archive) saved() ([]source, error) {
	text, err := a.small("manifest.json")
	if err != nil {
		return nil, err
	}
	var manifest tarball.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, fmt.Errorf("archive's manifest.json: %w", err)
	}
	var found []source
	for _, d := range manifest {
		s := source{refs: d.RepoTags}
		if s.config, err = a.small(d.Config); err != nil {
			return nil, fmt.Errorf("archive's configuration %.100q: %s", d.Config, plain(err))
		}
		for _, layer := range d.Layers {
			s.layers = append(s.layers, func() (io.ReadCloser, error) { return a.layer(layer) })
		}
		found = append(found, s)
	}
	return found, nil
}

// plain takes the kind off an error, so that a file that is missing within an archive is not taken for an archive of
// another form.
func plain(err error) string { return err.Error() }

func (a *archive) layer(name string) (io.ReadCloser, error) {
	f, err := a.open(name)
	if err != nil {
		return nil, err
	}
	return inflated(f)
}

// laidOut reads an OCI layout: index.json names manifests, for several platforms perhaps.
func (a *archive) laidOut() ([]source, error) {
	if _, err := a.small("index.json"); err != nil {
		return nil, err
	}
	dir, err := ocilayout.FromPath(a.dir)
	if err != nil {
		return nil, err
	}
	top, err := dir.ImageIndex()
	if err != nil {
		return nil, err
	}
	return a.descend(top, nil, 0)
}

// maxDepth is how deep indexes may lie in one another.
const maxDepth = 4

func (a *archive) descend(index v1.ImageIndex, refs []string, depth int) ([]source, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("archive's indexes lie deeper than %d in one another", maxDepth)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var found []source
	for _, d := range manifest.Manifests {
		named := append(namesOf(d), refs...)
		if p := d.Platform; p != nil && p.OS != "" && (p.OS != "linux" || p.Architecture != runtime.GOARCH) {
			continue
		}
		if err := a.checkSmall(d); err != nil {
			return nil, err
		}
		var more []source
		switch {
		case d.MediaType.IsIndex():
			below, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, err
			}
			if more, err = a.descend(below, named, depth+1); err != nil {
				return nil, err
			}
		case d.MediaType.IsImage():
			s, err := a.described(index, d, named)
			if err != nil {
				return nil, err
			}
			more = []source{s}
		}
		found = append(found, more...)
	}
	return found, nil
}

// checkSmall keeps a blob that will be read at once from being large.
func (a *archive) checkSmall(d v1.Descriptor) error {
	f, err := a.open("blobs/" + d.Digest.Algorithm + "/" + d.Digest.Hex)
	if err != nil {
		return fmt.Errorf("archive: blob %s: %s", d.Digest, plain(err))
	}
	defer func() { _ = f.Close() }() // read only
	info, err := f.Stat()
	if err == nil && info.Size() > maxMeta {
		err = fmt.Errorf("archive: blob %s is longer than %d bytes", d.Digest, maxMeta)
	}
	return err
}

func (a *archive) described(index v1.ImageIndex, d v1.Descriptor, refs []string) (source, error) {
	img, err := index.Image(d.Digest)
	if err != nil {
		return source{}, err
	}
	manifest, err := img.Manifest()
	if err != nil {
		return source{}, err
	}
	if err := a.checkSmall(manifest.Config); err != nil {
		return source{}, err
	}
	s := source{refs: refs, digest: d.Digest.String()}
	if s.config, err = img.RawConfigFile(); err != nil {
		return source{}, err
	}
	layers, err := img.Layers()
	if err != nil {
		return source{}, err
	}
	for _, l := range layers {
		s.layers = append(s.layers, l.Uncompressed)
	}
	return s, nil
}

// namesOf returns the full names in a descriptor's annotations. Some tools write a tag alone, which names nothing.
func namesOf(d v1.Descriptor) []string {
	for _, key := range []string{"io.containerd.image.name", "org.opencontainers.image.ref.name"} {
		if ref := d.Annotations[key]; strings.ContainsAny(ref, "/:") {
			return []string{ref}
		}
	}
	return nil
}

// parseConfig reads an image's configuration.
func parseConfig(text []byte) (*v1.ConfigFile, error) {
	config, err := v1.ParseConfigFile(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("image's configuration: %w", err)
	}
	return config, nil
}
