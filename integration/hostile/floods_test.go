package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

// mostGrowth is how much memory eight floods may cost the supervisor.
const mostGrowth = 64 << 20

// floods are eight calls that print, tell and leave all that they can, each in its own way. Less is enough in a short run.
func floods(short bool) []row {
	limits := ""
	if short {
		limits = "limits: {output: 512Ki, out: 1Mi}\n"
	}
	const gib = "1073741824"
	all := []row{
		flood("lines", "prints 1 GiB in lines", "print", "stdout", gib, "100"),
		flood("errors", "prints 1 GiB of errors", "print", "stderr", gib, "200"),
		flood("long lines", "prints 1 GiB in lines of 1 MiB", "print", "both", gib, "1048576"),
		flood("tiny lines", "prints lines of one byte without end", "print-lines", "100000000", "x"),
		flood("lists", "tells of lists of half a million numbers", "print-lines", "1000",
			`{"type":"skill/event","kind":"status","data":{"message":"#","list":[@list]}}`),
		flood("objects", "tells of objects in bad frames", "print-lines", "100000000", `{"type":"skill/event","kind":"log","data":{"a":1,"a":#}}`),
		flood("artifacts", "tells of artifacts without end", "print-lines", "1000",
			`{"type":"skill/event","kind":"artifact","data":{"name":"big","chunk":"@chunk"}}`),
		{name: "result", what: "gives a result of 1 GB", args: []string{"frames-long", "result", "1000000000"}, code: a2e.SkillError, reason: a2e.ReasonOutputLimit},
	}
	for i := range all {
		all[i].yaml = limits
	}
	return all
}

// Eight floods at once, whose listeners are dead or slow, cost the supervisor little memory, hold up nobody else, and end
// with the true verdict each.
func TestEightFloods(t *testing.T) {
	_, long := number(t, "HOTCELL_SOAK_FLOODS", 1)
	rows := floods(!long)
	d := startDaemon(t, rows, "HOTCELL__SANDBOX__MAX_CELLS=8")
	if got := d.ask(t, bomb([]string{"print", "stdout", "100", "10"}), "warm"); got.Error != nil {
		t.Fatal(got.Error)
	}
	rounds, _ := rounds(t)
	for round := range rounds {
		d.flood(t, rows, round, long)
	}
}

// flood makes the eight calls and judges them.
func (d *daemon) flood(t *testing.T, rows []row, round int, strict bool) {
	t.Helper()
	before := d.resetPeak(t)
	ping := d.pinging(t)
	var serving sync.WaitGroup
	ctx, hangUp := context.WithCancel(t.Context())
	for i := range rows {
		conn := d.send(t, &rows[i], floodID(round, i))
		serving.Go(func() { listenSlowly(ctx, conn, i) })
	}
	calls := d.ended(t, round, len(rows))
	peak := d.memory(t, "VmHWM")
	slowest := ping()
	hangUp()
	serving.Wait()
	for i, c := range calls {
		if c.Code != rows[i].code || c.Reason != rows[i].reason {
			t.Errorf("%s: got %q, reason %q, want %q, %q", rows[i].name, c.Code, c.Reason, rows[i].code, rows[i].reason)
		}
	}
	t.Logf("the supervisor grew by %d KiB, from %d KiB; its slowest pong took %v", (peak-before)>>10, before>>10, slowest)
	if strict {
		fmt.Printf("TestEightFloods: the supervisor grew by %d KiB, from %d KiB; its slowest pong took %v\n", (peak-before)>>10, before>>10, slowest)
	}
	if peak-before > mostGrowth {
		t.Errorf("the supervisor grew by %d KiB, want at most %d", (peak-before)>>10, mostGrowth>>10)
	}
	limit := 10 * time.Second
	if strict {
		limit = time.Second
	}
	if slowest > limit {
		t.Errorf("a pong took %v, want at most %v", slowest, limit)
	}
}

func floodID(round, i int) string { return fmt.Sprintf("flood-%d-%d", round, i) }

// listenSlowly reads nothing of every second call, and little of the others, until ctx ends; then it hangs up.
func listenSlowly(ctx context.Context, conn net.Conn, i int) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	for i%2 == 0 && ctx.Err() == nil {
		if _, err := io.CopyN(io.Discard, conn, 4096); err != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	<-ctx.Done()
}

// ended waits until the calls of a round have their verdicts, and returns them in order.
func (d *daemon) ended(t *testing.T, round, n int) []control.Call {
	t.Helper()
	calls := make([]control.Call, n)
	testutil.Poll(t, 3*time.Minute, func() bool {
		all, err := d.control.List(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		if d.instance == "" {
			d.look(t, all)
		}
		done := 0
		for _, c := range all {
			for i := range n {
				if c.ReqID == floodID(round, i) && !c.Ended.IsZero() {
					calls[i] = c
					done++
				}
			}
		}
		return done == n
	})
	return calls
}

// memory reads one figure of the daemon's, in bytes.
func (d *daemon) memory(t *testing.T, key string) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == key+":" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("no %s for process %d", key, d.cmd.Process.Pid)
	return 0
}

// resetPeak lets the kernel forget the daemon's peak, and returns what it holds now.
func (d *daemon) resetPeak(t *testing.T) int64 {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", d.cmd.Process.Pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	return d.memory(t, "VmRSS")
}

// pinging asks the daemon for pongs on a connection of its own, again and again. The returned function ends that and tells
// how long the slowest took.
func (d *daemon) pinging(t *testing.T) (slowest func() time.Duration) {
	t.Helper()
	conn := d.dial(t)
	lines := bufio.NewReader(conn)
	ctx, cancel := context.WithCancel(t.Context())
	worst := make(chan time.Duration, 1)
	go func() {
		defer conn.Close()
		most := time.Duration(0)
		for ctx.Err() == nil {
			began := time.Now()
			if _, err := io.WriteString(conn, `{"type":"ping","id":"p","version":"1.0","ts":1}`+"\n"); err != nil {
				t.Errorf("ping: %v", err)
				break
			}
			line, err := lines.ReadBytes('\n')
			var pong a2e.Header
			if err != nil || json.Unmarshal(line, &pong) != nil || pong.Type != a2e.TypePong {
				t.Errorf("pong: %s, %v", line, err)
				break
			}
			most = max(most, time.Since(began))
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
		worst <- most
	}()
	return func() time.Duration { cancel(); return <-worst }
}
