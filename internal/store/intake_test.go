package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// intakeAt opens an intake.
func intakeAt(t *testing.T, path string) *intake {
	t.Helper()
	in, err := openIntake(t.Context(), path, false, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.close(); err != nil {
			t.Error(err)
		}
	})
	return in
}

func takeIn(t *testing.T, in *intake, id string) {
	t.Helper()
	if err := tryTake(in, entry{id: id, reqID: "r-" + id}); err != nil {
		t.Fatal(err)
	}
}

func tryTake(in *intake, e entry) error {
	_, err := in.take(context.Background(), e, func() (*control.Record, error) { return nil, nil }, func() {})
	return err
}

// waitsIn returns the ids of what waits, as who takes it over sees it.
func waitsIn(t *testing.T, in *intake) string {
	t.Helper()
	l, err := in.all()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range l.calls {
		ids = append(ids, e.id)
	}
	return strings.Join(ids, " ")
}

func pourAll(t *testing.T, in *intake) {
	t.Helper()
	l, err := in.all()
	if err == nil {
		err = in.over(l)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func wantWaiting(t *testing.T, in *intake, want string) {
	t.Helper()
	if got := waitsIn(t, in); got != want {
		t.Errorf("%q waits, not %q", got, want)
	}
}

// What one writes all see, until one of them has taken it over.
func TestIntakeIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	a, b := intakeAt(t, path), intakeAt(t, path)
	takeIn(t, a, "c1")
	takeIn(t, b, "c2")
	wantWaiting(t, a, "c1 c2")
	if err := tryTake(b, entry{id: "c3", reqID: "r-c1"}); !errors.Is(err, errWaits) {
		t.Errorf("got %v", err)
	}
	pourAll(t, b)
	wantWaiting(t, a, "")
	wantWaiting(t, intakeAt(t, path), "")
	if a.n.Load() != 0 || len(a.keys) != 0 {
		t.Errorf("%d, %v", a.n.Load(), a.keys)
	}
}

// What was said of a file that has been replaced meanwhile says nothing of the new one: what waits there is not lost.
func TestIntakeIsReplacedUnderOneWhoTakesOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	a, b := intakeAt(t, path), intakeAt(t, path)
	if err := tryTake(a, entry{id: "c1", reqID: "r1", view: strings.Repeat("x", intakeMost)}); err != nil {
		t.Fatal(err)
	}
	slow, err := b.all()
	if err != nil || len(slow.calls) != 1 {
		t.Fatalf("%d, %v", len(slow.calls), err)
	}
	pourAll(t, a) // which replaces it
	if info, err := os.Stat(path); err != nil || info.Size() > 0 {
		t.Fatalf("it is not replaced: %v, %v", info, err)
	}
	takeIn(t, a, "c2")
	if err := b.over(slow); err != nil {
		t.Error(err)
	}
	wantWaiting(t, b, "c2")
	wantWaiting(t, intakeAt(t, path), "c2")
	wantWaiting(t, a, "c2")
}

// What another process accepts in a new file, and takes over, is noticed.
func TestIntakeTellsOfCompany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	n := 0
	a, err := openIntake(t.Context(), path, false, func() { n++ })
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	for range 2 { // the second time in a file that it made itself
		if err := tryTake(a, entry{id: "c1", reqID: fmt.Sprint(n), view: strings.Repeat("x", intakeMost)}); err != nil {
			t.Fatal(err)
		}
		pourAll(t, a)
		before := n
		b := intakeAt(t, path)
		takeIn(t, b, "c2")
		pourAll(t, b)
		wantWaiting(t, a, "")
		if n == before {
			t.Fatal("nobody was noticed")
		}
	}
}

// Whatever happened to the file, what was accepted and not taken over is still told, and what comes next is not lost.
func TestIntakeWhoseFileIsTamperedWith(t *testing.T) {
	var inner entry
	inner.id = "evil"
	evil, _ := inner.pack()
	for name, do := range map[string]func(t *testing.T, path string){
		"torn tail":   func(t *testing.T, path string) { appendTo(t, path, evil[:len(evil)-1]) },
		"zeros":       func(t *testing.T, path string) { appendTo(t, path, make([]byte, 999)) },
		"removed":     func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"moved":       func(t *testing.T, path string) { must(t, os.Rename(path, path+"-old")) },
		"emptied":     func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) },
		"cut":         func(t *testing.T, path string) { must(t, os.Truncate(path, intakeHead+3)) },
		"head broken": func(t *testing.T, path string) { writeAt(t, path, 3, []byte{1, 2, 3}) },
		"head far": func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			must(t, err)
			must(t, (&intake{f: f}).mark(1<<40))
			must(t, f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "in")
			in := intakeAt(t, path)
			if err := tryTake(in, entry{id: "c1", reqID: string(evil)}); err != nil {
				t.Fatal(err)
			}
			pourAll(t, in)
			do(t, path)
			takeIn(t, in, "c2")
			other := intakeAt(t, path)
			takeIn(t, other, "c3")
			if got := waitsIn(t, in); !strings.HasSuffix(got, "c2 c3") || strings.Contains(got, "evil") {
				t.Errorf("%q waits", got)
			}
			if got := waitsIn(t, intakeAt(t, path)); !strings.HasSuffix(got, "c2 c3") || strings.Contains(got, "evil") {
				t.Errorf("%q waits for a new one", got)
			}
			pourAll(t, in)
			wantWaiting(t, other, "")
			wantWaiting(t, intakeAt(t, path), "")
		})
	}
}

// What waits only here, since its file is gone, is not taken for taken over.
func TestIntakeRemovedWhileCallsWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	in := intakeAt(t, path)
	takeIn(t, in, "c1")
	must(t, os.Remove(path))
	takeIn(t, in, "c2")
	wantWaiting(t, in, "c1 c2")
	pourAll(t, in)
	wantWaiting(t, in, "")
}

// Only a regular file that is no link is used, and only its owner can read it. A journal that does not open leaves nothing open.
func TestIntakeThatIsNoFile(t *testing.T) {
	for name, at := range map[string]func(t *testing.T, path string){
		"link":   func(t *testing.T, path string) { must(t, os.Symlink(filepath.Join(t.TempDir(), "x"), path)) },
		"folder": func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) },
		"pipe":   func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			onlySQLite(t)
			path := filepath.Join(t.TempDir(), "hotcell.db")
			at(t, path+"-intake")
			before := descriptors(t)
			_, err := Open(t.Context(), Options{Path: path})
			if err == nil || !strings.Contains(err.Error(), "hotcell.db-intake: not a regular file") {
				t.Errorf("got %v", err)
			}
			if after := descriptors(t); after > before {
				t.Errorf("%d descriptors, %d before", after, before)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "in")
	must(t, os.WriteFile(path, nil, 0o644))
	intakeAt(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// A journal that several links lead to has one intake.
func TestIntakeOfAJournalBehindALink(t *testing.T) {
	onlySQLite(t)
	path, link := filepath.Join(t.TempDir(), "hotcell.db"), filepath.Join(t.TempDir(), "other.db")
	a := opened(t, Options{Path: path})
	must(t, os.Symlink(path, link))
	b := opened(t, Options{Path: link})
	if a.intake.path != b.intake.path {
		t.Errorf("%s and %s", a.intake.path, b.intake.path)
	}
}

// Whoever keeps the lock, as a process that was stopped, holds nobody for ever, and nothing but the acceptance of calls.
func TestIntakeThatIsKeptLocked(t *testing.T) {
	onlySQLite(t)
	s := opened(t, Options{})
	accept(t, s, taken("c1", "r1"))
	f, err := os.Open(s.intake.path)
	must(t, err)
	defer f.Close()
	must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	end(t, s, answered(taken("c1", "r1"), "fine"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Accept(ctx, taken("c2", "r2"), start); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Accept(t.Context(), taken("c2", "r2"), start); !errors.Is(err, errIntakeBusy) {
		t.Errorf("got %v", err)
	}
	must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_UN))
	accept(t, s, taken("c3", "r3"))
	if _, err := s.Find(t.Context(), "c2", control.Whose{}); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("what was refused is there: %v", err)
	}
}

// A call that was accepted is in the journal that is opened next, though nothing of it was written there; and so it is where its place was
// not noted any more, once.
func TestIntakeIsTakenOverAtOpening(t *testing.T) {
	onlySQLite(t)
	path := filepath.Join(t.TempDir(), "hotcell.db")
	s := opened(t, Options{Path: path})
	end(t, s, answered(taken("c0", "r0"), "fine"))
	e, err := entryOf(&control.Record{Call: taken("c1", "r1").Call, Digest: "d1", Instance: "one"})
	must(t, err)
	done, err := entryOf(&control.Record{Call: taken("c0", "r0").Call, Digest: "d1", Instance: "one"})
	must(t, err)
	other := intakeAt(t, path+"-intake")
	must(t, tryTake(other, done))
	must(t, tryTake(other, e))
	next := opened(t, Options{Path: path})
	calls, err := next.InFlight(t.Context())
	if err != nil || len(calls) != 1 || calls[0].ID != "c1" || calls[0].Digest != "d1" || calls[0].Instance != "one" || !calls[0].Accepted.Equal(start) {
		t.Errorf("%+v, %v", calls, err)
	}
	if r := find(t, next, "c0"); !bytes.Contains(r.Answer, []byte("fine")) {
		t.Errorf("%s", r.Answer)
	}
}

// Another process's calls are seen by who reads, though this one accepts none.
func TestReadersSeeWhatOthersAccepted(t *testing.T) {
	onlySQLite(t)
	s := opened(t, Options{})
	e, err := entryOf(&control.Record{Call: taken("c1", "r1").Call})
	must(t, err)
	must(t, tryTake(intakeAt(t, s.intake.path), e)) // of one that was killed then
	if calls, err := s.InFlight(t.Context()); err != nil || len(calls) != 1 {
		t.Errorf("%+v, %v", calls, err)
	}
}

// Who reads waits no longer than a moment for a writer that gets nowhere.
func TestReadersDoNotWaitForAWriterThatHangs(t *testing.T) {
	onlySQLite(t)
	s := opened(t, Options{})
	s.stuck = time.Hour
	conn, err := s.write.Conn(t.Context()) // that the writer needs
	must(t, err)
	accept(t, s, taken("c1", "r1"))
	if _, err := s.InFlight(t.Context()); err != nil {
		t.Error(err)
	}
	must(t, conn.Close())
	if calls, err := s.InFlight(t.Context()); err != nil || len(calls) != 1 {
		t.Errorf("%+v, %v", calls, err)
	}
}

// A file in which something always waits does not grow for ever.
func TestIntakeThatIsFull(t *testing.T) {
	onlySQLite(t)
	s := opened(t, Options{})
	s.stuck = 50 * time.Millisecond
	conn, err := s.write.Conn(t.Context()) // that the writer needs
	must(t, err)
	for i := range intakeFull >> 20 {
		big := taken(fmt.Sprint("c", i), fmt.Sprint("r", i))
		big.Skill = strings.Repeat("x", 1<<20)
		accept(t, s, big)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Accept(ctx, taken("c9", "r9"), start); err == nil {
		t.Error("it takes more")
	}
	must(t, conn.Close())
	accept(t, s, taken("c10", "r10"))
	if info, err := os.Stat(s.intake.path); err != nil || info.Size() > intakeMost {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
}

func appendTo(t *testing.T, path string, b []byte) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	writeAt(t, path, info.Size(), b)
}

func writeAt(t *testing.T, path string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt(b, at)
	must(t, errors.Join(err, f.Close()))
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(all)
}
