package executor

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
	sqlite "github.com/hotcell/hotcell/internal/store"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
)

// victimEnv makes this test's program a supervisor that calls itself until it is killed. It holds the journal's path and
// the supervisor's name.
const victimEnv = "HOTCELL_TEST_VICTIM"

// victim calls skills that take a random short time, from several goroutines, and says on stdout what it sent and what
// it was answered.
func victim(path, name string) error {
	journal, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Keep: sqlite.Keep{Events: time.Hour, Artifacts: time.Hour}})
	if err != nil {
		return err
	}
	s, err := New(Config{
		Driver: fake.New(program(func(ctx context.Context, req map[string]any, in *bufio.Reader, say func(string, ...any)) int {
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			return well(ctx, req, in, say)
		})),
		Images: store{}, Skills: catalog(fatal{}), Instance: name, Journal: journal, EmbedEvents: true, MaxCells: 4,
		Runner: func(string) (sandbox.Tree, error) {
			return sandbox.Tree{Name: "runner", Digest: fmt.Sprintf("%064x", 1), Target: wall.DirRunner, FS: fstest.MapFS{"runner": {Mode: 0o755}}}, nil
		},
		DefaultImages: map[string]string{"python": "img"},
		Log:           slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	var calling sync.WaitGroup
	for g := range 8 {
		calling.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%s-%d-%d", name, g, i)
				fmt.Printf("sent %s\n", id)
				answer := s.Call(context.Background(), a2e.Caller{Door: "test"}, sent("free", id), nil)
				fmt.Printf("answered %s %s\n", id, digestOf(answer))
			}
		})
	}
	calling.Wait()
	return nil
}

// fatal is a [testing.TB] for a process that is no test.
type fatal struct{ testing.TB }

func (fatal) Helper()           {}
func (fatal) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func digestOf(answer *a2e.CallResponse) string {
	b, err := json.Marshal(answer)
	if err != nil {
		return err.Error()
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// A supervisor is killed again and again between a call's acceptance and its end. Each call has exactly one answer
// afterwards: the one that its caller heard, if any did.
func TestKilledSupervisorsLoseNoCall(t *testing.T) {
	path := dbPath(t)
	heard, asked := map[string]string{}, []string{}
	dead := &owners{known: map[string]bool{}}
	const lives = 20
	for life := range lives {
		name := fmt.Sprintf("life%d", life)
		from := []string{"sent", "answered"}[life%2]
		sentIDs, answered := killed(t, path, name, from, time.Duration(rand.IntN(120))*time.Millisecond)
		dead.set(name, false)
		asked = append(asked, sentIDs...)
		for id, digest := range answered {
			heard[id] = digest
		}
	}
	b := journalled(t, path, "last", hang, func(c *Config) { c.Owners = dead })
	if err := b.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls, err := b.List(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	checkAudit(t, path, calls)
	lost, byReq := 0, map[string]int{}
	for _, c := range calls {
		_, answer, err := b.Show(t.Context(), c.ID)
		if err != nil || answer == nil || !c.State.Terminal() {
			t.Fatalf("%+v has no answer: %v", c, err)
		}
		if byReq[c.ReqID]++; byReq[c.ReqID] > 1 {
			t.Errorf("%s has %d calls", c.ReqID, byReq[c.ReqID])
		}
		if d, ok := heard[c.ReqID]; ok && d != digestOf(answer) {
			t.Errorf("%s: its caller heard another answer than %s", c.ReqID, verdict(answer))
		}
		if verdict(answer) == "sandbox_crash/supervisor_restart" {
			lost++
		}
	}
	for id := range heard {
		if byReq[id] != 1 {
			t.Errorf("%s was answered and is not in the journal", id)
		}
	}
	for _, id := range asked {
		if byReq[id] == 1 && b.driver.Stats().Created == 0 {
			if got, _ := b.ask(t.Context(), sent("free", id)); heard[id] != "" && digestOf(got) != heard[id] {
				t.Errorf("%s sent again: %s", id, verdict(got))
			}
		}
	}
	if b.driver.Stats().Created != 0 || lost == 0 || len(heard) == 0 {
		t.Errorf("%d cells made again, %d calls lost, %d answered", b.driver.Stats().Created, lost, len(heard))
	}
	t.Logf("%d lives: %d calls, %d answers heard, %d closed afterwards", lives, len(calls), len(heard), lost)
}

// checkAudit makes sure that each call has one row about its end, with the reason of its answer.
func checkAudit(t *testing.T, path string, calls []control.Call) {
	t.Helper()
	j := journalAt(t, path)
	if r, err := j.VerifyAudit(t.Context(), control.AuditHead{}); err != nil || !r.OK || r.Rows != int64(len(calls)) {
		t.Errorf("%d calls: %+v, %v", len(calls), r, err)
	}
	ends := map[string]string{}
	err := j.EachAuditRow(t.Context(), control.AuditQuery{Kind: audit.CallEnd}, func(r *control.AuditRow) error {
		var d struct{ Reason string }
		err := json.Unmarshal(r.Data, &d)
		ends[r.Call] += "+" + d.Reason
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		if ends[c.ID] != "+"+c.Reason {
			t.Errorf("call %s has the rows %q", c.ID, ends[c.ID])
		}
	}
}

// killed runs a victim and kills it some time after its first call was sent, or answered. It returns what the victim said.
func killed(t *testing.T, path, name, from string, after time.Duration) (asked []string, answered map[string]string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimEnv+"="+path+"="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	answered = map[string]string{}
	var timer *time.Timer
	for {
		line, err := said.ReadString('\n')
		if err != nil { // a last line may be cut: nobody has heard it then
			break
		}
		if timer == nil && strings.HasPrefix(line, from) {
			timer = time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
		}
		switch f := strings.Fields(line); {
		case len(f) == 2 && f[0] == "sent":
			asked = append(asked, f[1])
		case len(f) == 3 && f[0] == "answered":
			answered[f[1]] = f[2]
		}
	}
	_, _ = io.Copy(io.Discard, said)
	if err := cmd.Wait(); err == nil || timer == nil {
		t.Fatalf("the victim ended by itself: %v", err)
	}
	return asked, answered
}
