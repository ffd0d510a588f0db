package layout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/hotcell/hotcell/images"
)

// maxLayers is how many layers an image may have.
const maxLayers = 256

// fetched is an image that was downloaded: a source, and the folder that its layers are in.
type fetched struct {
	source
	done func() // removes the folder
}

// fetch downloads an image's configuration and layers into a folder of its own. Nobody is kept from using the store meanwhile.
func (s *Store) fetch(ctx context.Context, ref name.Reference, login *images.Login, tell func(images.Progress)) (f *fetched, err error) {
	budget := newBudget(s.bounds.Bytes)
	opts, end := s.remoteOptions(ctx, ref, login, budget)
	defer end()
	desc, err := remote.Get(ref, opts...)
	if err != nil {
		return nil, err
	}
	img, err := desc.Image()
	if err != nil {
		return nil, err
	}
	manifest, raw, err := inspected(img)
	if err != nil {
		return nil, err
	}
	dir, done, err := s.scratch()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	f = &fetched{source: source{refs: []string{ref.Name()}, digest: desc.Digest.String(), config: raw}, done: done}
	m := &meter{ref: ref.Name(), tell: tell}
	for _, l := range manifest.Layers {
		m.total += max(0, l.Size)
	}
	for i, l := range manifest.Layers {
		file := filepath.Join(dir, fmt.Sprintf("layer-%d", i))
		if err := download(img, l.Digest, file, m); err != nil {
			return nil, fmt.Errorf("layer %d: %w", i+1, err)
		}
		f.layers = append(f.layers, func() (io.ReadCloser, error) { return opened(file) })
	}
	m.step("extracting")
	return f, nil
}

// inspected returns what an image is made of, once it is known to be fit for this machine. Nothing large has been read then.
func inspected(img v1.Image) (*v1.Manifest, []byte, error) {
	manifest, err := img.Manifest()
	if err != nil {
		return nil, nil, err
	}
	if n := len(manifest.Layers); n > maxLayers {
		return nil, nil, &fault{fmt.Sprintf("bad image: it has %d layers, and at most %d are taken", n, maxLayers)}
	}
	if n := manifest.Config.Size; n < 0 || n > maxMeta {
		return nil, nil, &fault{fmt.Sprintf("bad image: its configuration is longer than %d bytes", maxMeta)}
	}
	for _, d := range append([]v1.Descriptor{manifest.Config}, manifest.Layers...) {
		if len(d.URLs) > 0 { // which could be anybody's
			return nil, nil, &fault{"bad image: a part of it is at another address than the registry's, which is not followed"}
		}
	}
	raw, err := img.RawConfigFile()
	if err != nil {
		return nil, nil, err
	}
	config, err := parseConfig(raw)
	if err != nil {
		return nil, nil, &fault{"bad image: " + err.Error()}
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH {
		return nil, nil, &fault{fmt.Sprintf("bad image: built for %.32s/%.32s, this machine is linux/%s: build or pull it for that", config.OS, config.Architecture, runtime.GOARCH)}
	}
	return manifest, raw, nil
}

// fault is what no other try makes better.
type fault struct{ why string }

func (e *fault) Error() string { return e.why }

// download writes one layer as it is, and makes sure of its digest.
func download(img v1.Image, digest v1.Hash, file string, m *meter) error {
	layer, err := img.LayerByDigest(digest)
	if err != nil {
		return err
	}
	r, err := layer.Compressed() // which compares the digest at its end
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // read only
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.TeeReader(r, m))
	return errors.Join(err, f.Close())
}

// opened opens a layer, whatever it is compressed with.
func opened(file string) (io.ReadCloser, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	return inflated(f)
}

// inflated reads a layer, and closes it where that can't be.
func inflated(f io.ReadCloser) (io.ReadCloser, error) {
	r, err := decompress(f)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{r, f}, nil
}

// tellEvery is how often progress is told at most, unless the step is another.
const tellEvery = 200 * time.Millisecond

// meter counts what is downloaded.
type meter struct {
	ref         string
	tell        func(images.Progress)
	done, total int64
	told        time.Time
}

// Write counts.
func (m *meter) Write(p []byte) (int, error) {
	m.done += int64(len(p))
	if time.Since(m.told) >= tellEvery {
		m.step("downloading")
	}
	return len(p), nil
}

func (m *meter) step(word string) {
	m.told = time.Now()
	m.tell(images.Progress{Ref: m.ref, Step: word, Done: m.done, Total: m.total})
}

// remoteOptions say how a registry is spoken to. end closes what was opened.
func (s *Store) remoteOptions(ctx context.Context, ref name.Reference, login *images.Login, budget *budget) (opts []remote.Option, end func()) {
	wire := newWire(ref.Context().RegistryStr(), budget)
	auth := authn.Anonymous
	if login != nil {
		auth = &authn.Basic{Username: login.User, Password: login.Password}
	}
	return []remote.Option{
		remote.WithContext(ctx), remote.WithAuth(auth), remote.WithTransport(wire), remote.WithUserAgent("hotcell"),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}),
		remote.WithRetryBackoff(remote.Backoff{Duration: 100 * time.Millisecond, Factor: 3, Steps: 3}),
	}, wire.close
}
