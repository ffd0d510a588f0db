package layout

import (
	"bytes"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/images"
)

// The built-in image is made when it is asked for, whatever the pull policy, by several callers and stores at once, and
// stands for what somebody imported under its name.
func TestBuiltin(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "images")
	var all sync.WaitGroup
	for range 3 {
		s, err := New(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		for _, pull := range []images.PullPolicy{images.PullNever, images.PullAlways} {
			all.Go(func() {
				img, err := s.Resolve(t.Context(), images.Builtin, pull)
				if err != nil || img.ID != images.BuiltinID(runtime.GOARCH) || img.Ref != images.Builtin {
					t.Errorf("%s: %+v, %v", pull, img, err)
				}
			})
		}
	}
	all.Wait()
	s, err := New(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	root, err := s.Rootfs(images.BuiltinID(runtime.GOARCH))
	if err != nil {
		t.Fatal(err)
	}
	if got := listing(t, root); got != "" {
		t.Errorf("it holds %s", got)
	}
	layer := tarOf(t, file{name: "a", data: "1"})
	if _, err := s.Import(t.Context(), bytes.NewReader(saved(t, images.Builtin, config(t, layer), layer)), ""); err != nil {
		t.Fatal(err)
	}
	if img, err := s.Resolve(t.Context(), images.Builtin, images.PullMissing); err != nil || img.ID != images.BuiltinID(runtime.GOARCH) {
		t.Errorf("beside an impostor: %+v, %v", img, err)
	}
}
