package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
)

// tries counts transactions.
type tries struct {
	blind
	n atomic.Int64
}

func (w *tries) Wrote(time.Duration, error) { w.n.Add(1) }

// A journal that takes no writes is not asked all the time to take over what waits, and does so by itself once it can.
func TestTakingOverIsTriedNowAndThen(t *testing.T) {
	onlySQLite(t)
	w := &tries{}
	s := opened(t, Options{Watch: w})
	flush(t, s)
	var pages int
	must(t, s.write.QueryRow("PRAGMA page_count").Scan(&pages))
	limit := func(n int) {
		if _, err := s.write.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages)
	big := taken("c1", "r1")
	big.Skill = strings.Repeat("x", 64<<10)
	accept(t, s, big)
	began, before := time.Now(), w.n.Load()
	testutil.Poll(t, time.Minute, func() bool { return w.n.Load() >= before+4 })
	if took := time.Since(began); took < 200*time.Millisecond {
		t.Errorf("it was tried four times within %s", took)
	}
	limit(1 << 30)
	testutil.Poll(t, time.Minute, func() bool { return !s.waits() })
	if find(t, s, "c1").Skill != big.Skill {
		t.Error("it is not there")
	}
}

// A change that fails refuses no call that waits beside it.
func TestAFailureRefusesNoCall(t *testing.T) {
	onlySQLite(t)
	s := opened(t, Options{})
	holding, free := make(chan struct{}), make(chan struct{})
	go func() { _ = s.ask(context.Background(), func(*sql.Tx) error { close(holding); <-free; return nil }) }()
	<-holding
	accept(t, s, taken("c1", "r1"))
	bad := &op{do: func(*sql.Tx) error { return errors.New("bad") }, done: make(chan error, 1)}
	good := &op{do: func(*sql.Tx) error { return s.unpoured }, done: make(chan error, 1)}
	s.queue.put(bad)
	s.queue.put(good)
	close(free)
	if err := <-bad.done; err == nil {
		t.Error("the bad one succeeded")
	}
	if err := <-good.done; err != nil || s.waits() {
		t.Errorf("what waits is not taken over: %v", err)
	}
}

// A file that can't be written takes no call, and remembers none.
func TestIntakeThatCannotBeWritten(t *testing.T) {
	in := intakeAt(t, filepath.Join(t.TempDir(), "in"))
	takeIn(t, in, "c1")
	writable := in.f
	var err error
	in.f, err = os.Open(in.path)
	must(t, err)
	if err := tryTake(in, entry{id: "c2", reqID: "r2"}); !errors.Is(err, syscall.EBADF) {
		t.Errorf("got %v", err)
	}
	must(t, in.f.Close())
	in.f = writable
	takeIn(t, in, "c3")
	wantWaiting(t, in, "c1 c3")
	wantWaiting(t, intakeAt(t, in.path), "c1 c3")
}

// A disk without room takes what fits, and no half of what does not.
func TestIntakeOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no file system of a size of its own can be had: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	in := intakeAt(t, filepath.Join(dir, "in"))
	var want []string
	for i := 0; ; i++ {
		id := fmt.Sprint("c", i)
		err := tryTake(in, entry{id: id, reqID: id, view: strings.Repeat("x", 10_000)})
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		if must(t, err); i > 100 {
			t.Fatal("it is never full")
		}
		want = append(want, id)
	}
	other := intakeAt(t, in.path)
	wantWaiting(t, other, strings.Join(want, " "))
	if len(want) < 3 || other.size != other.read {
		t.Errorf("%d fit, of %d bytes %d are read", len(want), other.size, other.read)
	}
	pourAll(t, other)
	wantWaiting(t, in, "")
}
