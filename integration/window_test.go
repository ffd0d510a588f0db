package integration

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/control"
	_ "github.com/hotcell/hotcell/internal/store" // and with it SQLite
	"github.com/hotcell/hotcell/internal/testutil"
)

// locked keeps everybody from writing into a journal, and from accepting calls, until release is called.
func locked(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	testutil.Poll(t, time.Minute, func() bool { // the daemon may be writing
		_, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
		return err == nil
	})
	intake, err := os.Open(path + "-intake")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(intake.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		if err := intake.Close(); err != nil {
			t.Error(err)
		}
		if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

// runs reports whether a process with that word in its command runs in a cell of an instance.
func runs(owner, word string) bool {
	for id, what := range owned(owner) {
		if what == "cell running" {
			out, err := exec.Command("docker", "top", id, "-eo", "pid,args").Output()
			if err == nil && strings.Contains(string(out), word) {
				return true
			}
		}
	}
	return false
}

// recorded are the calls that a daemon knows of, by request id.
func recorded(t *testing.T, d *daemon) map[string][]control.Call {
	t.Helper()
	var list struct{ Calls []control.Call }
	if err := json.Unmarshal([]byte(get(t, d.URL+"/v1/calls")), &list); err != nil {
		t.Fatal(err)
	}
	byReq := map[string][]control.Call{}
	for _, call := range list.Calls {
		byReq[call.ReqID] = append(byReq[call.ReqID], call)
	}
	return byReq
}

// A cell that waited works before the journal has its call. A daemon that is killed then has never heard of the call: nothing of it is
// left, and the same request runs as if it came for the first time.
func TestKillNineBeforeTheJournalHasTheCall(t *testing.T) {
	bin := binary(t)
	env := []string{"HOTCELL_SKILLS=" + skillFolder(t, map[string]string{"nap": napSkill}), "HOTCELL__POOL__MAX=1"}
	d := serve(t, bin, env...)
	dead := d.ID(t)
	if answer, _, err := d.Call(nap("first", "0")); err != nil || answer.Error != nil {
		t.Fatalf("%v, %+v", err, answer)
	}
	const tries = 5 // the journal waits 5 s for who writes, in which a busy machine need not get anything done
	for try := 1; ; try++ {
		testutil.Poll(t, time.Minute, func() bool {
			all := owned(dead)
			return len(all) == 1 && count(all, "cell running") == 1
		})
		release := locked(t, filepath.Join(d.Dir, "data", "hotcell.db"))
		t.Cleanup(release)
		refused := make(chan bool, 1)
		go func() {
			answer, _, err := d.Call(nap("window", "8"))
			if err == nil && answer.Error == nil {
				t.Errorf("it was answered: %+v", answer)
			}
			refused <- err == nil
		}()
		began := false
		for len(refused) == 0 && !began {
			began = runs(dead, "main.py")
		}
		if began && len(refused) == 0 {
			d.Kill(t)
			release()
			if !<-refused {
				t.Logf("killed at try %d", try)
				break
			}
			t.Fatal("it was refused at the last moment, and the daemon is dead")
		}
		release()
		if try == tries {
			t.Fatal("no cell began to work while the journal was locked")
		}
		time.Sleep(time.Minute) // a caller whose call was refused gets no cell ahead for so long
	}
	next := serveIn(t, d.Dir, bin, env...)
	testutil.Poll(t, patience(10*time.Second), func() bool { return remains([]string{dead}) == "" })
	if known := recorded(t, next); len(known) != 1 || len(known["first"]) != 1 {
		t.Errorf("the journal has %+v", known)
	}
	for range 2 {
		answer, _, err := next.Call(nap("window", "8"))
		if err != nil || answer.Error != nil || answer.Data.Data != "slept" {
			t.Fatalf("the same request again: %v, %+v", err, answer)
		}
	}
	known := recorded(t, next)["window"]
	if len(known) != 1 || known[0].Cell == "" {
		t.Errorf("the journal has %+v", known)
	}
	metrics := get(t, next.URL+"/metrics")
	if !strings.Contains(metrics, "\nhotcell_cells_created_total 1\n") {
		t.Errorf("the request got more than one cell: %s", grep(metrics, "hotcell_cells_created"))
	}
}
