package images

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
)

// shelf is a depot of images by reference.
type shelf struct {
	mu     sync.Mutex
	images map[string]Image // by reference
	remote map[string]string
	asked  []string
	before func() // the look at what is there
}

func (s *shelf) Resolve(_ context.Context, ref string, _ PullPolicy) (Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, ref)
	img, ok := s.images[ref]
	if !ok {
		return img, &UnavailableError{Ref: ref, Why: "not present", Retryable: true}
	}
	img.Ref = ref
	return img, nil
}

func (s *shelf) Stock(context.Context) (map[string]Stocked, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]Stocked{}
	for ref, img := range s.images {
		one := all[img.ID]
		if Tag(ref) != "" {
			one.Names = append(one.Names, ref)
		} else if Digest(ref) != ref {
			one.Digests = append(one.Digests, ref)
		}
		all[img.ID] = one
	}
	if s.before != nil {
		s.before()
	}
	return all, nil
}

func (s *shelf) Discard(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, img := range s.images {
		if img.ID == id {
			delete(s.images, ref)
		}
	}
	return nil
}

func (s *shelf) Remote(_ context.Context, ref string) (string, error) {
	if d := s.remote[ref]; d != "" {
		return d, nil
	}
	return "", errors.New("no such host")
}

// put shelves an image under its tag, its digest and its id.
func (s *shelf) put(tag, digest, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, repository := Repository(tag)
	img := Image{ID: id, OS: "linux", Arch: "amd64"}
	if digest != "" {
		img.RepoDigest = repository + "@" + digest
		s.images[img.RepoDigest] = img
	}
	s.images[tag], s.images[id] = img, img
}

func newKeeper(t *testing.T, dir string, s *shelf) *Keeper {
	t.Helper()
	lock, ledger := OpenLock(filepath.Join(dir, LockName)), OpenLedger(filepath.Join(dir, "pulled.json"), "here")
	t.Cleanup(func() { lock.Close(); ledger.Close() })
	return NewKeeper(KeeperOptions{Store: s, Lock: lock, Ledger: ledger})
}

// What a call found first is what all get, in this process and in others; what was built here is nobody's to pin but by hand.
func TestKeeperPins(t *testing.T) {
	dir, s := t.TempDir(), &shelf{images: map[string]Image{}}
	s.put("team/x:1", sum("a"), sum("1"))
	s.put("built:1", "", sum("2"))
	k := newKeeper(t, dir, s)
	for range 2 {
		if img, err := k.Resolve(t.Context(), "team/x:1", PullMissing); err != nil || img.ID != sum("1") || img.Ref != "team/x:1" {
			t.Errorf("%+v, %v", img, err)
		}
		s.put("team/x:1", sum("b"), sum("3"))
	}
	if img, err := newKeeper(t, dir, s).Resolve(t.Context(), "docker.io/team/x:1", PullMissing); err != nil || img.ID != sum("1") {
		t.Errorf("another process: %+v, %v", img, err)
	}
	if img, err := k.Resolve(t.Context(), "built:1", PullMissing); err != nil || img.ID != sum("2") {
		t.Errorf("%+v, %v", img, err)
	}
	s.put("built:1", "", sum("4"))
	if img, err := k.Resolve(t.Context(), "built:1", PullMissing); err != nil || img.ID != sum("4") {
		t.Errorf("built anew: %+v, %v", img, err)
	}
	if _, p, err := k.Pin(t.Context(), "built:1", false); err != nil || p.ID != sum("4") {
		t.Errorf("%+v, %v", p, err)
	}
	s.put("built:1", "", sum("5"))
	if img, err := k.Resolve(t.Context(), "built:1", PullMissing); err != nil || img.ID != sum("4") {
		t.Errorf("built anew, and pinned: %+v, %v", img, err)
	}
	if _, p, err := k.Pin(t.Context(), "team/x:1@"+sum("b"), false); err != nil || p.Digest != sum("b") {
		t.Errorf("%+v, %v", p, err)
	}
	if img, err := k.Resolve(t.Context(), "team/x:1", PullMissing); err != nil || img.ID != sum("3") {
		t.Errorf("pinned by hand: %+v, %v", img, err)
	}
	for _, bad := range []string{"x@" + sum("a")[:20], sum("a"), Builtin} {
		if _, _, err := k.Pin(t.Context(), bad, false); err == nil {
			t.Errorf("%s was pinned", bad)
		}
	}
}

// Pinned content that is gone is not replaced by whatever has its tag.
func TestKeeperMissesWhatIsPinned(t *testing.T) {
	s := &shelf{images: map[string]Image{}, remote: map[string]string{}}
	s.put("team/x:1", sum("a"), sum("1"))
	k := newKeeper(t, t.TempDir(), s)
	if _, err := k.Resolve(t.Context(), "team/x:1", PullMissing); err != nil {
		t.Fatal(err)
	}
	if err := s.Discard(t.Context(), sum("1")); err != nil {
		t.Fatal(err)
	}
	s.put("team/x:1", sum("b"), sum("2"))
	_, err := k.Resolve(t.Context(), "team/x:1", PullMissing)
	var gone *UnavailableError
	if !errors.As(err, &gone) || gone.Ref != "team/x:1" || !gone.Retryable || !strings.Contains(gone.Why, "pinned to "+sum("a")+" (hotcell images pin team/x:1 pins it anew): not present") {
		t.Errorf("got %v", err)
	}
	missing, err := k.Missing(t.Context())
	if err != nil || len(missing) != 1 || missing[0] != "team/x:1 ("+Short(sum("a"))+")" {
		t.Errorf("%q, %v", missing, err)
	}
	rows, err := k.List(t.Context(), true, false)
	if err != nil || len(rows) != 1 || rows[0].State != StateMissing ||
		rows[0].Note != "the tag is "+Short(sum("2"))+" here; the registry does not say what it has: no such host" {
		t.Errorf("%+v, %v", rows, err)
	}
}

// A lock file that can't be written pins for this process, and says so once.
func TestKeeperWithoutAFile(t *testing.T) {
	dir, s := t.TempDir(), &shelf{images: map[string]Image{}}
	if err := os.Mkdir(filepath.Join(dir, LockName+".held"), 0o700); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	lock := OpenLock(filepath.Join(dir, LockName))
	defer lock.Close()
	k := NewKeeper(KeeperOptions{Store: s, Lock: lock, Log: slog.New(slog.NewTextHandler(&said, nil))})
	for _, tag := range []string{"team/x:1", "team/y:1"} {
		s.put(tag, sum("a"), sum("1"))
		for range 2 {
			if img, err := k.Resolve(t.Context(), tag, PullMissing); err != nil || img.ID != sum("1") {
				t.Errorf("%+v, %v", img, err)
			}
			s.put(tag, sum("b"), sum("2"))
		}
	}
	if n := strings.Count(said.String(), "pinned for this process alone"); n != 1 {
		t.Errorf("said %d times: %s", n, said.String())
	}
}

// A call that begins while images are collected either finds its image kept, or hears that it is gone: it never gets one that is
// taken away afterwards.
func TestCollectingRacesCalls(t *testing.T) {
	dir, s := t.TempDir(), &shelf{images: map[string]Image{}}
	ref := "docker.io/team/x@" + sum("a")
	for round := range 30 {
		s.put("team/x:1", sum("a"), sum("1"))
		s.mu.Lock()
		delete(s.images, "team/x:1")
		s.mu.Unlock()
		pruner, caller := newKeeper(t, dir, s), newKeeper(t, dir, s)
		if err := pruner.o.Ledger.Add(t.Context(), sum("1"), ref); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-100 * time.Hour)
		if err := pruner.o.Ledger.file.change(t.Context(), func(all *entries) (bool, error) {
			all.Images[sum("1")] = Entry{Ref: ref, On: "here", Pulled: old, Used: old}
			return true, nil
		}); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		var called error
		both.Go(func() { _, called = caller.Resolve(t.Context(), ref, PullNever) })
		var verdicts []Verdict
		both.Go(func() {
			var err error
			if verdicts, err = pruner.Prune(t.Context(), PruneOptions{}); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		s.mu.Lock()
		_, here := s.images[ref]
		s.mu.Unlock()
		if called == nil && !here {
			t.Fatalf("round %d: a call has an image that is gone: %+v", round, verdicts)
		}
	}
}

// What is gone leaves the ledger, and what was pulled again while it was looked for stays in it.
func TestCollectingRacesPulls(t *testing.T) {
	s := &shelf{images: map[string]Image{}}
	k := newKeeper(t, t.TempDir(), s)
	for _, id := range []string{sum("1"), sum("2")} {
		if err := k.o.Ledger.Add(t.Context(), id, "team/x:1"); err != nil {
			t.Fatal(err)
		}
	}
	s.before = func() {
		if err := k.o.Ledger.Add(t.Context(), sum("2"), "team/x:1"); err != nil {
			t.Error(err)
		}
	}
	if all, err := k.Prune(t.Context(), PruneOptions{}); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	left, err := k.o.Ledger.Entries()
	if _, there := left[sum("2")]; err != nil || len(left) != 1 || !there {
		t.Errorf("left in the ledger: %v, %v", left, err)
	}
}

// What can't be noted while somebody holds the ledger is noted once that one lets go, or when the ledger is closed.
func TestLedgerNotesLater(t *testing.T) {
	for _, closes := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "pulled.json")
		l := OpenLedger(path, "here")
		unlock, err := LockFile(t.Context(), path+".held", path)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // of a pull that nobody waits for any more
		defer cancel()
		if err := l.Add(short, sum("1"), "team/x:1"); err == nil {
			t.Error("it is noted, though somebody holds the ledger")
		}
		if !l.has(sum("1")) {
			t.Error("nobody here knows that it was pulled")
		}
		other := OpenLedger(path, "here")
		if all, err := other.Entries(); err != nil || len(all) != 0 {
			t.Errorf("%v, %v", all, err)
		}
		unlock()
		if closes {
			l.Close()
		}
		noted := func() bool { all, err := other.Entries(); return err == nil && all[sum("1")].Ref == "team/x:1" }
		if closes && !noted() {
			t.Error("it was closed and nothing is noted")
		}
		testutil.Poll(t, 30*time.Second, noted)
		l.Close()
		other.Close()
	}
}

// What was noted later by another process stands.
func TestLedgerNotesNothingOld(t *testing.T) {
	l := OpenLedger(filepath.Join(t.TempDir(), "pulled.json"), "here")
	defer l.Close()
	if err := l.Add(t.Context(), sum("1"), "team/new:1"); err != nil {
		t.Fatal(err)
	}
	l.owe(sum("1"), Entry{Ref: "team/old:1", On: "here", Pulled: time.Now().Add(-time.Hour)})
	all, err := l.Entries()
	if err != nil || all[sum("1")].Ref != "team/new:1" || len(l.owed) != 0 {
		t.Errorf("%v, %v, owed %v", all, err, l.owed)
	}
}

// Why an image stays.
func TestReasons(t *testing.T) {
	now := time.Now()
	old := Entry{Ref: "team/x:1", Pulled: now.Add(-99 * time.Hour), Used: now.Add(-50 * time.Hour)}
	o := PruneOptions{Keep: 24 * time.Hour, Needed: map[string]string{
		"team/z@" + sum("c"): "skill z", sum("d"): "the policy", "team/tagged:2": "skill tagged", "team/x": "skill x", "team/x:1": "skill pinned", sum("9")[:30]: "skill id",
	}}
	pinned := map[string]Pin{"docker.io/team/x:1": {Digest: sum("a")}, "docker.io/built:1": {ID: sum("2")}}
	for name, tt := range map[string]struct {
		id   string
		e    Entry
		have Stocked
		want string
	}{
		"nothing":                          {sum("1"), old, Stocked{Names: []string{"team/x:1"}, Digests: []string{"team/x@" + sum("b")}}, ""},
		"pinned by digest":                 {sum("1"), old, Stocked{Digests: []string{"team/x@" + sum("a")}}, "pinned: docker.io/team/x:1"},
		"the digest elsewhere":             {sum("1"), old, Stocked{Digests: []string{"team/y@" + sum("a")}}, ""},
		"pinned by id":                     {sum("2"), old, Stocked{}, "pinned: docker.io/built:1"},
		"a digest that a skill names":      {sum("1"), old, Stocked{Digests: []string{"team/z@" + sum("c")}}, "named by skill z"},
		"another way to its content":       {sum("1"), old, Stocked{Digests: []string{"mirror.example/z@" + sum("c")}}, "named by skill z"},
		"an id that is a digest":           {sum("c"), old, Stocked{}, "named by skill z"},
		"a digest that the policy names":   {sum("1"), old, Stocked{Digests: []string{"team/x@" + sum("d")}}, "named by the policy"},
		"a tag that a skill names":         {sum("1"), Entry{Ref: "team/tagged:2"}, Stocked{Names: []string{"docker.io/team/tagged:2"}}, "named by skill tagged"},
		"latest, which a skill names":      {sum("1"), Entry{Ref: "team/x"}, Stocked{Names: []string{"team/x:latest"}}, "named by skill x"},
		"an id that a skill names":         {sum("9"), old, Stocked{}, "named by skill id"},
		"a named tag that is pinned apart": {sum("1"), old, Stocked{Names: []string{"team/x:1"}}, ""},
		"in use":                           {sum("1"), old, Stocked{Users: 1}, "in use"},
		"another name":                     {sum("1"), old, Stocked{Names: []string{"mine:1"}}, "somebody named it mine:1"},
		"used a while ago":                 {sum("1"), Entry{Used: now.Add(-2 * time.Hour)}, Stocked{}, "used 2h0m0s ago"},
		"pulled after its use":             {sum("1"), Entry{Used: old.Used, Pulled: now.Add(-time.Hour)}, Stocked{}, "used 1h0m0s ago"},
		"a clock that went back":           {sum("1"), Entry{Used: now.Add(time.Hour)}, Stocked{}, "used -1h0m0s ago"},
	} {
		if got := reason(tt.id, tt.e, tt.have, pinned, o, now); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// What is wrong with the lock file is told to the operator. A caller is told that, and not where the file is.
func TestKeeperWithoutItsLock(t *testing.T) {
	dir, s := t.TempDir(), &shelf{images: map[string]Image{}}
	if err := os.WriteFile(filepath.Join(dir, LockName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := newKeeper(t, dir, s)
	var log bytes.Buffer
	k.o.Log = slog.New(slog.NewTextHandler(&log, nil))
	for range 2 {
		_, err := k.Resolve(t.Context(), "team/x:1", PullMissing)
		if err == nil || strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "hotcell.lock can't be used: hotcell's log says why") {
			t.Errorf("a caller is told %v", err)
		}
	}
	if n := strings.Count(log.String(), filepath.Join(dir, LockName)); n != 1 {
		t.Errorf("%d times in the log: %s", n, &log)
	}
}

// Content that the policy does not allow is nobody's.
func TestKeeperAllows(t *testing.T) {
	s := &shelf{images: map[string]Image{}}
	s.put("team/x:1", sum("a"), sum("1"))
	k := newKeeper(t, t.TempDir(), s)
	k.o.Allow = func(img Image) error { return &UnavailableError{Ref: img.Ref, Why: "not allowed"} }
	for _, f := range []func() error{
		func() error { _, err := k.Resolve(t.Context(), "team/x:1", PullMissing); return err },
		func() error { _, _, err := k.Pin(t.Context(), "team/x:1", false); return err },
	} {
		if err := f(); err == nil || err.Error() != "image team/x:1: not allowed" {
			t.Errorf("got %v", err)
		}
	}
}

// BenchmarkKept is what a call that finds its image pinned and noted pays.
func BenchmarkKept(b *testing.B) {
	dir, s := b.TempDir(), quick{}
	lock, ledger := OpenLock(filepath.Join(dir, LockName)), OpenLedger(filepath.Join(dir, "pulled.json"), "here")
	defer lock.Close()
	defer ledger.Close()
	k := NewKeeper(KeeperOptions{Store: s, Lock: lock, Ledger: ledger})
	for b.Loop() {
		if _, err := k.Resolve(b.Context(), "team/x:1", PullMissing); err != nil {
			b.Fatal(err)
		}
	}
}

type quick struct{}

func (quick) Resolve(context.Context, string, PullPolicy) (Image, error) {
	return Image{ID: "sha256:1111111111111111111111111111111111111111111111111111111111111111", RepoDigest: "team/x@sha256:1111111111111111111111111111111111111111111111111111111111111111"}, nil
}

// Where ids are digests of manifests, what was built has a digest, too: calls pin what hotcell pulled.
func TestKeeperWhereIDsAreDigests(t *testing.T) {
	dir, s := t.TempDir(), &shelf{images: map[string]Image{}}
	k := newKeeper(t, dir, s)
	s.put("built:1", sum("a"), sum("a"))
	s.put("team/x:1", sum("b"), sum("b"))
	if err := newKeeper(t, dir, s).o.Ledger.Add(t.Context(), sum("b"), "team/x:1"); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"built:1", "team/x:1"} {
		if _, err := k.Resolve(t.Context(), ref, PullMissing); err != nil {
			t.Error(err)
		}
	}
	pins, err := k.o.Lock.Pins()
	if err != nil || len(pins) != 1 || pins["docker.io/team/x:1"].Digest != sum("b") {
		t.Errorf("pinned %+v, %v", pins, err)
	}
}
