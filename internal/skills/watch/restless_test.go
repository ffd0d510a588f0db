package watch

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/skills"
)

// A bundle that never comes to rest is looked at now and then, and holds up no other.
func TestRestlessBundles(t *testing.T) {
	dir := t.TempDir()
	bundle(t, dir, "restless", "First.")
	synctest.Test(t, func(t *testing.T) {
		lib, err := skills.Load([]skills.Source{skills.Dir(skills.SourceProject, dir)}, nil)
		must(t, err)
		lib.Watched(true)
		w := newWatcher(lib, Options{Poll: true})
		w.look()
		path := dir + "/restless/log"
		looks := 0
		for ; w.note(path) || len(w.dirty) > 0; looks++ {
			write(t, path, fmt.Sprint(looks))
			w.look()
			time.Sleep(quiet / 2)
		}
		if looks != restive+1 || len(w.later) != 1 {
			t.Errorf("looked %d times, want %d, then later %v", looks, restive+1, w.later)
		}
		bundle(t, dir, "other", "New.")
		w.note(dir + "/other")
		w.look()
		time.Sleep(quiet)
		if w.look() {
			t.Error("the other one is held up")
		}
		if s, _ := lib.Find("other"); s == nil {
			t.Error("the other one is not there")
		}
		if s, _ := lib.Find("restless"); s.Bundle.Files != 2 || len(w.later) != 1 {
			t.Errorf("%d files, later %v", s.Bundle.Files, w.later)
		}
		time.Sleep(retry) // it comes to rest
		for w.recall() {
			w.look()
			time.Sleep(quiet)
		}
		if s, _ := lib.Find("restless"); s.Bundle.Files != 3 || len(w.later)+len(w.dirty)+len(w.tries) != 0 {
			t.Errorf("%d files, later %v, dirty %v, tries %v", s.Bundle.Files, w.later, w.dirty, w.tries)
		}
	})
}
