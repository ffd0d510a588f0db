package instance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
)

func open(t *testing.T, dir, id string) *Instance {
	t.Helper()
	i, err := Open(dir, id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Errorf("close %s: %v", id, err)
		}
	})
	return i
}

// die ends an instance as kill -9 does: the lock goes, the file stays.
func die(t *testing.T, i *Instance) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.file.Close(); err != nil {
		t.Fatal(err)
	}
	i.file = nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestLife(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "instances")
	a, b := open(t, dir, "a"), open(t, dir, "b")
	for name, want := range map[string]fs.FileMode{"": fs.ModeDir | 0o700, "a": 0o600} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || info.Mode() != want {
			t.Errorf("%q: %v, %v", name, info.Mode(), err)
		}
	}
	judge := func(id string, alive, known bool) {
		t.Helper()
		if gotAlive, gotKnown := a.Alive(id); gotAlive != alive || gotKnown != known {
			t.Errorf("%s: alive %v, known %v", id, gotAlive, gotKnown)
		}
	}
	judge("a", true, true)
	judge("b", true, true)
	judge("c", false, false)
	die(t, b)
	judge("b", false, true)
	c := open(t, dir, "c")
	judge("c", true, true)
	if err := c.Close(); err != nil || exists(filepath.Join(dir, "c")) {
		t.Errorf("a clean exit left its file: %v", err)
	}
	judge("c", false, false)
}

// Those count that live: neither the dead nor what is no supervisor's file.
func TestLiving(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "instances")
	a, b := open(t, dir, "a"), open(t, dir, "b")
	if err := os.WriteFile(filepath.Join(dir, "c"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := a.Living(); got != 2 {
		t.Errorf("%d live", got)
	}
	die(t, b)
	if got := a.Living(); got != 1 {
		t.Errorf("after a death: %d live", got)
	}
}

func TestPoisonedSurvive(t *testing.T) {
	dir := t.TempDir()
	i := open(t, dir, "a")
	long := []string{strings.Repeat("z", 500), "cell-2", "cell-1"}
	for _, names := range [][]string{long, {"cell-2", "cell-1"}} {
		if err := i.Poisoned(names); err != nil {
			t.Fatal(err)
		}
		all, err := List(dir)
		slices.Sort(names)
		if err != nil || len(all) != 1 || !all[0].Alive || all[0].PID != os.Getpid() || !slices.Equal(all[0].Poisoned, names) || time.Since(all[0].Started) > time.Minute {
			t.Errorf("%+v, %v", all, err)
		}
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := List(dir)
	if err != nil || len(all) != 1 || all[0].Alive || len(all[0].Poisoned) != 2 {
		t.Errorf("after the end: %+v, %v", all, err)
	}
	if err := i.Poisoned(nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed one speaks: %v", err)
	}
	healed := open(t, dir, "b")
	if err := errors.Join(healed.Poisoned([]string{"x"}), healed.Poisoned(nil), healed.Close()); err != nil || exists(filepath.Join(dir, "b")) {
		t.Errorf("one that healed left its file: %v", err)
	}
}

func TestIDs(t *testing.T) {
	dir := t.TempDir()
	i := open(t, dir, "good-1")
	for _, id := range []string{"", "A", "../x", "a/b", "a.b", ".", "-a", "a\x00", strings.Repeat("a", 65)} {
		if _, err := Open(dir, id); err == nil {
			t.Errorf("%q was opened", id)
		}
		if alive, known := i.Alive(id); alive || known {
			t.Errorf("%q is known", id)
		}
	}
	if _, err := Open(dir, "good-1"); err == nil || !strings.Contains(err.Error(), "another process has this id") {
		t.Errorf("opened twice: %v", err)
	}
}

func TestHostileFolder(t *testing.T) {
	dir := t.TempDir()
	i := open(t, dir, "me")
	target := filepath.Join(t.TempDir(), "victim")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(target, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	write("empty", "")
	write("half", `{"instance":"half","po`)
	write("other", `{"instance":"someone-else","poisoned":["x"]}`)
	write("many", `{"instance":"many","poisoned":[`+strings.Repeat(`"x",`, maxPoisoned)+`"x"]}`)
	write("huge", "{")
	write("Not-an-id", "{}")
	if err := errors.Join(
		os.Truncate(filepath.Join(dir, "huge"), 1<<40), os.Symlink(target, filepath.Join(dir, "link")),
		os.Mkdir(filepath.Join(dir, "folder"), 0o700), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	all, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, info := range all {
		ids = append(ids, info.Instance)
		if len(info.Poisoned) > 0 || info.Alive != (info.Instance == "me") {
			t.Errorf("%+v", info)
		}
	}
	if want := []string{"me"}; !slices.Equal(ids, want) {
		t.Errorf("listed %v, want %v", ids, want)
	}
	for _, id := range []string{"empty", "half", "other", "many", "huge", "link", "folder", "pipe"} {
		if _, known := i.Alive(id); known {
			t.Errorf("%s is known", id)
		}
	}
	for _, id := range []string{"link", "folder", "pipe"} {
		if _, err := Open(dir, id); err == nil {
			t.Errorf("%s was opened", id)
		}
	}
	if err := i.Forget(func(string) bool { return false }); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(target); string(b) != "keep" {
		t.Errorf("what a link leads to was touched: %q", b)
	}
	if info, err := os.Stat(filepath.Join(dir, "huge")); err != nil || info.Size() > maxRecord {
		t.Errorf("huge: %v, %v", info.Size(), err)
	}
}

// A copy of a live supervisor's file, as a restored folder has it, makes nobody dead.
func TestACopySaysNothing(t *testing.T) {
	dir := t.TempDir()
	i, live := open(t, dir, "me"), open(t, dir, "live")
	path := filepath.Join(dir, "live")
	text, err := os.ReadFile(path)
	if err := errors.Join(err, os.Remove(path), os.WriteFile(path, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	if alive, known := i.Alive(live.ID()); alive || known {
		t.Errorf("alive %v, known %v", alive, known)
	}
	if all, err := List(dir); err != nil || len(all) != 1 || all[0].Instance != "me" {
		t.Errorf("listed: %+v, %v", all, err)
	}
}

// Where a lock that is held is to be had once more, nobody can be told from the dead.
func TestLocksMustHold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := holds(path); err == nil || !strings.Contains(err.Error(), "choose another data folder") {
		t.Errorf("a lock that nobody sees: %v", err)
	}
	f, err := occupy(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := holds(path); err != nil {
		t.Error(err)
	}
}

// Another user's file says nothing: who wrote it could name a live supervisor as dead.
func TestOtherUsersFiles(t *testing.T) {
	testutil.Require(t, "root")
	dir := t.TempDir()
	i := open(t, dir, "me")
	path := filepath.Join(dir, "theirs")
	if err := errors.Join(os.WriteFile(path, []byte(`{"instance":"theirs"}`), 0o600), os.Chown(path, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if alive, known := i.Alive("theirs"); alive || known {
		t.Error("it is known")
	}
	if all, err := List(dir); err != nil || len(all) != 1 {
		t.Errorf("listed: %+v, %v", all, err)
	}
	if err := i.Forget(func(string) bool { return false }); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != `{"instance":"theirs"}` {
		t.Errorf("it was touched: %s, %v", b, err)
	}
}

func TestFolder(t *testing.T) {
	base := t.TempDir()
	wide, file, link := filepath.Join(base, "wide"), filepath.Join(base, "file"), filepath.Join(base, "link")
	if err := errors.Join(os.Mkdir(wide, 0o755), os.WriteFile(file, nil, 0o600), os.Symlink(wide, link)); err != nil {
		t.Fatal(err)
	}
	open(t, wide, "a")
	if info, err := os.Lstat(wide); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others can use the folder: %v, %v", info.Mode(), err)
	}
	for _, dir := range []string{file, link} {
		if _, err := Open(dir, "a2"); err == nil || !strings.Contains(err.Error(), "is not a folder") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if all, err := List(filepath.Join(base, "none")); err != nil || len(all) != 0 {
		t.Errorf("a folder that is not there: %v, %v", all, err)
	}
}

func TestForget(t *testing.T) {
	dir := t.TempDir()
	me, live := open(t, dir, "me"), open(t, dir, "live")
	for _, id := range []string{"has", "gone", "poisoned"} {
		i := open(t, dir, id)
		if err := i.Poisoned([]string{"cell"}); err != nil {
			t.Fatal(err)
		}
		die(t, i)
	}
	var asked []string
	left := func(id string) bool { asked = append(asked, id); return id == "has" }
	forget := func() {
		t.Helper()
		asked = nil
		if err := me.Forget(left); err != nil {
			t.Error(err)
		}
	}
	forget()
	if !slices.Equal(asked, []string{"gone", "has", "poisoned"}) {
		t.Errorf("asked for %v", asked)
	}
	if !exists(filepath.Join(dir, "gone")) {
		t.Error("forgotten at once")
	}
	age(t, filepath.Join(dir, "gone"), mourning-time.Minute)
	age(t, filepath.Join(dir, "poisoned"), mourning+time.Second)
	age(t, filepath.Join(dir, "has"), mourning+time.Second)
	forget()
	for id, want := range map[string]bool{"gone": true, "poisoned": false, "has": true, "live": true, "me": true} {
		if exists(filepath.Join(dir, id)) != want {
			t.Errorf("%s is there: %v", id, !want)
		}
	}
	left = func(string) bool { return false }
	forget()
	if !exists(filepath.Join(dir, "has")) {
		t.Error("what was left until now is forgotten without ten minutes of nothing")
	}
	if alive, known := me.Alive("live"); !alive || !known {
		t.Error("a live one was touched")
	}
	if all, err := List(dir); err != nil || len(all) != 4 || len(all[0].Poisoned) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	_ = live
}

// age makes a dead supervisor's file say that nothing was left since then.
func age(t *testing.T, path string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := (record{Instance: filepath.Base(path), Inode: inode(f), Ended: &then}).write(f); err != nil {
		t.Fatal(err)
	}
}

// Whoever opens a file that another is removing has, in the end, a lock on a file that is there.
func TestOpenAgainstForget(t *testing.T) {
	dir := t.TempDir()
	me := open(t, dir, "me")
	stop := make(chan struct{})
	var forgetter, openers sync.WaitGroup
	forgetter.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := me.Forget(func(string) bool { return false }); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for n := range 4 {
		openers.Go(func() {
			for range 50 {
				id := fmt.Sprintf("i%d", n)
				then := time.Now().Add(-2 * mourning)
				b, _ := json.Marshal(record{Instance: id, Ended: &then})
				if err := os.WriteFile(filepath.Join(dir, id), b, 0o600); err != nil {
					t.Error(err)
				}
				i, err := Open(dir, id)
				if err != nil {
					t.Error(err)
					return
				}
				if alive, known := me.Alive(id); !alive || !known {
					t.Errorf("%s: alive %v, known %v while it is open", id, alive, known)
				}
				if !exists(filepath.Join(dir, id)) {
					t.Errorf("%s has no file while it is open", id)
				}
				if err := i.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	openers.Wait()
	close(stop)
	forgetter.Wait()
}

// Readers never see half of what is written.
func TestReadersSeeWholeRecords(t *testing.T) {
	dir := t.TempDir()
	i := open(t, dir, "a")
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				if err := i.Poisoned(slices.Repeat([]string{"cell-with-a-name"}, n%50)); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 500 {
		all, err := List(dir)
		if err != nil || len(all) != 1 || !all[0].Alive || all[0].PID != os.Getpid() {
			t.Errorf("%+v, %v", all, err)
			break
		}
	}
	if err := i.Poisoned(nil); err != nil {
		t.Error(err)
	}
	close(stop)
	writer.Wait()
	if err := i.Poisoned(nil); err != nil {
		t.Error(err)
	}
}
