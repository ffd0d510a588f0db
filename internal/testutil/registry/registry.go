package registry

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Registry is a registry that listens on loopback until its test ends.
type Registry struct {
	Host string // 127.0.0.1:port

	mu     sync.Mutex
	hook   http.HandlerFunc // answers in the registry's place; it says that it doesn't by [Pass]
	asked  []string
	inside http.Handler
	end    chan struct{}
}

// New starts a registry.
func New(t testing.TB) *Registry {
	t.Helper()
	r := &Registry{inside: ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0))), end: make(chan struct{})}
	server := httptest.NewServer(r)
	r.Host = strings.TrimPrefix(server.URL, "http://")
	t.Cleanup(func() {
		close(r.end)
		server.CloseClientConnections()
		server.Close()
	})
	return r
}

// ServeHTTP lets the hook answer, or the registry.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	hook := r.hook
	r.asked = append(r.asked, req.Method+" "+req.URL.Path)
	r.mu.Unlock()
	if hook != nil {
		hook(w, req)
		return
	}
	r.inside.ServeHTTP(w, req)
}

// Hook has f answer from now on; nil: the registry itself. f passes on with [Registry.Pass].
func (r *Registry) Hook(f http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hook = f
}

// Pass has the registry itself answer.
func (r *Registry) Pass(w http.ResponseWriter, req *http.Request) { r.inside.ServeHTTP(w, req) }

// Hang answers nothing more until the client leaves, or the test ends.
func (r *Registry) Hang(w http.ResponseWriter, req *http.Request) {
	_ = http.NewResponseController(w).Flush()
	select {
	case <-req.Context().Done():
	case <-r.end:
	}
}

// Asked returns how many requests there were whose method and path contain text.
func (r *Registry) Asked(text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, one := range r.asked {
		if strings.Contains(one, text) {
			n++
		}
	}
	return n
}

// Login makes the registry want a login.
func (r *Registry) Login(user, password string) {
	r.Hook(func(w http.ResponseWriter, req *http.Request) {
		if u, p, ok := req.BasicAuth(); ok && u == user && p == password {
			r.Pass(w, req)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`)
	})
}

// Echo has the registry refuse everybody, and repeat in its words the login that it was shown.
func (r *Registry) Echo() {
	r.Hook(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, password, _ := req.BasicAuth()
		words, _ := json.Marshal("you sent " + req.Header.Get("Authorization") + ", which is " + password) // of strings: always text
		_, _ = io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":`+string(words)+`}]}`)
	})
}

// Image is an image with one layer that no other image has, of one file with noise of that many bytes.
func Image(t testing.TB, arch string, size int) v1.Image {
	t.Helper()
	return ImageOf(t, arch, size, nil)
}

// ImageOf is [Image] with programs beside the noise.
func ImageOf(t testing.TB, arch string, size int, programs map[string][]byte) v1.Image {
	t.Helper()
	noise := make([]byte, size+16)
	_, _ = rand.Read(noise)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(name string, mode int64, data []byte) {
		must(t, w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(data))}))
		_, err := w.Write(data)
		must(t, err)
	}
	add("noise", 0o644, noise)
	for name, program := range programs {
		add(name, 0o755, program)
	}
	must(t, w.Close())
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	must(t, err)
	img, err := mutate.AppendLayers(empty.Image, layer)
	must(t, err)
	file, err := img.ConfigFile()
	must(t, err)
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", arch
	file.Config.Labels = map[string]string{"test": hex.EncodeToString(noise[:16])}
	img, err = mutate.ConfigFile(img, file)
	must(t, err)
	return img
}

// Native is the architecture of this machine.
const Native = runtime.GOARCH

// Push puts an image under a name with a tag, and returns the reference and the digest of the manifest.
func (r *Registry) Push(t testing.TB, repository string, img partial.WithRawManifest) (ref, digest string) {
	t.Helper()
	ref = r.Host + "/" + repository
	tag, err := name.NewTag(ref, name.WeakValidation)
	must(t, err)
	plain := remote.WithTransport(&http.Transport{DisableKeepAlives: true})
	var sum v1.Hash
	switch img := img.(type) {
	case v1.Image:
		must(t, remote.Write(tag, img, plain))
		sum, err = img.Digest()
	case v1.ImageIndex:
		must(t, remote.WriteIndex(tag, img, plain))
		sum, err = img.Digest()
	}
	must(t, err)
	return ref, sum.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
