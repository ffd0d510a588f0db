package docker

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/testutil"
)

const emptyImage = `{"Id":"sha256:3333","Os":"linux","Architecture":"amd64","RootFS":{"Type":"layers","Layers":["LAYER"]}}`

func builtinAnswer() string { return strings.ReplaceAll(emptyImage, "LAYER", images.BuiltinLayer()) }

// The built-in image is loaded once for all who ask, for the engine's architecture, and never pulled; what has its name and
// is another image is replaced.
func TestBuiltin(t *testing.T) {
	e := newEngine(t)
	e.add(images.Builtin, amd64)
	var configs []string
	e.load = func(w http.ResponseWriter, r *http.Request) {
		configs = append(configs, configOf(t, r.Body))
		e.add(images.Builtin, builtinAnswer())
		_, _ = io.WriteString(w, `{"stream":"Loaded image: hotcell/builtin:1\n"}`)
	}
	s := open(t, Options{Host: e.host})
	var all sync.WaitGroup
	for _, pull := range []images.PullPolicy{images.PullNever, images.PullAlways, images.PullMissing} {
		all.Go(func() {
			if img, err := s.Resolve(t.Context(), images.Builtin, pull); err != nil || img.ID != "sha256:3333" || img.Ref != images.Builtin {
				t.Errorf("%s: %+v, %v", pull, img, err)
			}
		})
	}
	all.Wait()
	if _, err := s.Resolve(t.Context(), images.Builtin, images.PullAlways); err != nil {
		t.Error(err)
	}
	if len(configs) == 0 || len(configs) > 3 || !strings.Contains(configs[0], `"architecture":"amd64"`) {
		t.Errorf("loaded %q", configs)
	}
	if e.pulls.Load() != 0 {
		t.Error("it pulled")
	}
}

// configOf returns the configuration in an image archive.
func configOf(t *testing.T, r io.Reader) string {
	files := map[string]string{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		data, err := io.ReadAll(tr)
		if h == nil || err != nil {
			t.Errorf("archive: %v", err)
			return ""
		}
		files[h.Name] = string(data)
	}
	var manifest []struct{ Config string }
	if err := json.Unmarshal([]byte(files["manifest.json"]), &manifest); err != nil || len(manifest) != 1 {
		t.Errorf("manifest %q: %v", files["manifest.json"], err)
		return ""
	}
	return files[manifest[0].Config]
}

func TestBuiltinUnavailable(t *testing.T) {
	for name, tt := range map[string]struct {
		load      func(http.ResponseWriter, *http.Request)
		want      string
		retryable bool
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) { fail(w, 500, "no space left on device") },
			"image hotcell/builtin:1: the engine does not load it: no space left on device", false},
		"failure within 200": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"errorDetail":{"message":"unexpected EOF"},"error":"unexpected EOF"}`)
		}, "image hotcell/builtin:1: the engine does not load it: unexpected EOF", false},
		"lie": {func(http.ResponseWriter, *http.Request) {},
			"image hotcell/builtin:1: not present right after it was loaded: someone removes it", true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			e.load = tt.load
			_, err := open(t, Options{Host: e.host}).Resolve(t.Context(), images.Builtin, images.PullNever)
			var missing *images.UnavailableError
			if !errors.As(err, &missing) || err.Error() != tt.want || missing.Retryable != tt.retryable {
				t.Errorf("got %v (%+v)\nwant %s", err, missing, tt.want)
			}
		})
	}
}

func TestBuiltinOnRealEngine(t *testing.T) {
	testutil.Require(t, "docker")
	s := open(t, Options{})
	img, err := s.Resolve(t.Context(), images.Builtin, images.PullAlways)
	if err != nil || len(img.Env) != 0 || img.Size != 0 {
		t.Fatalf("got %+v, %v", img, err)
	}
	again, err := s.Resolve(t.Context(), images.Builtin, images.PullNever)
	if err != nil || again.ID != img.ID {
		t.Errorf("the second time %+v, %v", again, err)
	}
}
