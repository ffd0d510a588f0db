package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// envCrowd names the variable with the journal's path: the test binary is a member of a crowd then.
const envCrowd = "HOTCELL_TEST_CROWD"

const crowdRequests = 400 // that all members make

// crowdKeep keeps calls for as long as they are sent again.
var crowdKeep = Keep{Events: time.Hour, Replay: 10 * time.Minute}

// crowdMember makes requests until it is killed or there are none left, some of its own and those that all make, and writes a line for each
// answer. Every other call that it accepts ends.
func crowdMember(path string) int {
	s, err := Open(context.Background(), Options{Path: path, Keep: crowdKeep})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	begin := rand.IntN(crowdRequests)
	for i := range crowdRequests {
		for _, reqID := range []string{fmt.Sprint("shared-", (begin+i)%crowdRequests), fmt.Sprintf("own-%d-%d", os.Getpid(), i)} {
			r := crowdCall(reqID)
			earlier, err := s.Accept(context.Background(), r, r.Accepted.Add(-crowdKeep.Replay))
			switch {
			case err != nil:
				fmt.Println("error", err)
				return 1
			case earlier != nil:
				fmt.Println("earlier", reqID, earlier.ID)
				continue
			}
			fmt.Println("accepted", reqID, r.ID)
			if rand.IntN(2) == 0 {
				r.State, r.Ended, r.Answer = control.Succeeded, time.Now(), []byte(`{}`)
				if _, err := s.End(context.Background(), r); err != nil {
					fmt.Println("error", err)
					return 1
				}
				fmt.Println("ended", reqID, r.ID)
			}
		}
	}
	if err := s.Close(); err != nil {
		fmt.Println("error", err)
		return 1
	}
	return 0
}

// crowdCall is long enough for the intake to be replaced every now and then.
func crowdCall(reqID string) control.Record {
	return control.Record{Call: control.Call{
		ID: fmt.Sprintf("c-%d-%016x", os.Getpid(), rand.Uint64()), ReqID: reqID, Principal: "p", Skill: strings.Repeat("x", 2<<10), Door: "test", State: control.Queued, Accepted: time.Now(),
	}, Digest: "d", Instance: fmt.Sprint(os.Getpid())}
}

// crowd is what its members said.
type crowd struct {
	mu       sync.Mutex
	accepted map[string][]string // the calls of a request
	earlier  map[string]map[string]bool
	ended    map[string]bool // calls
	errors   []string
	kills    int
}

// member runs one of the crowd, and kills it at some moment.
func (c *crowd) member(path string, killed bool) error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envCrowd+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	if killed {
		kill := time.AfterFunc(time.Duration(100+rand.IntN(900))*time.Millisecond, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		defer kill.Stop()
	}
	c.listen(out)
	err = cmd.Wait()
	if killed && err != nil && cmd.ProcessState.ExitCode() == -1 {
		c.mu.Lock()
		c.kills++
		c.mu.Unlock()
		return nil
	}
	return err
}

func (c *crowd) listen(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said := strings.Fields(lines.Text())
		c.mu.Lock()
		switch {
		case len(said) == 3 && said[0] == "accepted":
			c.accepted[said[1]] = append(c.accepted[said[1]], said[2])
		case len(said) == 3 && said[0] == "earlier":
			if c.earlier[said[1]] == nil {
				c.earlier[said[1]] = map[string]bool{}
			}
			c.earlier[said[1]][said[2]] = true
		case len(said) == 3 && said[0] == "ended":
			c.ended[said[2]] = true
		default:
			c.errors = append(c.errors, lines.Text())
		}
		c.mu.Unlock()
	}
}

// Several processes accept requests on one journal at once, the same ones and others, and some are killed meanwhile: each request has one
// call, and what anybody was told of is there afterwards.
func TestACrowdOfProcessesThatAreKilled(t *testing.T) {
	onlySQLite(t)
	path := filepath.Join(t.TempDir(), "hotcell.db")
	c := &crowd{accepted: map[string][]string{}, earlier: map[string]map[string]bool{}, ended: map[string]bool{}}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 4 {
				if err := c.member(path, i > 0 || n < 2); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, e := range c.errors {
		t.Error(e)
	}
	s := opened(t, Options{Path: path, Keep: crowdKeep})
	rows := map[string]string{} // calls of requests
	calls, err := s.List(t.Context(), 0, control.Whose{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range calls {
		if other, twice := rows[r.ReqID]; twice {
			t.Errorf("request %s has the calls %s and %s", r.ReqID, r.ID, other)
		}
		rows[r.ReqID] = r.ID
		if c.ended[r.ID] && !r.State.Terminal() {
			t.Errorf("call %s has lost its answer", r.ID)
		}
	}
	for reqID, ids := range c.accepted {
		if len(ids) != 1 || rows[reqID] != ids[0] {
			t.Errorf("request %s was accepted as %v, the journal has %q", reqID, ids, rows[reqID])
		}
	}
	for reqID, ids := range c.earlier {
		if len(ids) != 1 || !ids[rows[reqID]] {
			t.Errorf("of request %s others were told %v, the journal has %q", reqID, ids, rows[reqID])
		}
	}
	t.Logf("%d calls, %d requests accepted, %d members killed, the intake has %d bytes", len(rows), len(c.accepted), c.kills, s.intake.size)
	if c.kills == 0 || len(c.accepted) < crowdRequests {
		t.Error("nothing was tried")
	}
}

// A process that is killed as soon as a call was accepted has it in flight for the next one.
func TestKilledBetweenAcceptanceAndTheJournal(t *testing.T) {
	onlySQLite(t)
	for range 5 {
		path := filepath.Join(t.TempDir(), "hotcell.db")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envCrowd+"="+path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		must(t, err)
		must(t, cmd.Process.Signal(syscall.SIGKILL))
		_ = cmd.Wait() // it was killed
		said := strings.Fields(line)
		if len(said) != 3 || said[0] != "accepted" {
			t.Fatal(line)
		}
		s := opened(t, Options{Path: path, Keep: crowdKeep})
		if r := find(t, s, said[2]); r.ReqID != said[1] {
			t.Errorf("%+v", r)
		}
		r := crowdCall(said[1])
		if earlier := accept(t, s, r); earlier == nil || earlier.ID != said[2] {
			t.Errorf("sent again: %+v", earlier)
		}
		end(t, s, func() control.Record {
			r.ID = said[2]
			r.State, r.Ended, r.Answer = control.Succeeded, time.Now(), []byte(`{}`)
			return r
		}())
	}
}

// A request that is sent again to another process, or to one that was started again, finds its call, also in a journal that was new.
func TestARequestSentAgainElsewhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hotcell.db")
	a := opened(t, Options{Path: path, Keep: crowdKeep})
	b := opened(t, Options{Path: path, Keep: crowdKeep})
	for i := range 20 {
		first, other := a, b
		if i%2 == 1 {
			first, other = b, a
		}
		r, again := crowdCall(fmt.Sprint("r", i)), crowdCall(fmt.Sprint("r", i))
		if accept(t, first, r) != nil {
			t.Fatal("the first one is none")
		}
		if i%4 > 1 {
			r.State, r.Ended, r.Answer = control.Succeeded, time.Now(), []byte(`{}`)
			end(t, first, r)
		}
		for name, s := range map[string]*Store{"other": other, "same": first} {
			if earlier := accept(t, s, again); earlier == nil || earlier.ID != r.ID {
				t.Errorf("%s: %+v", name, earlier)
			}
		}
	}
	if next := opened(t, Options{Path: path, Keep: crowdKeep}); accept(t, next, crowdCall("r3")) == nil || accept(t, next, crowdCall("r0")) == nil {
		t.Error("one that was started again knows none")
	}
}
